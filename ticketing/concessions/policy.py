"""Who pays less or nothing. For now the answer is always the full fare: the decision is taken here, and stored."""

from dataclasses import dataclass
from decimal import Decimal

from kernel.decisions import Citation, Decision
from kernel.money import ZERO
from ticketing.network.laws import CARRIER
from ticketing.tariffs.policy import Fare, fare_of, item

FULL_FARE = "full_fare"


@dataclass(frozen=True, slots=True)
class ConcessionRequest:
    """What a passenger claims to be, such as "student"; holds no name and no document."""

    category: str


def decide_concession(request: ConcessionRequest | None) -> Decision:
    """The decision "full_fare", whoever asks; the reason says whether a concession was asked for (T8-T10)."""
    reason = "Nenhum benefício pedido." if request is None else "Esta venda ainda não aplica benefícios: tarifa cheia."
    return Decision(FULL_FARE, Citation("T8-T10", CARRIER), (reason,))


def apply(decision: Decision, fare: Fare, *, percent: Decimal | int = 0) -> Fare:
    """The fare with `percent` (0 to 100) off the tariff item and off nothing else; unchanged for the full fare.

    What is paid is rounded half up to the cent, so 57.05 at 50 % pays 28.53. Raises ValueError for a percent out of
    range or beside a full fare.
    """
    if not 0 <= percent <= 100 or (decision.outcome == FULL_FARE and percent):
        raise ValueError("this decision gives no such discount")
    if not percent:
        return fare
    tariff = next(entry.amount for entry in fare.items if entry.kind == "tariff")
    discount = tariff.percent(100 - percent) - tariff
    return fare_of([*fare.items, item("discount", discount)] if discount < ZERO else fare.items)
