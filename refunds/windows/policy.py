"""What a passenger gets back: in full until 12 h before the own boarding call (R1), later as the table says (R2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from kernel.clock import local_date
from kernel.decisions import Citation, Decision
from kernel.errors import InvalidInput
from kernel.money import ZERO, Money
from ticketing.network.laws import cite
from ticketing.sales.policy import FULL_REFUND_WINDOW

LATE_MINUTES = 60
MOST_KEPT_PERCENT = 5  # Civil Code 740 par. 3: all that may be kept when the seat can still be sold
NOTHING_BACK = 100
CIVIL_CODE = "política da transportadora (Código Civil, art. 740)"


@dataclass(frozen=True, slots=True)
class RefundRow:
    """What is kept when at least that many hours are left; a negative number counts hours after departure."""

    from_hours: int
    kept_percent: Decimal


@dataclass(frozen=True, slots=True)
class RefundTable:
    """A carrier's rows, most hours first; with fewer hours than the last row's, nothing comes back.

    Raises InvalidInput (`rows`) for rows out of order, for a table that keeps anything at 12 h, and, before
    departure, for keeping more than 5 % without keeping all (Civil Code 740).
    """

    rows: tuple[RefundRow, ...]

    def __post_init__(self) -> None:
        hours = [row.from_hours for row in self.rows]
        kept = [row.kept_percent for row in self.rows]
        if hours != sorted(set(hours), reverse=True) or kept != sorted(kept):
            raise _bad_table("refund_rows_out_of_order", "Ordene as faixas: menos horas, retenção igual ou maior.")
        if not all(0 <= percent <= NOTHING_BACK for percent in kept):
            raise _bad_table("refund_percent_out_of_range", "Informe retenções de 0 a 100 %.")
        if self.kept_percent(FULL_REFUND_WINDOW) != 0:
            raise _bad_table("refund_keeps_at_12_hours", "Devolva tudo a quem pede até 12 h antes da partida.")
        if any(MOST_KEPT_PERCENT < row.kept_percent < NOTHING_BACK and row.from_hours >= 0 for row in self.rows):
            raise _bad_table("refund_keeps_too_much", "Retenha no máximo 5 % antes da partida, ou não devolva.")

    def kept_percent(self, left: timedelta) -> Decimal:
        """The percent kept with that much time left until departure."""
        for row in self.rows:
            if left >= timedelta(hours=row.from_hours):
                return row.kept_percent
        return Decimal(NOTHING_BACK)

    @property
    def full_until(self) -> timedelta:
        """How long before departure the last request for the whole price may come; 12 h, or less in a kinder table."""
        return timedelta(hours=min(row.from_hours for row in self.rows if row.kept_percent == 0))


@dataclass(frozen=True, slots=True)
class Quote:
    """The decision ("full", "partial", "nothing") and the price split in what comes back and what is kept."""

    decision: Decision
    refund: Money
    kept: Money


def _bad_table(code: str, sentence: str) -> InvalidInput:
    return InvalidInput(code, sentence, fields={"rows": sentence})


DEFAULT_TABLE = RefundTable((RefundRow(12, Decimal(0)), RefundRow(0, Decimal(MOST_KEPT_PERCENT))))


def read_table(rows: Iterable[Mapping[str, object]] | None) -> RefundTable:
    """The table in a carrier's stored rows of `from_hours` and `kept_percent` (whole, or decimal text).

    The default table where there are none. Raises InvalidInput (`rows`) for rows of another shape.
    """
    if not rows:
        return DEFAULT_TABLE
    try:
        return RefundTable(tuple(_row(**row) for row in rows))
    except (TypeError, ArithmeticError) as error:
        raise _bad_table("refund_rows_unreadable", "Informe em cada faixa as horas e a retenção.") from error


def _row(from_hours: object, kept_percent: object) -> RefundRow:
    if type(from_hours) is not int or type(kept_percent) not in (int, str):
        raise TypeError("hours are whole, a percent is whole or text")
    percent = Decimal(str(kept_percent))
    if not percent.is_finite():
        raise TypeError("a percent is a number")
    return RefundRow(from_hours, percent)


def refund_until(departs_at: datetime, table: RefundTable = DEFAULT_TABLE) -> datetime:
    """The last instant, in UTC, at which the whole price comes back; that instant is still in time.

    `departs_at` is the departure of the passenger's own boarding call. Raises ValueError for a time without zone.
    """
    return _utc(departs_at) - table.full_until


def quote(*, price: Money, departs_at: datetime, now: datetime, line_state: str, zone: str, trip_cancelled: bool,
          delay_minutes: int, table: RefundTable = DEFAULT_TABLE) -> Quote:
    """What a request at `now` gets back, by instants; `zone` is the boarding stop's, for the date of the request.

    Kept is rounded half up, and refund + kept is the price to the cent. A trip cancelled by the carrier, or more than
    60 minutes late, gives all back at any time (R2). On MS lines the 12 hours are Lei 36/1979, 40 III c, for requests
    until 2022-11-16 and carrier policy since; on SC lines they are carrier policy within Civil Code 740.
    Raises ValueError for a negative price or a time without zone.
    """
    if price < ZERO:
        raise ValueError("a price is not negative")
    left = _utc(departs_at) - _utc(now)
    policy = Citation("R2", CIVIL_CODE)
    if trip_cancelled:
        return _split(price, Decimal(0), policy, "A transportadora cancelou a viagem: devolução integral.")
    if delay_minutes > LATE_MINUTES:
        return _split(price, Decimal(0), policy, "A viagem atrasou mais de 1 hora: devolução integral.")
    if left >= FULL_REFUND_WINDOW:
        citation = _window_citation(line_state, now, zone)
        return _split(price, Decimal(0), citation, "Pedido até 12 h antes da partida: devolução integral.")
    percent = table.kept_percent(left)
    return _split(price, percent, policy, _late_reason(percent, departed=left < timedelta(0)))


def _window_citation(line_state: str, now: datetime, zone: str) -> Citation:
    if line_state != "MS":
        return Citation("R2", CIVIL_CODE)  # SC's law has no refund window
    return cite("R1", state="MS", day=local_date(now, zone), ms="art. 40, III, c")


def _late_reason(percent: Decimal, *, departed: bool) -> str:
    moment = "Pedido depois da partida" if departed else "Pedido a menos de 12 h da partida"
    if percent == NOTHING_BACK:
        return f"{moment}: sem devolução."
    if percent == 0:
        return f"{moment}: devolução integral pela tabela da transportadora."
    shown = f"{percent.normalize():f}".replace(".", ",")
    return f"{moment}: a transportadora retém {shown} %."


def _split(price: Money, percent: Decimal, citation: Citation, reason: str) -> Quote:
    kept = price.percent(percent)
    outcome = "full" if percent == 0 else "nothing" if percent == NOTHING_BACK else "partial"
    return Quote(Decision(outcome, citation, (reason,)), price - kept, kept)


def _utc(instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise ValueError("an instant needs its zone")
    return instant.astimezone(UTC)  # two local times of one zone subtract as wall clocks, off by a clock change
