"""The network's commands: what they say of files that cannot be taken, and an installation registered by hand."""

import json
import os

import pytest
from sqlalchemy import func, select

from tests import schema
from tests.ticketing.test_imports_gtfs import TABLES, folder, without, zipped
from tests.ticketing.test_imports_service import SECTIONS
from ticketing.imports import commands, intake
from ticketing.network.models import Line, Slot, Trip
from ticketing.tariffs.models import Tariff


@pytest.fixture
def flask(app):
    """`flask("network", ...)` is the result of a command on the test's database at NOW."""
    return lambda *arguments: app.test_cli_runner().invoke(args=[str(argument) for argument in arguments])


@pytest.fixture
def count(app):
    def count(model):
        with app.extensions["database"].reading() as session:
            return session.scalar(select(func.count()).select_from(model))
    return count


def test_a_rehearsal_goes_from_the_file_to_open_trips(flask, count, tmp_path):
    done = flask("network", "import", zipped(tmp_path, TABLES), "--rehearsal", "--days", "3",
                 "--report", tmp_path / "report.json")
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["imported"]["slot"] == 2 and report["trips_opened"] == count(Trip) == 8
    assert flask("network", "open-trips", "--days", "4").output.startswith("2 ")


def test_a_report_names_each_refused_row_and_the_rest_is_taken(flask, count, tmp_path):
    bad = {**TABLES, "trips.txt": TABLES["trips.txt"] + "R9,UTEIS,T3\n"}
    done = flask("network", "import", folder(tmp_path / "f", bad), "--rehearsal", "--report", tmp_path / "r.json")
    assert done.exit_code == 0
    refused = json.loads((tmp_path / "r.json").read_text())["refused"]
    assert [(row["file"], row["line"], row["code"]) for row in refused] == [("trips.txt", 4, "unknown_line")]
    assert "unknown_line" in done.stderr and refused[0]["reason"] in done.stderr
    assert count(Slot) == 2


UNUSABLE = {
    "missing.zip": None, "missing.csv": None, "missing": None, "empty.csv": b"", "empty.zip": b"",
    "titles.csv": b"prefixo,linha,uf,origem,destino,km\n", "binary.csv": bytes(range(256)) * 40,
    "binary.zip": b"PK\x03\x04" + bytes(range(256)) * 40, "text.zip": b"not a zip", "note.pdf": b"%PDF-1.7\n",
    "wrong.csv": b"a,b,c\n1,2,3\n", "refused.csv": SECTIONS.replace("62", "muito").encode(),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_file_that_cannot_be_taken_is_told_in_a_sentence_and_leaves_nothing(flask, app, tmp_path, name):
    if UNUSABLE[name] is not None:
        (tmp_path / name).write_bytes(UNUSABLE[name])
    with app.extensions["database"].reading() as session:
        before = schema.rows(session.connection())
    done = flask("network", "import", tmp_path / name, "--rehearsal")
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert done.stderr.strip() and "Traceback" not in done.output
    with app.extensions["database"].reading() as session:
        assert schema.rows(session.connection()) == before


def test_an_everywhere_refused_feed_ends_with_its_report(flask, tmp_path):
    done = flask("network", "import", folder(tmp_path / "f", without("stops.txt")), "--rehearsal",
                 "--report", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    assert done.exit_code == 1 and report["imported"] == {}
    assert [row["code"] for row in report["refused"]] == ["missing_file"]


def test_a_report_that_cannot_be_written_stops_before_the_import(flask, count, tmp_path):
    done = flask("network", "import", zipped(tmp_path, TABLES), "--rehearsal", "--report", tmp_path / "no" / "r.json")
    assert done.exit_code == 2 and count(Line) == 0


def test_a_long_file_shows_how_far_it_is(flask, monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr(commands, "LONG_FILE_BYTES", 100)
    monkeypatch.setattr("click._termui_impl.ProgressBar.update", lambda bar, steps: shown.append((bar.length, steps)))
    assert flask("network", "import", folder(tmp_path / "f", TABLES), "--rehearsal").exit_code == 0
    assert {length for length, _ in shown} == {sum(len(table.encode()) for table in TABLES.values())}


def test_an_installation_is_registered_by_hand_and_opens_its_trips(flask, count, tmp_path):
    told = [flask(*words) for words in (
        ("network", "carrier", "Viação de Teste", "--cnpj", "11.222.333/0001-81"),
        ("network", "vehicle", "V-1", "--seats", "46"),
        ("network", "import", folder(tmp_path / "f", TABLES), "--state", "SC", "--vehicle", "V-1"),
        ("network", "title", "R1", "--kind", "concession", "--act", "Ato 1", "--from", "01/01/2026", "--until", "2036-01-01"),
        ("network", "tariff", "R1", "--act", "Ato 2", "--from", "2026-01-01", "--asphalt", "0,28", "--minimum", "5,00",
         "--component", "boarding_fee", "3,25", "FLN", "--component", "insurance", "1,50", "-"),
        ("network", "open-trips", "--days", "1"))]
    assert [done.exit_code for done in told] == [0] * 6, [done.output for done in told]
    assert count(Trip) == 4 and count(Tariff) == 1


@pytest.mark.parametrize(("words", "said"), [
    (("title", "R7", "--kind", "concession", "--act", "A", "--from", "2026-01-01", "--until", "2027-01-01"), "R7"),
    (("title", "feed:R1", "--kind", "concession", "--act", "A", "--from", "2026-01-02", "--until", "2026-01-01"), "fim"),
    (("tariff", "feed:R1", "--act", "A", "--from", "2026-01-01", "--asphalt", "muito"), "muito"),
    (("tariff", "feed:R1", "--act", "A", "--from", "2026-01-01", "--asphalt", "0,28"), "amanhã"),
    (("tariff", "feed:R1", "--act", " ", "--from", "2027-01-01", "--asphalt", "NaN"), "ato"),
    (("carrier", "X", "--cnpj", "1"), "CNPJ"),
    (("vehicle", "V" * 21, "--seats", "1"), "20 caracteres"),
])
def test_a_refusal_is_one_sentence_on_standard_error(flask, tmp_path, words, said):
    assert flask("network", "import", zipped(tmp_path, TABLES), "--rehearsal").exit_code == 0
    done = flask("network", *words)
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert said in done.stderr and not done.stdout


def test_a_timetable_that_ended_is_told(flask, tmp_path):
    flask("network", "carrier", "Viação de Teste", "--cnpj", "11222333000181")
    flask("network", "vehicle", "V-1", "--seats", "46")
    past = {name: table.replace("2026", "2015") for name, table in TABLES.items()}
    done = flask("network", "import", folder(tmp_path / "f", past), "--state", "SC", "--vehicle", "V-1")
    assert done.exit_code == 0 and "31/12/2015" in done.output


def test_a_file_that_may_not_be_read_is_told(flask, tmp_path, monkeypatch):
    path = zipped(tmp_path, TABLES)

    def forbidden(*_args, **_kwargs):
        raise PermissionError(13, os.strerror(13), str(path))
    monkeypatch.setattr(intake, "read_gtfs", forbidden)
    done = flask("network", "import", path, "--rehearsal")
    assert done.exit_code == 1 and str(path) in done.stderr
