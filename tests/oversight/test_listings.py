"""An inspected trip taken away as a file: what stands in it, that nothing in it runs, and that taking it is audited."""

import csv
import io
import re
from dataclasses import replace

import pypdfium2
import pytest
from sqlalchemy import select, update

from kernel.audit import AuditEntry
from oversight.inspection.listings import HEAD, Listing, listing_csv, listing_pdf
from oversight.retention import service as retention
from tests.instants import NOW, at
from tests.oversight.test_inspection import CIN, OVER
from tests.world import PERSON, order
from ticketing.network.models import Carrier, Line, Trip
from ticketing.sales.service import board_ticket, find_ticket, sell

FORMULA = '=HYPERLINK("http://exemplo.invalid","x")'
ROW = ("5", "Célia O", "RG 4.321.098 SSP/SC", "guardada", "Criciúma", "06:30", "Tubarão", "07:30", "horário de Brasília",
       "embarcou", "03/03/2026 06:25", "7K3MQ2XD")
LISTING = Listing("viagem-7-20260303", "Linha T-204: Criciúma – Florianópolis", (("Transportadora", "Viação de Teste"),),
                  (ROW,), "Viagem 7. Retirada em 02/03/2026 09:00, horário de Brasília, por fiscal-1")


@pytest.fixture
def tickets(database, vault, world) -> list[str]:
    people = ({**PERSON, "name": "João D'Ávila da Conceição"}, CIN)
    with database.transaction() as session:
        codes = [sell(session, order(world, booking=f"B{seat}", seat=seat, alight=3, identity=person), vault=vault, now=NOW,
                      actor="agent").tickets[0] for seat, person in zip((5, 6), people, strict=True)]
        board_ticket(session, find_ticket(session, codes[0]).ticket.id, 0, now=at("2026-03-03T09:25"), actor="motorista")
    return codes


def audited(database) -> list[tuple[str, dict]]:
    with database.reading() as session:
        return [(entry.subject, entry.details) for entry in session.scalars(
            select(AuditEntry).where(AuditEntry.action == "inspector_looked").order_by(AuditEntry.id))]


def cells(content: bytes) -> list[list[str]]:
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=";"))


def pages(content: bytes) -> list[str]:
    return [re.sub(r"\s+", " ", page.get_textpage().get_text_range()) for page in pypdfium2.PdfDocument(content)]


def test_the_list_opens_in_a_spreadsheet_with_every_ticket_and_taking_it_is_audited(database, world, tickets, inspector):
    answer = inspector.get(f"/inspector/trips/{world.long_trip}/list.csv")
    assert (answer.status_code, answer.content_type) == (200, "text/csv; charset=utf-8")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="viagem-{world.long_trip}-20260303.csv"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert cells(answer.data) == [list(HEAD), [
        "5", "João D'Ávila da Conceição", "RG 4.321.098 SSP/SC", "guardada", "Criciúma", "06:30", "Florianópolis", "09:30",
        "horário de Brasília", "embarcou", "03/03/2026 06:25", tickets[0]], [
        "6", CIN["name"], "CIN 000.000.012-44 SSP/SC", "guardada", "Criciúma", "06:30", "Florianópolis", "09:30",
        "horário de Brasília", "vendida", "", tickets[1]]]
    assert answer.data.count(b"\r\n") == 3
    assert audited(database) == [(f"trip {world.long_trip}", {"tickets": 2, "taken_as": "csv"})]


def test_the_paper_says_what_the_page_says_and_taking_it_is_audited(database, world, tickets, inspector):
    answer = inspector.get(f"/inspector/trips/{world.long_trip}/list.pdf")
    assert (answer.status_code, answer.content_type) == (200, "application/pdf")
    told = pages(answer.data)
    for shown in ("Linha T-204: Criciúma – Florianópolis", "Viação de Teste", "Ato 1, concessão, de 01/01/2024 a 01/01/2034",
                  "Ato 10, desde 01/01/2026", "11 poltronas e 0 em pé; trecho mais cheio: 2", "2 válidas, 1 embarcadas",
                  "exigida; de 2: 2 guardadas", "João D'Ávila da Conceição", "000.000.012-44", *tickets, "Página 1 de 1",
                  f"por {inspector.login}"):
        assert shown in told[0], shown
    assert audited(database) == [(f"trip {world.long_trip}", {"tickets": 2, "taken_as": "pdf"})]


