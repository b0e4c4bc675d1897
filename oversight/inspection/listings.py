"""An inspected trip as a file: its passengers for a spreadsheet, or whole as a PDF of numbered pages.

`read_listing` makes plain text of rows while their session is open; the files are made after it has ended.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape

from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import LongTable, Paragraph, SimpleDocTemplate, Spacer, Table

from boarding.passes.paper import FACES
from boarding.passes.typesetting import PHONE, drawable
from kernel.clock import zone_name
from kernel.filters import day, decimal, hour, local
from kernel.spreadsheets import Cell, table
from oversight.inspection.service import Listed, Sheet, TripRecord
from ticketing.network.policy import HIGHEST_SEAT
from ticketing.network.policy import KINDS as TITLES

STATES = {"sold": "vendida", "boarded": "embarcou", "refunded": "devolvida", "voided": "cancelada"}
IDENTITIES = {"kept": "guardada", "missing": "falta", "not_asked": "não exigida"}
HEAD = ("Poltrona", "Passageiro", "Documento", "Identificação", "Sobe em", "Hora", "Desce em", "Hora", "Horário de",
        "Situação", "Embarcou", "Passagem")
WIDTHS = (46, 136, 104, 66, 80, 32, 80, 32, 0, 56, 76, 62)  # the zone's column is for the spreadsheet alone
RECORD_HEAD = ("Dia", "Partida", "Horário de", "Linha", "Nome da linha", "Viagem", "Exigidas", "Guardadas", "Apagadas",
               "Faltam")
MARGIN = 30


@dataclass(frozen=True, slots=True)
class Listing:
    """A trip in words: what stands above the list, then a row for each ticket in the order of HEAD."""

    name: str  # of the file, without its ending
    heading: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    stamp: str


def read_listing(sheet: Sheet, *, now: datetime, actor: str) -> Listing:
    """The sheet in words. Hours are on the clock of the stop where they are; "taken on" is on the first stop's."""
    journey = sheet.journey
    trip, line, first, last = journey.trip, journey.line, journey.board, journey.alight
    zone = first.stop.zone
    return Listing(
        name=f"viagem-{trip.id}-{trip.service_date:%Y%m%d}",
        heading=f"Linha {line.code}: {first.stop.place.name} – {last.stop.place.name}", facts=_facts(sheet),
        rows=tuple(_row(one) for one in sheet.manifest),
        stamp=f"Viagem {trip.id}. Retirada em {local(now, zone)}, {zone_name(zone)}, por {actor}")


