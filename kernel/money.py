"""Whole cents of the real, and the one rounding rule: half up. No float comes in."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction

LARGEST_CENTS = 10**9  # ten million reais: far over any ticket or till, far under a 64-bit column


@dataclass(frozen=True, order=True, slots=True)
class Money:
    """An exact amount in cents; may be negative in a ledger."""

    cents: int

    def __post_init__(self) -> None:
        if not isinstance(self.cents, int) or isinstance(self.cents, bool):
            raise TypeError("Money takes whole cents")

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __sub__(self, other: Money) -> Money:
        return Money(self.cents - other.cents)

    def __neg__(self) -> Money:
        return Money(-self.cents)

    def __bool__(self) -> bool:
        return self.cents != 0

    def percent(self, percent: Decimal | int) -> Money:
        """That percent of the amount, half up to the cent (half away from zero for negative amounts)."""
        return from_decimal(Decimal(self.cents) * Decimal(percent) / 10000)

    def to_nearest(self, step_cents: int) -> Money:
        """The nearest multiple of `step_cents`, half up: 12.375 is first 12.38, then 12.40 with a step of 5."""
        steps = (Decimal(self.cents) / step_cents).quantize(Decimal(1), ROUND_HALF_UP)
        return Money(int(steps) * step_cents)

    def __str__(self) -> str:
        """Plain form with two decimals, as in JSON and CSV: `-1234.50`."""
        sign = "-" if self.cents < 0 else ""
        return f"{sign}{abs(self.cents) // 100}.{abs(self.cents) % 100:02d}"

    def in_reais(self) -> str:
        """As people read it: `R$ 1.234,56`, with a no-break space; a minus sign stands before the symbol."""
        whole, cents = divmod(abs(self.cents), 100)
        sign = "\u2212" if self.cents < 0 else ""
        return f"{sign}R$\u00a0{whole:,}".replace(",", ".") + f",{cents:02d}"


ZERO = Money(0)


def from_decimal(reais: Decimal | Fraction) -> Money:
    """Reais, rounded half up to the cent."""
    if isinstance(reais, Fraction):
        reais = Decimal(reais.numerator) / Decimal(reais.denominator)
    return Money(int((reais * 100).quantize(Decimal(1), ROUND_HALF_UP)))


def parse_money(text: str) -> Money:
    """Read what a person types (`1.234,56`, `1234,5`, `12`) or JSON sends (`1234.56`).

    Raises ValueError for anything else, for more than two decimals and for amounts over ten million reais.
    """
    plain = text.strip().removeprefix("R$").strip()
    if "," in plain:
        plain = plain.replace(".", "").replace(",", ".")
    whole, _, decimals = plain.removeprefix("-").partition(".")
    if not (whole.isascii() and whole.isdigit()) or len(whole) > 9 or len(decimals) > 2:
        raise ValueError("not an amount of money")
    if decimals and not (decimals.isascii() and decimals.isdigit()):
        raise ValueError("not an amount of money")
    try:
        money = from_decimal(Decimal(plain))
    except InvalidOperation as error:
        raise ValueError("not an amount of money") from error
    if abs(money.cents) > LARGEST_CENTS:
        raise ValueError("the amount is too large")
    return money


def total(amounts: list[Money]) -> Money:
    """The exact sum; zero for an empty list."""
    return Money(sum(amount.cents for amount in amounts))
