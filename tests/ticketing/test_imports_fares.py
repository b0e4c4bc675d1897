"""A fare matrix in the tables: the line's section tariff, unsold pairs refused by T3, and a line sold by commands alone."""

import json
from datetime import date

import pytest
from sqlalchemy import func, select

from kernel.errors import RuleViolation
from kernel.money import Money
from refunds.windows.policy import read_table
from tests import schema
from tests.instants import NOW
from tests.ticketing.test_imports_gtfs import TABLES, folder
from tests.ticketing.test_imports_matrix import GOOD
from tests.world import CASH, PERSON
from ticketing.imports.service import find_by_code
from ticketing.network.models import Call, Carrier, Line, PatternCall, Slot, Stop, Trip
from ticketing.payments.service import open_shift
from ticketing.sales.models import Ticket
from ticketing.sales.service import Order, Place, sell
from ticketing.tariffs.models import SectionFare, Tariff

SECTIONS = ("prefixo,linha,uf,origem,destino,km\nT-1,Criciúma - Florianópolis,SC,Criciúma,Tubarão,62\n"
            "T-1,Criciúma - Florianópolis,SC,Tubarão,Trevo,48\nT-1,Criciúma - Florianópolis,SC,Trevo,Florianópolis,94\n")
FEED = {
    **TABLES,
    "stops.txt": "stop_id,stop_name,stop_lat,stop_lon\nc,CRICIUMA,-28.68,-49.37\nt,Tubarao,-28.47,-49.01\n"
                 "v,Trevo,-28.24,-48.67\nf,Florianópolis,-27.59,-48.55\n",
    "routes.txt": "route_id,route_short_name,route_long_name,route_type\nT-1,T-1,Criciúma - Florianópolis,3\n",
    "trips.txt": "route_id,service_id,trip_id\nT-1,UTEIS,T1\n",
    "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\nT1,06:30:00,06:30:00,c,1\n"
                      "T1,07:40:00,07:45:00,t,2\nT1,08:40:00,08:40:00,v,3\nT1,10:15:00,10:15:00,f,4\n",
}
MACHINE = ("network", "carrier", "Viação de Teste", "--cnpj", "11.222.333/0001-81"), ("network", "vehicle", "V-1", "--seats", "46")
TITLE = ("network", "title", "T-1", "--kind", "concession", "--act", "Ato 1", "--from", "01/01/2026", "--until", "2036-01-01")
TARIFF = ("network", "tariff", "T-1", "--act", "Ato 2", "--from", "2026-01-01", "--asphalt", "0,28", "--earth", "0,35")
FARES = ("--act", "Ato 3", "--starts-on", "2026-01-01")


@pytest.fixture
def flask(app):
    """`flask("network", ...)` is the output of a command on the test's database at NOW; it must end well."""
    def run(*words, code=0):
        done = app.test_cli_runner().invoke(args=[str(word) for word in words])
        assert done.exit_code == code, done.output
        return done.output
    return run


@pytest.fixture
def network(flask, tmp_path):
    """A line in earnest with measured km, departures, vehicle and title, by commands alone."""
    (tmp_path / "secoes.csv").write_text(SECTIONS, encoding="utf-8")
    for words in (*MACHINE, ("network", "import", tmp_path / "secoes.csv"),
                  ("network", "import", folder(tmp_path / "gtfs", FEED), "--state", "SC", "--vehicle", "V-1"), TITLE):
        flask(*words)
    return tmp_path


def matrix(where, table=GOOD, name="tarifas.csv"):
    (where / name).write_text(table, encoding="utf-8")
    return where / name


@pytest.fixture
def buy(app, vault_file):
    """`buy(board, alight)` sells that stretch of tomorrow's trip: its fare."""
    def buy(board, alight, seat=7):
        with app.extensions["database"].transaction() as session:
            if session.scalar(select(func.count()).select_from(Ticket)) == 0:
                open_shift(session, stop_id=session.scalars(select(Stop.id)).first(), opening_float=Money(0), now=NOW, actor="t")
            trip = session.scalars(select(Trip).where(Trip.service_date == date(2026, 3, 3))).one()
            order = Order(f"B{board}{alight}", "counter", trip.id, board, alight, [Place(seat, "", PERSON)], CASH)
            sell(session, order, vault=app.extensions["vault"], now=NOW, actor="t")
            return session.scalars(select(Ticket).order_by(Ticket.id.desc())).first().fare
    return buy


def rows(app):
    with app.extensions["database"].reading() as session:
        return {table: found for table, found in schema.rows(session.connection()).items() if table != "audit_entry"}


def test_a_line_is_sold_in_earnest_by_commands_alone(flask, network, buy, app):
    flask(*TARIFF)
    flask("network", "open-trips", "--days", "2")
    assert buy(0, 1) == Money(1736)  # 62 km, measured, at 28 centavos
    assert buy(0, 3, seat=8) == Money(5712)
    with app.extensions["database"].reading() as session:
        assert not any(session.scalars(select(Call.km_estimated)))
        assert {trip.course_km for trip in session.scalars(select(Trip))} == {204}


