"""Terms of a line's title, the seat layout of a vehicle, and kilometres between calls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Protocol, TypeVar, cast

from kernel.decisions import Citation, Decision
from kernel.errors import InvalidInput, RuleViolation
from ticketing.network.laws import cite

Cell = int | str | None

KINDS = {"authorisation": "autorização", "permission": "permissão", "concession": "concessão", "licence": "licença"}
ARTICLES: dict[str, dict[str, str]] = {
    "SC": {"authorisation": "art. 6º, parágrafo único", "permission": "art. 7º, § 2º", "concession": "art. 5º",
           "licence": "art. 8º"},
    "MS": {"authorisation": "art. 10", "permission": "art. 13", "concession": "art. 16, § 1º", "licence": "art. 10"},
}
# (months, days) of the longest term; MS has no licence of its own: special trips run under an authorisation (art. 9)
LONGEST: dict[tuple[str, str], tuple[int, int]] = {
    ("SC", "authorisation"): (0, 90), ("SC", "permission"): (24, 0), ("SC", "concession"): (120, 0),
    ("MS", "authorisation"): (12, 0), ("MS", "permission"): (12, 0), ("MS", "concession"): (120, 0),
    ("MS", "licence"): (12, 0),
}
WITH_RENEWAL = {("SC", "authorisation"): (0, 180)}  # one extension of the same term; the others start a new title
CANCEL_REASONS = {"vehicle": "Veículo parado", "crew": "Falta de motorista", "road": "Estrada interrompida",
                  "weather": "Mau tempo", "authority": "Ordem de autoridade", "other": "Outro motivo"}
NEVER_RENEWED = {("MS", "permission")}  # art. 13, par. un.: it becomes a concession

SERVICE_CLASSES = ("convencional", "executivo", "semileito", "leito")
BASES = {"course": "percurso da viagem", "stretch": "trecho do passageiro"}
MOST_VOID_MINUTES = 24 * 60
MOST_HOLD_MINUTES = 60
MOST_OPEN_DAYS = 400

HIGHEST_SEAT = 200
HIGHEST_PLACE = 255
MOST_CELLS = 1000
FURNITURE = frozenset({"crew", "door", "stairs", "wc"})


class Dated(Protocol):
    """A title as far as its dates go; both days count."""

    @property
    def valid_from(self) -> date: ...
    @property
    def valid_until(self) -> date: ...


AnyTitle = TypeVar("AnyTitle", bound=Dated)


def title_citation(kind: str | None, *, state: str, day: date) -> Citation:
    """The T2 citation; without a kind, for "no title at all"."""
    articles = ARTICLES.get(state, {})
    whole = {"SC": "arts. 5º a 8º", "MS": "arts. 2º e 8º a 18"}.get(state)
    article = articles[kind] if kind and articles else whole
    return cite("T2", state=state, day=day, sc=article, ms=article)


def last_day_allowed(kind: str, state: str, valid_from: date, *, renewal: bool) -> date | None:
    """The last day a title may name, None where no law sets a term.

    The first day is left out and a missing day rolls to the next (Civil Code 132): one year from 15 March ends on
    15 March, and from 29 February on 1 March.
    """
    term = WITH_RENEWAL.get((state, kind)) if renewal else None
    term = term or LONGEST.get((state, kind))
    if term is None:
        return None
    months, days = term
    return _plus_months(valid_from, months) + timedelta(days=days)


def check_title(kind: str, state: str, valid_from: date, valid_until: date, *, renewal: bool) -> Decision:
    """The decision "within_term", with the article that sets the term.

    `renewal` says that the dates include the one extension of an SC authorisation (90 + 90 days, art. 6), or that
    the title follows an earlier one of its kind (SC permission: again 2 years, art. 7 par. 2).
    Raises InvalidInput for an unknown kind or dates out of order, RuleViolation (T2) for a term over the law's.
    """
    if kind not in KINDS:
        raise InvalidInput("title_kind_unknown", "Escolha autorização, permissão, concessão ou licença.",
                           fields={"kind": "Escolha autorização, permissão, concessão ou licença."})
    if valid_until < valid_from:
        raise InvalidInput("title_dates_out_of_order", "Corrija as datas: o fim vem antes do início.",
                           fields={"valid_until": "O fim vem antes do início."})
    citation = title_citation(kind, state=state, day=valid_from)
    if renewal and (state, kind) in NEVER_RENEWED:
        raise RuleViolation("title_not_renewable", "A permissão não se renova: registre a concessão.",
                            citation=citation)
    latest = last_day_allowed(kind, state, valid_from, renewal=renewal)
    if latest is None:
        return Decision("within_term", citation, ("A lei não fixa prazo para este título.",))
    if valid_until > latest:
        sentence = f"O prazo passa do máximo da {KINDS[kind]}: encerre até {latest:%d/%m/%Y}."
        raise RuleViolation("title_term_too_long", sentence, citation=citation, fields={"valid_until": sentence})
    return Decision("within_term", citation, (f"Dentro do prazo máximo, que vai até {latest:%d/%m/%Y}.",))


def check_sale_within_title(titles: Iterable[AnyTitle], departure_day: date, *, state: str) -> AnyTitle:
    """The title under which a trip of that local date departs. Raises RuleViolation (T2) when there is none."""
    for title in titles:
        if title.valid_from <= departure_day <= title.valid_until:
            return title
    raise RuleViolation("no_title_on_departure",
                        "A linha não tem título válido no dia da partida: escolha outra data ou registre o título.",
                        citation=title_citation(None, state=state, day=departure_day))


@dataclass(frozen=True, slots=True)
class SeatLayout:
    """A vehicle from front to back: each cell a seat number, a piece of `FURNITURE`, or None for the aisle.

    A crew seat carries no number, so nothing can sell it (MS 40 II j).
    """

    rows: tuple[tuple[Cell, ...], ...]

    @property
    def seats_for_sale(self) -> tuple[int, ...]:
        """The seat numbers in ascending order."""
        return tuple(sorted(cell for row in self.rows for cell in row if isinstance(cell, int)))

    def is_window(self, seat: int) -> bool:
        """Whether the seat is at either end of its row."""
        row, column = self._position(seat)
        return column in (0, len(row) - 1)

    def is_aisle(self, seat: int) -> bool:
        """Whether the aisle is directly beside the seat."""
        row, column = self._position(seat)
        return any(0 <= beside < len(row) and row[beside] is None for beside in (column - 1, column + 1))

    def _position(self, seat: int) -> tuple[tuple[Cell, ...], int]:
        for row in self.rows:
            if seat in row:
                return row, row.index(seat)
        raise LookupError(f"no seat {seat} in this layout")


def read_layout(rows: object) -> SeatLayout:
    """The layout in parsed JSON: a list of rows of equal width. Raises InvalidInput (`layout`) for anything else."""
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, list | tuple) for row in rows):
        raise _bad_layout("layout_not_rows", "Descreva o veículo como uma lista de fileiras.")
    if len({len(row) for row in rows}) != 1 or not rows[0] or len(rows) * len(rows[0]) > MOST_CELLS:
        raise _bad_layout("layout_uneven", "Dê a todas as fileiras a mesma largura.")
    cells = [cell for row in rows for cell in row]
    seats = [cell for cell in cells if type(cell) is int]  # JSON's true is an int too, and no seat
    if any(type(cell) is not int and cell is not None and not _is_furniture(cell) for cell in cells):
        raise _bad_layout("layout_cell_unknown", "Use número da poltrona, crew, door, stairs, wc ou vazio.")
    if not seats or len(set(seats)) != len(seats) or not all(1 <= seat <= HIGHEST_SEAT for seat in seats):
        raise _bad_layout("layout_seat_numbers", "Numere cada poltrona uma só vez, de 1 a 200.")
    return SeatLayout(tuple(tuple(cast("Iterable[Cell]", row)) for row in rows))


def _is_furniture(cell: object) -> bool:
    return isinstance(cell, str) and cell in FURNITURE


def _bad_layout(code: str, sentence: str) -> InvalidInput:
    return InvalidInput(code, sentence, fields={"layout": sentence})


def standing_numbers(places: int) -> range:
    """The numbers of the standing places, from 201 up; at most 55 places. Raises InvalidInput beyond that."""
    if not 0 <= places <= HIGHEST_PLACE - HIGHEST_SEAT:
        sentence = "Informe de 0 a 55 lugares em pé."
        raise InvalidInput("standing_places_out_of_range", sentence, fields={"standing_places": sentence})
    return range(HIGHEST_SEAT + 1, HIGHEST_SEAT + 1 + places)


def seat_words(seat: int) -> str | None:
    """`15`, `em pé 3`, or None for a child on a lap."""
    if seat > HIGHEST_SEAT:
        return f"em pé {seat - HIGHEST_SEAT}"
    return str(seat) if seat else None


def runs_on(day: date, *, valid_from: date, valid_until: date, weekdays: int, exception: bool | None) -> bool:
    """Whether a departure of the timetable runs on a service day; its exception for that day, if any, decides alone.

    `weekdays` has bit 0 for Monday.
    """
    if exception is not None:
        return exception
    return valid_from <= day <= valid_until and bool(weekdays >> day.weekday() & 1)


def capacity(layout: SeatLayout, standing_places: int, *, standing_allowed: bool) -> int:
    """How many passengers may be aboard at once: seats for sale, and standing places where the line allows them."""
    return len(layout.seats_for_sale) + (standing_places if standing_allowed else 0)


def check_stretch(board_seq: int, alight_seq: int, *, calls: int) -> None:
    """Lets through a call, and a later one, of a trip with that many. Raises InvalidInput (`alight_seq`)."""
    if not 0 <= board_seq < alight_seq < calls:
        sentence = "Escolha um desembarque depois do embarque."
        raise InvalidInput("alights_before_boarding", sentence, fields={"alight_seq": sentence})


def km_between(call_km: Sequence[Decimal], board_seq: int, alight_seq: int) -> Decimal:
    """The exact kilometres from one call to a later one; `call_km` is cumulative from the first call.

    Raises InvalidInput as `check_stretch` does.
    """
    check_stretch(board_seq, alight_seq, calls=len(call_km))
    return call_km[alight_seq] - call_km[board_seq]


def check_service_class(service_class: str) -> None:
    """Raises InvalidInput for a class that no line has."""
    if service_class not in SERVICE_CLASSES:
        sentence = f"Escolha {', '.join(SERVICE_CLASSES)}."
        raise InvalidInput("service_class_unknown", sentence, fields={"service_class": sentence})


def check_policies(identity_basis: str | None, void_minutes: int | None, hold_minutes: int | None,
                   open_days: int | None) -> None:
    """Raises InvalidInput with a sentence for each policy out of range; None is no change."""
    faults = {field: sentence for field, fine, sentence in (
        ("identity_basis", identity_basis in (None, *BASES), "Escolha percurso (course) ou trecho (stretch)."),
        ("void_minutes", void_minutes is None or 0 <= void_minutes <= MOST_VOID_MINUTES, "De 0 a 1440 minutos."),
        ("hold_minutes", hold_minutes is None or 1 <= hold_minutes <= MOST_HOLD_MINUTES, "De 1 a 60 minutos."),
        ("open_days", open_days is None or 0 <= open_days <= MOST_OPEN_DAYS, "De 0 a 400 dias."),
    ) if not fine}
    if faults:
        raise InvalidInput("policy_out_of_range", "Corrija as políticas marcadas.", fields=faults)


def _plus_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    try:
        return date(year, month + 1, day.day)
    except ValueError:  # no such day in that month: the next one there is
        return date(year, month + 2, 1)