@pytest.mark.parametrize("form", ["list.csv", "list.pdf"])
def test_only_an_inspector_takes_a_list_and_an_unknown_trip_has_none(world, signed_in, client, form):
    url = f"/inspector/trips/{world.long_trip}/{form}"
    assert client.get(url).status_code == 303
    for role in ("agent", "supervisor", "driver", "office", "admin"):
        assert signed_in(role).get(url).status_code == 403
    assert signed_in("inspector").get(f"/inspector/trips/999999/{form}").status_code == 404


def test_after_365_days_the_list_says_erased_and_names_nobody(app, database, vault, world, tickets, inspector):
    retention.run(database, app.extensions["vault"], days_limit=400, now=OVER, actor="tests")
    rows = cells(inspector.get(f"/inspector/trips/{world.long_trip}/list.csv").data)
    assert [row[1:4] for row in rows[1:]] == [["", "", "apagada em 04/03/2027"]] * 2
    assert "Conceição" not in pages(inspector.get(f"/inspector/trips/{world.long_trip}/list.pdf").data)[0]


def test_a_held_cancelled_trip_without_a_title_says_so_and_an_empty_one_too(app, database, world, inspector):
    code = retention.place_hold(database, app.extensions["vault"], world.long_trip, "Ofício 12/2026", at("2028-01-01T00:00").date(),
                                now=NOW, actor="office")
    with database.transaction() as session:
        session.execute(update(Trip).where(Trip.id == world.long_trip).values(status="cancelled", delay_minutes=30))
    told = pages(inspector.get(f"/inspector/trips/{world.long_trip}/list.pdf").data)[0]
    for shown in (f"{code}, até 01/01/2028", "cancelada, atraso de 30 min", "Nenhuma passagem vendida"):
        assert shown in told
    assert "Ofício" not in told
    assert cells(inspector.get(f"/inspector/trips/{world.long_trip}/list.csv").data) == [list(HEAD)]


def test_names_that_would_run_are_kept_from_it_and_stay_readable():
    rows = tuple((*ROW[:1], name, *ROW[2:]) for name in (FORMULA, "\t=1+1", "@SUM(A1)", "-2+3", "+55 48 90000-0000 Ana", "Ana"))
    told = cells(listing_csv(replace(LISTING, rows=rows)))
    assert [row[1] for row in told[1:]] == ["'" + FORMULA, "'\t=1+1", "'@SUM(A1)", "'-2+3", "'+55 48 90000-0000 Ana", "Ana"]
    assert not [cell for row in told for cell in row if cell[:1] in "=+-@\t\r" and cell]


def test_a_long_list_repeats_its_head_and_numbers_its_pages():
    told = pages(listing_pdf(replace(LISTING, rows=(ROW,) * 60)))
    assert len(told) > 2
    for number, page in enumerate(told, start=1):
        assert f"Página {number} de {len(told)}" in page
        assert "Poltrona Passageiro Documento Identificação Sobe em" in page
        assert LISTING.stamp in page
    assert sum(page.count("Célia O") for page in told) == 60
    assert sum("Viação de Teste" in page for page in told) == 1


@pytest.mark.parametrize(("name", "shown"), [
    ("<b>Ana</b> & <img src=x onerror=alert(1)>", "<b>Ana</b> & <img src=x onerror=alert(1)>"), ("李伟", "LiWei"),
    ("Nguyễn Thị Hồng", "Nguyễn Thị Hồng"), ("Ana \U0001f600", "Ana ·"), ("a\u202eb", "ab")])
def test_a_name_stays_characters_and_is_drawn_in_our_own_letters(name, shown):
    made = listing_pdf(replace(LISTING, rows=((*ROW[:1], name, *ROW[2:]),)))
    assert shown in pages(made)[0]
    assert set(re.findall(rb"/BaseFont /[A-Z]{6}\+(\S+)", made)) == {b"RobotoCondensed-Regular", b"RobotoCondensed-Bold"}
    assert b"Helvetica" not in made


def test_names_of_any_length_and_rows_taller_than_usual_make_a_paper():
    tall = (*ROW[:1], "Wolfeschlegelsteinhausenbergerdorff" * 20, *ROW[2:])
    assert len(pages(listing_pdf(replace(LISTING, rows=(tall,) * 3)))) >= 1


def test_a_carriers_and_a_lines_names_are_characters_too(database, world, inspector):
    with database.transaction() as session:
        session.execute(update(Carrier).values(name="A <i>B</i> & C"))
        session.execute(update(Line).values(name="<para>"))
    told = pages(inspector.get(f"/inspector/trips/{world.long_trip}/list.pdf").data)[0]
    assert "A <i>B</i> & C" in told and "<para>" in told
