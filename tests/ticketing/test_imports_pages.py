"""The office's page of imports: a file and its report, what is refused, and who may send how much."""

import io
import re
import tempfile

import pytest
from sqlalchemy import func, select

from kernel.money import Money
from tests import schema
from tests.instants import NOW
from tests.ticketing.test_imports_changes import EARLIER
from tests.ticketing.test_imports_gtfs import TABLES, zipped
from tests.ticketing.test_imports_matrix import GOOD as MATRIX
from tests.ticketing.test_imports_service import SECTIONS
from tests.world import CASH, PERSON
from ticketing.imports import views
from ticketing.imports.service import add_carrier, add_vehicle, two_and_two
from ticketing.network.models import Line, Slot, Stop, Trip
from ticketing.payments.service import open_shift
from ticketing.sales.service import Order, Place, sell
from ticketing.tariffs.models import Tariff


@pytest.fixture
def office(signed_in):
    return signed_in("office")


@pytest.fixture
def send(office):
    """`send(bytes, name, **form)` uploads a file."""
    def send(content, name, client=office, headers=None, **form):
        return client.post("/office/imports", data={"file": (io.BytesIO(content), name), **form}, headers=headers)
    return send


@pytest.fixture
def feed(tmp_path):
    def feed(tables=TABLES):
        return zipped(tmp_path, tables).read_bytes()
    return feed


@pytest.fixture
def earnest(app):
    with app.extensions["database"].transaction() as session:
        add_carrier(session, "Viação de Teste", "11.222.333/0001-81", now=NOW, actor="tests")
        add_vehicle(session, "V-1", None, "teste", two_and_two(46), 0)


def words(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))


def count(app, model):
    with app.extensions["database"].reading() as session:
        return session.scalar(select(func.count()).select_from(model))


def rows(app):
    """Every row but those that a sign-in writes."""
    with app.extensions["database"].reading() as session:
        return {table: found for table, found in schema.rows(session.connection()).items()
                if table not in ("audit_entry", "staff", "sign_in")}


def test_a_feed_is_tried_out_and_its_counts_stand_on_the_page(app, send, feed):
    answer = send(feed(), "feed.zip", rehearsal="1", days="3")
    assert answer.status_code == 200
    assert "Partidas 2 0" in words(answer) and "8 viagens abertas" in words(answer)
    assert (count(app, Slot), count(app, Trip)) == (2, 8)


def test_refused_rows_are_listed_with_file_line_and_reason(send, feed):
    answer = send(feed({**TABLES, "trips.txt": TABLES["trips.txt"] + "R9,UTEIS,T3\n"}), "feed.zip", rehearsal="1")
    assert answer.status_code == 200
    assert "trips.txt 4 A linha R9 não existe ou foi recusada em routes.txt. unknown_line" in words(answer)


def test_a_changed_feed_names_the_trips_and_tickets_that_it_touches(app, send, feed):
    send(feed(), "feed.zip", rehearsal="1", days="5")
    with app.extensions["database"].transaction() as session:
        open_shift(session, stop_id=session.scalars(select(Stop.id)).first(), opening_float=Money(0), now=NOW, actor="t")
        trip = session.scalars(select(Trip).join(Slot, Trip.slot_id == Slot.id).where(Slot.code == "feed:T1", Trip.departs_at > NOW)
                               .order_by(Trip.service_date)).first()
        order = Order("B1", "counter", trip.id, 0, 2, [Place(7, "", PERSON)], CASH)
        code, = sell(session, order, vault=app.extensions["vault"], now=NOW, actor="t").tickets
        trip_id, day = trip.id, trip.service_date
    answer = send(feed(EARLIER), "feed.zip", rehearsal="1")
    assert f"/office/trips/{trip_id}" in answer.text
    assert f"{day:%d/%m/%Y} , 1 passagem: {code[:4]}-{code[4:]}" in words(answer) and "Passageira" not in answer.text
    report = send(feed(EARLIER), "feed.zip", rehearsal="1", headers={"Accept": "application/json"}).get_json()
    assert [kept["tickets"] for change in report["changes"] for kept in change["trips_kept"]] == [[code]]


def test_a_section_table_and_a_matrix_come_in_by_their_titles(app, send, earnest):
    assert send(SECTIONS.encode(), "secoes.csv").status_code == 200
    matrix = MATRIX.replace("Trevo", "Tubarão 2")
    lost = send(matrix.encode(), "tarifas.csv", act="Ato 3", starts_on="2026-01-01")
    assert lost.status_code == 422 and "Tubarão 2" in lost.text
    fine = "".join(row for row in MATRIX.splitlines(keepends=True) if "Trevo" not in row)
    answer = send(fine.encode(), "tarifas.csv", act="Ato 3", starts_on="2026-01-01")
    assert "T-1 3 0 0 nova" in words(answer) and count(app, Tariff) == 1
    assert "T-1 3 0 0 já registrada" in words(send(fine.encode(), "tarifas.csv", act="Ato 3", starts_on="2026-01-01"))