def _facts(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    journey, title, tariff = sheet.journey, sheet.journey.title, sheet.tariff
    trip, line, first, last = journey.trip, journey.line, journey.board, journey.alight
    state = {"open": "prevista", "closed": "encerrada", "cancelled": "cancelada"}[trip.status]
    facts = (
        ("Transportadora", journey.carrier.name),
        ("Linha", f"{line.code} {line.name}, {line.state}, {line.service_class}"),
        ("Partida", f"{local(first.departs_at, first.stop.zone)}, {zone_name(first.stop.zone)}"),
        ("Chegada", f"{local(last.arrives_at, last.stop.zone)}, {zone_name(last.stop.zone)}"),
        ("Situação", state + (f", atraso de {trip.delay_minutes} min" if trip.delay_minutes else "")),
        ("Percurso", f"{decimal(trip.course_km)} km{' estimados' if trip.km_estimated else ''}, "
                     f"{len(journey.calls)} paradas"),
        ("Título", f"{title.act}, {TITLES[title.kind]}, de {day(title.valid_from)} a {day(title.valid_until)}"
         if title else "sem título no dia"),
        ("Tarifa", f"{tariff.act}, desde {day(tariff.starts_on)}" if tariff else "sem tarifa no dia"),
        ("Veículo", journey.vehicle.code + (f", placa {journey.vehicle.plate}" if journey.vehicle.plate else "")),
        ("Capacidade", f"{sheet.seats} poltronas e {sheet.standing} em pé; trecho mais cheio: {sheet.fullest}"),
        ("Passagens", f"{sheet.with_status('sold', 'boarded')} válidas, {sheet.with_status('boarded')} embarcadas, "
                      f"{sheet.with_status('refunded', 'voided')} desfeitas"),
        ("Identificação", _identity_words(sheet)))
    held = (("Guarda legal", f"{sheet.hold.code}, até {day(sheet.hold.ends_on)}"),) if sheet.hold else ()
    return (*facts, *held)


def _identity_words(sheet: Sheet) -> str:
    asked = "exigida" if sheet.requirement.outcome == "required" else "dispensada"
    kept, erased, missing = (sheet.count(state) for state in ("kept", "erased", "missing"))
    return f"{asked}; de {kept + erased + missing}: {kept} guardadas, {erased} apagadas, {missing} faltam"


def _row(one: Listed) -> tuple[str, ...]:
    ticket, board, alight = one.ticket, one.board, one.alight
    seat = f"em pé {ticket.seat - HIGHEST_SEAT}" if ticket.seat > HIGHEST_SEAT else str(ticket.seat or "colo")
    identity = f"apagada em {day(one.erased)}" if one.identity == "erased" and one.erased else IDENTITIES[one.identity]
    boarded = local(ticket.boarded_at, one.boarded.stop.zone) if ticket.boarded_at and one.boarded else ""
    return (seat, one.passenger.name if one.passenger else "", one.passenger.document if one.passenger else "",
            identity, board.stop.place.name, hour(board.departs_at, board.stop.zone), alight.stop.place.name,
            hour(alight.arrives_at, alight.stop.zone), zone_name(board.stop.zone), STATES[ticket.status], boarded,
            ticket.code)


def listing_csv(listing: Listing) -> bytes:
    """The list for a spreadsheet: one head, one row a ticket, names as in the record."""
    return table((HEAD, *listing.rows))


def records_csv(found: Sequence[TripRecord]) -> bytes:
    """The identity record of each trip of a period."""
    rows: list[Sequence[Cell]] = [(day(row.day), hour(row.departs_at, row.zone), zone_name(row.zone), row.line_code,
                                   row.line_name, row.trip_id, row.record.required, row.record.kept, row.record.erased,
                                   row.record.missing) for row in found]
    return table((RECORD_HEAD, *rows))


class _Numbered(Canvas):  # type: ignore[misc]
    """A canvas that knows how many pages there are before it writes the foot of the first one."""

    def __init__(self, *args: object, stamp: str, **options: object) -> None:
        super().__init__(*args, **{**options, "invariant": 1, "lang": "pt-BR", "initialFontName": FACES[False]})
        self._stamp, self._pages = stamp, list[dict[str, object]]()

    def showPage(self) -> None:  # noqa: N802 - ReportLab's own name
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        pages = self._pages
        for number, page in enumerate(pages, start=1):
            self.__dict__.update(page)
            self.setFont(FACES[False], 8)
            self.setFillColor(PHONE.soft)
            self.drawString(MARGIN + 6, 18, drawable(self._stamp))
            self.drawRightString(self._pagesize[0] - MARGIN - 6, 18, f"Página {number} de {len(pages)}")
            super().showPage()
        super().save()


def listing_pdf(listing: Listing) -> bytes:
    """The trip on A4 across: its facts once, the list with its head on every page, pages numbered."""
    target = io.BytesIO()
    paper = SimpleDocTemplate(
        target, pagesize=landscape(A4), leftMargin=MARGIN, rightMargin=MARGIN, topMargin=MARGIN, bottomMargin=36,
        title=f"Lista da {listing.name}", subject="Lista de passageiros para a fiscalização", author="Embarque",
        creator="Embarque")
    shown = [place for place, width in enumerate(WIDTHS) if width]
    rows = [[_cell(HEAD[place], bold=True, ink="#ffffff") for place in shown],
            *([_cell(row[place], bold=place == 0) for place in shown] for row in listing.rows)]
    facts = [[_cell(part, bold=number % 2 == 1, soft=number % 2 == 0) for number, part in enumerate((*one, *other))]
             for one, other in zip(listing.facts[::2], (*listing.facts[1::2], ("", "")), strict=False)]
    paper.build([
        _cell(listing.heading, bold=True, size=17), Spacer(0, 10),
        Table(facts, colWidths=(74, 312, 74, 312), hAlign="LEFT", style=_FACTS), Spacer(0, 12),
        LongTable(rows, colWidths=[WIDTHS[place] for place in shown], repeatRows=1, hAlign="LEFT", style=_LIST),
        *([] if listing.rows else [Spacer(0, 8), _cell("Nenhuma passagem vendida.")]),
    ], canvasmaker=partial(_Numbered, stamp=listing.stamp))
    return target.getvalue()


_TIGHT = [("FONTNAME", (0, 0), (-1, -1), FACES[False]), ("VALIGN", (0, 0), (-1, -1), "TOP"),
          ("LEFTPADDING", (0, 0), (-1, -1), 4), ("RIGHTPADDING", (0, 0), (-1, -1), 4),
          ("TOPPADDING", (0, 0), (-1, -1), 2), ("BOTTOMPADDING", (0, 0), (-1, -1), 3)]
_FACTS = [*_TIGHT, ("LEFTPADDING", (0, 0), (0, -1), 0)]
_LIST = [*_TIGHT, ("BACKGROUND", (0, 0), (-1, 0), PHONE.sign), ("LINEBELOW", (0, 1), (-1, -1), 0.4, PHONE.notch)]


def _cell(text: str, *, bold: bool = False, soft: bool = False, ink: str = PHONE.ink, size: int = 9) -> Paragraph:
    """The text in our own letters, wrapped to its column; markup in it stays characters."""
    style = ParagraphStyle("cell", fontName=FACES[bold], fontSize=size, leading=size * 1.22, splitLongWords=1,
                           textColor=PHONE.soft if soft else ink)
    return Paragraph(escape(drawable(text)), style)
