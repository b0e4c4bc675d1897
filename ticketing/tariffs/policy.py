"""Prices: the tariff version in force on the day of sale, and the itemised fare that it gives (T3).

Rounding touches the tariff item alone: the exact kilometres × coefficients, raised to the minimum, are rounded half up
to the cent or to the nearest 5 centavos. Fees, tolls and insurance are amounts already, and the total is their sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from kernel.decisions import Citation
from kernel.errors import InvalidInput, RuleViolation
from kernel.money import ZERO, Money, from_decimal, total
from ticketing.network.laws import cite
from ticketing.network.policy import check_stretch

COMPONENTS = ("boarding_fee", "toll", "insurance")
LABELS: dict[str, str] = {"tariff": "Tarifa", "boarding_fee": "Taxa de embarque", "toll": "Pedágio",
                          "insurance": "Seguro", "discount": "Desconto"}


class SectionSale(Enum):
    """What a section table says of a pair that has no amount."""

    NOT_SOLD = "not_sold"


NOT_SOLD: Final = SectionSale.NOT_SOLD
ROUNDING_STEPS = {"cent": 1, "five_centavos": 5}
COEFFICIENT_SENTENCE = "Informe reais por km, sem sinal, com até 6 casas."


class Leg(NamedTuple):
    """The stretch from one call to the next: exact kilometres, road class, and the stop that it leaves."""

    km: Decimal
    road: str
    from_stop_id: int


class Version(Protocol):
    """A tariff as far as choosing one goes, stored or not."""

    @property
    def id(self) -> int: ...
    @property
    def starts_on(self) -> date: ...


AnyVersion = TypeVar("AnyVersion", bound=Version)


class Call(Protocol):
    """A trip's call as far as prices go: cumulative km, and the road class of the leg that arrives there."""

    @property
    def km(self) -> Decimal: ...
    @property
    def road(self) -> str: ...
    @property
    def stop_id(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Component:
    """An amount beside the tariff. With a stop, a fee is owed when boarding there, a toll when a leg leaves it."""

    kind: str
    amount: Money
    stop_id: int | None = None


@dataclass(frozen=True, slots=True)
class TariffVersion:
    """A tariff as its act fixed it: method "coefficient" or "sections", rounding "cent" or "five_centavos".

    Coefficients are reais per km, at most six decimals. Raises InvalidInput, with a sentence for each field, for an
    act left out, an unknown word, a negative amount, or a coefficient that is too fine.
    """

    id: int
    act: str
    starts_on: date
    method: str
    coefficient_asphalt: Decimal = Decimal(0)
    coefficient_earth: Decimal = Decimal(0)
    minimum: Money = ZERO
    rounding: str = "cent"
    components: tuple[Component, ...] = ()

    def __post_init__(self) -> None:
        amounts = [self.minimum, *(component.amount for component in self.components)]
        known = {component.kind for component in self.components} <= set(COMPONENTS)
        faults = {field: sentence for field, fine, sentence in (
            ("act", bool(self.act.strip()), "Informe o ato que fixou a tarifa."),
            ("method", self.method in ("coefficient", "sections"), "Escolha coeficiente ou tabela de seções."),
            ("rounding", self.rounding in ROUNDING_STEPS, "Escolha arredondar ao centavo ou a 5 centavos."),
            ("coefficient_asphalt", _is_coefficient(self.coefficient_asphalt), COEFFICIENT_SENTENCE),
            ("coefficient_earth", _is_coefficient(self.coefficient_earth), COEFFICIENT_SENTENCE),
            ("components", known and min(amounts) >= ZERO, "Informe taxa, pedágio ou seguro, com valor sem sinal."),
        ) if not fine}
        if self.method == "coefficient" and not (self.coefficient_asphalt or self.coefficient_earth):
            faults["coefficient_asphalt"] = "Informe o coeficiente por km."
        if faults:
            raise InvalidInput("tariff_incomplete", "Corrija a tarifa nos campos marcados.", fields=faults)


@dataclass(frozen=True, slots=True)
class FareItem:
    """One line of a fare; `label` is what a passenger reads. A discount is negative."""

    kind: str
    label: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Fare:
    """The items and their exact sum. Raises ValueError when the total is not the sum."""

    items: tuple[FareItem, ...]
    total: Money

    def __post_init__(self) -> None:
        if self.total != total([item.amount for item in self.items]):
            raise ValueError("a fare's total is the sum of its items")


def fare_of(items: Iterable[FareItem]) -> Fare:
    """The fare that these items make."""
    kept = tuple(items)
    return Fare(kept, total([item.amount for item in kept]))


def item(kind: str, amount: Money) -> FareItem:
    """An item with its label in Portuguese."""
    return FareItem(kind, LABELS[kind], amount)


def read_components(rows: Iterable[Mapping[str, Any]]) -> tuple[Component, ...]:
    """The components in stored rows of `kind`, `cents` and `stop_id` (null: wherever one boards or passes)."""
    return tuple(Component(row["kind"], Money(row["cents"]), row["stop_id"]) for row in rows)


def stretch_of(calls: Sequence[Call], board_seq: int, alight_seq: int) -> tuple[Leg, ...]:
    """The legs from one of a trip's calls to a later one. Raises InvalidInput as `check_stretch` does."""
    check_stretch(board_seq, alight_seq, calls=len(calls))
    return tuple(Leg(there.km - here.km, there.road, here.stop_id)
                 for here, there in pairwise(calls[board_seq:alight_seq + 1]))


def fare(tariff: TariffVersion, stretch: Sequence[Leg], *, section_fare: Money | SectionSale | None,
         estimated: bool, rehearsal: bool, state: str, day: date) -> Fare:
    """The itemised price of a stretch on the local date of sale `day`.

    `section_fare` is the table's amount for the pair, NOT_SOLD, or None where there is no row. Raises RuleViolation
    (T3): `pair_not_sold`, `no_fare_for_pair`, and `estimated_km` for kilometres that nobody measured.
    """
    amount = _tariff_amount(tariff, stretch, section_fare, estimated and not rehearsal,
                            tariff_citation(state=state, day=day))
    boards_at = stretch[0].from_stop_id
    leaves = {leg.from_stop_id for leg in stretch}
    owed = [component for component in tariff.components if component.stop_id is None
            or (component.kind == "boarding_fee" and component.stop_id == boards_at)
            or (component.kind == "toll" and component.stop_id in leaves)
            or component.kind == "insurance"]
    return fare_of([item("tariff", amount), *(item(component.kind, component.amount) for component in owed)])


def version_in_force(versions: Iterable[AnyVersion], day: date, *, state: str) -> AnyVersion:
    """The version that started last on or before the day; of two of one day, the later entry.

    Raises RuleViolation (T3) when none has started.
    """
    started = [version for version in versions if version.starts_on <= day]
    if not started:
        raise RuleViolation("no_tariff_in_force", "Esta linha não tem tarifa em vigor hoje. Avise o escritório.",
                            citation=tariff_citation(state=state, day=day))
    return max(started, key=lambda version: (version.starts_on, version.id))


def tariff_citation(*, state: str, day: date) -> Citation:
    """T3 on that line: MS 20-22 and 40 III b while in force, SC 11."""
    return cite("T3", state=state, day=day, sc="art. 11", ms="arts. 20 a 22 e 40, III, b")


def _tariff_amount(tariff: TariffVersion, stretch: Sequence[Leg], section_fare: Money | SectionSale | None,
                   guessed: bool, citation: Citation) -> Money:
    if section_fare is NOT_SOLD:
        raise RuleViolation("pair_not_sold", "Este trecho não é vendido: escolha outro embarque ou desembarque.",
                            citation=citation)
    if tariff.method == "sections":
        if not isinstance(section_fare, Money):
            raise RuleViolation("no_fare_for_pair", "A tabela não tem preço para este trecho: escolha outro.",
                                citation=citation)
        return section_fare  # the published amount stands as it is
    if guessed:
        raise RuleViolation("estimated_km", "A distância é só uma estimativa e não forma preço: registre os km.",
                            citation=citation)
    reais = sum((leg.km * (tariff.coefficient_earth if leg.road == "earth" else tariff.coefficient_asphalt)
                 for leg in stretch), Decimal(0))
    exact = max(reais, Decimal(tariff.minimum.cents) / 100)
    return from_decimal(exact).to_nearest(ROUNDING_STEPS[tariff.rounding])


def _is_coefficient(value: Decimal) -> bool:
    return isinstance(value, Decimal) and value.is_finite() and 0 <= value < 1000 and value == round(value, 6)