@pytest.mark.parametrize(("form", "field"), [
    ({}, "state"), ({"state": "SC"}, "vehicle"), ({"state": "BA"}, "state"), ({"kind": "pdf"}, "kind"),
    ({"days": "muitos"}, "days"), ({"rehearsal": "talvez"}, "rehearsal"), ({"starts_on": "ontem"}, "starts_on"),
])
def test_what_is_missing_is_asked_for_at_its_field_and_nothing_enters(app, send, feed, earnest, form, field):
    before = rows(app)
    vehicle = {} if field == "vehicle" else {"vehicle": "V-1"}
    answer = send(feed(), "feed.zip", **vehicle, **form)
    assert answer.status_code == 422 and f'id="f-{field}-error"' in answer.text
    assert rows(app) == before


def test_more_days_than_open_are_refused_with_all_the_rest(app, send, feed):
    before = rows(app)
    assert send(feed(), "feed.zip", rehearsal="1", days="401").status_code == 422
    assert rows(app) == before


@pytest.mark.parametrize(("content", "name"), [
    (b"", "empty.zip"), (b"not a zip", "text.zip"), (b"PK\x03\x04" + bytes(400), "binary.zip"), (b"a,b\n1,2\n", "wrong.csv"),
    (bytes(range(256)) * 40, "binary.csv"), (b"%PDF-1.7", "note.pdf"), (b"x", "../../etc/passwd"), (b"x", "\u202e.zip"),
])
def test_a_file_that_cannot_be_taken_is_told_and_leaves_nothing(app, send, content, name):
    before = rows(app)
    answer = send(content, name, rehearsal="1")
    assert answer.status_code == 422 and 'role="alert"' in answer.text
    assert rows(app) == before


def test_without_a_file_the_page_asks_for_one(office):
    answer = office.post("/office/imports", data={"rehearsal": "1"})
    assert answer.status_code == 422 and 'id="f-file-error"' in answer.text


def test_no_upload_stays_on_the_disk(send, feed, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "here"))
    send(feed(), "feed.zip", rehearsal="1")
    send(b"broken", "feed.zip", rehearsal="1")
    assert list((tmp_path / "here").iterdir()) == []


def test_the_office_may_send_more_than_a_form_and_nobody_else(app, office, signed_in, client, send, monkeypatch):
    big = b"0" * (app.config["MAX_CONTENT_LENGTH"] + 1)
    assert send(big, "big.zip", rehearsal="1").status_code == 422
    assert send(big, "big.zip", client=signed_in("agent")).status_code == 413
    assert send(big, "big.zip", client=client).status_code == 413
    assert office.post("/office/trips/1/delay", data={"minutes": big.decode()}).status_code == 413
    monkeypatch.setattr(views, "LARGEST_UPLOAD", len(big))
    assert send(big, "big.zip", rehearsal="1").status_code == 413


def test_a_bomb_is_refused_on_the_page_too(send, feed, monkeypatch):
    monkeypatch.setattr(views, "MOST_UNPACKED", 500)
    answer = send(feed(), "feed.zip", rehearsal="1")
    assert answer.status_code == 422 and "archive_too_large" in answer.text


def test_names_in_a_file_are_text_and_never_markup(send, feed):
    tables = {**TABLES, "trips.txt": TABLES["trips.txt"] + "<script>x</script>,UTEIS,T3\n"}
    answer = send(feed(tables), "<b>.zip", rehearsal="1")
    assert "<script>x" not in answer.text and "&lt;script&gt;x" in answer.text


@pytest.mark.parametrize("role", ["agent", "supervisor", "driver", "inspector"])
def test_others_may_not_import(app, signed_in, send, feed, role):
    client = signed_in(role)
    assert client.get("/office/imports").status_code == 403
    assert send(feed(), "feed.zip", client=client, rehearsal="1").status_code == 403
    assert count(app, Line) == 0


def test_the_temporary_name_keeps_what_a_rehearsal_is_called_by(app, send, feed):
    send(feed(), "Rede do Sul 2026.zip", rehearsal="1")
    with app.extensions["database"].reading() as session:
        assert session.scalars(select(Line.code)).one() == "rede_do_sul_2026:R1"