def test_the_order_of_the_two_files_does_not_matter(flask, network, app, tmp_path):
    with app.extensions["database"].reading() as session:
        one = sorted((call.seq, call.km, call.km_estimated) for call in session.scalars(select(PatternCall)))
    assert {estimated for _, _, estimated in one} == {False}
    before = rows(app)
    flask("network", "import", tmp_path / "secoes.csv")
    flask("network", "import", tmp_path / "gtfs", "--state", "SC", "--vehicle", "V-1")
    assert rows(app) == before


def test_open_trips_take_measured_km_that_come_after_them(flask, app, tmp_path, buy):
    for words in (*MACHINE, ("network", "import", folder(tmp_path / "gtfs", FEED), "--state", "SC", "--vehicle", "V-1"), TITLE,
                  TARIFF, ("network", "open-trips", "--days", "2")):
        flask(*words)
    with pytest.raises(RuleViolation, match="estimated_km"):
        buy(0, 1)
    (tmp_path / "secoes.csv").write_text(SECTIONS, encoding="utf-8")
    assert "viagens abertas seguiram" in flask("network", "import", tmp_path / "secoes.csv")
    assert buy(0, 1) == Money(1736)


def test_a_matrix_prices_the_line_and_what_is_not_sold_is_refused_by_its_rule(flask, network, buy):
    told = flask("network", "fares", matrix(network), "--line", "T-1", *FARES, "--component", "insurance", "1,50", "-")
    assert "3 pares à venda, 3 sem venda, 0 fora da tabela" in told
    flask("network", "open-trips", "--days", "2")
    assert buy(0, 1) == Money(1740 + 150)
    assert buy(1, 3) == Money(3980 + 150)
    for board, alight in ((0, 2), (2, 3)):
        with pytest.raises(RuleViolation, match="pair_not_sold") as refusal:
            buy(board, alight)
        assert refusal.value.citation.rule == "T3"


def test_a_pair_that_the_matrix_does_not_name_has_no_price(flask, network, buy):
    flask("network", "fares", matrix(network, GOOD.replace("T-1,1,Criciúma,2,Tubarão,17.40,1\n", "")), *FARES)
    flask("network", "open-trips", "--days", "2")
    with pytest.raises(RuleViolation, match="no_fare_for_pair"):
        buy(0, 1)


def test_the_same_matrix_twice_is_registered_once(flask, network, app):
    path = matrix(network)
    flask("network", "import", path, *FARES)
    before = rows(app)
    assert "já estava registrada" in flask("network", "import", path, "--format", "fares", *FARES)
    assert rows(app) == before


def test_a_corrected_matrix_is_a_new_version_from_tomorrow_on(flask, network, app):
    flask("network", "fares", matrix(network), *FARES)
    dearer = matrix(network, GOOD.replace("17.40", "18.00"), "novas.csv")
    assert "amanhã" in flask("network", "fares", dearer, *FARES, code=1)
    flask("network", "fares", dearer, "--act", "Ato 4", "--starts-on", "2026-04-01")
    with app.extensions["database"].reading() as session:
        assert [tariff.act for tariff in session.scalars(select(Tariff).order_by(Tariff.id))] == ["Ato 3", "Ato 4"]


def test_the_way_back_has_a_price_only_where_it_was_told(flask, network, app):
    flask("network", "fares", matrix(network), *FARES, "--both-ways")
    with app.extensions["database"].reading() as session:
        pairs = {(row.from_stop_id, row.to_stop_id): row.amount for row in session.scalars(select(SectionFare))}
    assert pairs and all(pairs[there, here] == amount for (here, there), amount in pairs.items())


def test_a_town_with_two_stops_on_the_line_has_one_price_at_both(flask, network, app):
    with app.extensions["database"].transaction() as session:
        stop = find_by_code(session, Stop, "t")
        stop.name, other = "Terminal de Tubarão", find_by_code(session, Stop, "SC-TUBARAO")
        other.name = "Trevo de Tubarão"
        ids = {stop.id, other.id}
        assert stop.place_id == other.place_id
    flask("network", "fares", matrix(network), *FARES)
    with app.extensions["database"].reading() as session:
        assert ids <= set(session.scalars(select(SectionFare.to_stop_id).where(SectionFare.amount == Money(1740))))


@pytest.mark.parametrize(("change", "words", "said"), [
    (("Tubarão", "Laguna"), FARES, "Laguna"), (("T-1,", "T-9,"), FARES, "T-9"), (("17.40", "muito"), FARES, "Nada foi importado"),
    (("", ""), ("--act", "Ato 3"), "primeiro dia"), (("", ""), ("--starts-on", "2026-01-01"), "ato"),
    (("", ""), (*FARES, "--line", "T-8"), "T-8"),
])
def test_a_matrix_that_does_not_fit_is_told_and_leaves_nothing(flask, network, app, change, words, said):
    before = rows(app)
    assert said in flask("network", "fares", matrix(network, GOOD.replace(*change) if change[0] else GOOD), *words, code=1)
    assert rows(app) == before


def test_refused_rows_stand_in_the_report_and_the_other_lines_are_taken(flask, network, app):
    bad = GOOD + "T-2,1,A,2,B,x,1\n"
    flask("network", "fares", matrix(network, bad), *FARES, "--report", network / "r.json")
    report = json.loads((network / "r.json").read_text())
    assert [(row["line"], row["code"]) for row in report["refused"]] == [(8, "bad_fare"), (8, "line_has_refused_row")]
    assert report["fares"] == [{"line": "T-1", "sold": 3, "unsold": 3, "missing": 0, "new": True}]


def test_a_matrix_is_tried_out_on_a_line_that_it_makes_itself(flask, app, tmp_path):
    told = flask("network", "import", matrix(tmp_path), "--rehearsal")
    assert "Linha tarifas:T-1: 3 pares à venda, 3 sem venda" in told
    with app.extensions["database"].reading() as session:
        line = find_by_code(session, Line, "tarifas:T-1")
        assert (line.rehearsal, line.state, session.scalar(select(func.count()).select_from(Slot))) == (True, "--", 0)
        assert all(session.scalars(select(PatternCall.km_estimated)))
        assert [tariff.method for tariff in session.scalars(select(Tariff))] == ["sections"]
    before = rows(app)
    flask("network", "import", tmp_path / "tarifas.csv", "--rehearsal")
    assert rows(app) == before


def test_a_matrix_is_tried_out_on_the_departures_of_a_feed(flask, app, tmp_path):
    flask("network", "import", folder(tmp_path / "feed", FEED), "--rehearsal", "--days", "2")
    told = flask("network", "fares", matrix(tmp_path), "--line", "feed:T-1", "--rehearsal")
    assert "Linha feed:T-1: 3 pares à venda" in told
    with app.extensions["database"].reading() as session:
        assert [tariff.method for tariff in session.scalars(select(Tariff).order_by(Tariff.starts_on))] == ["coefficient", "sections"]


def test_an_earth_road_prices_its_stretch_and_reaches_open_trips(flask, network, buy):
    flask(*TARIFF)
    flask("network", "open-trips", "--days", "2")
    told = flask("network", "road", "T-1", "t", "v", "earth")
    assert "2 trechos de terra" in told and "2 viagens abertas seguiram" in told  # of the section table's course too
    assert buy(1, 2) == Money(1680)  # 48 km at 35 centavos
    assert buy(0, 1) == Money(1736)


def test_a_road_between_stops_that_no_course_joins_is_refused(flask, network):
    assert "dois pontos" in flask("network", "road", "T-1", "t", "t", "earth", code=1)
    assert "XX" in flask("network", "road", "T-1", "t", "XX", "earth", code=1)


def test_settings_of_a_line_and_policies_of_the_carrier_are_set_by_commands(flask, network, app):
    assert "executivo, com lugar em pé" in flask("network", "line", "T-1", "--class", "executivo", "--standing", "--urban")
    flask("network", "line", "T-1", "--no-standing")
    flask("network", "policies", "--identity-basis", "stretch", "--hold-minutes", "12", "--void-minutes", "0", "--open-days", "7")
    flask("network", "late-refund", "12:0", "3:5", "0:100")
    with app.extensions["database"].reading() as session:
        line = find_by_code(session, Line, "T-1")
        assert (line.service_class, line.standing_allowed, line.urban_like) == ("executivo", False, True)
        carrier = session.get_one(Carrier, line.carrier_id)
        assert (carrier.identity_basis, carrier.hold_minutes, carrier.void_minutes, carrier.open_days) == ("stretch", 12, 0, 7)
        assert [(row.from_hours, row.kept_percent) for row in read_table(carrier.late_refund).rows] == [(12, 0), (3, 5), (0, 100)]
    flask("network", "late-refund", "--default")
    with app.extensions["database"].reading() as session:
        assert session.scalars(select(Carrier.late_refund)).one() == []


@pytest.mark.parametrize("words", [
    ("line", "T-1"), ("line", "T-7", "--standing"), ("policies",), ("policies", "--carrier", "0", "--open-days", "3"),
    ("late-refund",), ("late-refund", "12:0", "--default"), ("late-refund", "x:0"), ("late-refund", "12"),
    ("late-refund", "24:0", "12:5"), ("late-refund", "12:0", "6:10"), ("late-refund", "6:0", "12:5"), ("late-refund", "12:NaN"),
])
def test_settings_that_the_law_or_the_table_refuses_are_not_kept(flask, network, app, words):
    before = rows(app)
    flask("network", *words, code=1)
    assert rows(app) == before
