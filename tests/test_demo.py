"""The demonstration: seeded by one command, twice without a change, lawful on any day, and sellable at once."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from sqlalchemy import func, select

import app as app_module
from boarding.doors.models import Roster
from demo.seed import hashes_wanted, seed, staff
from kernel import auth
from kernel.money import Money
from kernel.vault import Vault
from tests import schema
from tests.instants import NOW, at
from tests.server import environment
from tests.server import flask as command
from tests.world import CASH, PERSON
from ticketing.imports.service import find_by_code
from ticketing.network.models import Carrier, Line, Place, Slot, Stop, Title, Trip
from ticketing.network.policy import check_title
from ticketing.payments.service import open_shift
from ticketing.sales.models import Ticket
from ticketing.sales.service import Order, sell
from ticketing.sales.service import Place as Seat
from ticketing.seats.service import departures

LINES = ["32-1", "32-3", "D-1", "D-2", "D-3"]


@pytest.fixture
def settings(settings):
    """The same with DEMO=1."""
    return replace(settings, demo=True)


@pytest.fixture
def seeded(session):
    """The demonstration in the session, without the time that hashing takes."""
    return put(session, NOW)


def put(session, now):
    return seed(session, {person.login: "no password opens this" for person in hashes_wanted(session)}, now=now)


def flask(app, *arguments):
    return app.test_cli_runner().invoke(args=arguments)


def test_one_command_seeds_and_tells_how_to_sign_in(app, client):
    done = flask(app, "demo", "seed")
    assert done.exit_code == 0, done.output
    for person in staff():
        assert person.login in done.output and person.password in done.output
    with app.extensions["database"].reading() as session:
        assert all(auth.password_matches(auth.find_staff(session, person.login), person.password)
                   for person in staff()[:2])


def test_the_second_run_keeps_everything(app):
    flask(app, "demo", "seed")
    database = app.extensions["database"]
    with database.reading() as session:
        before = schema.rows(session.connection())
    done = flask(app, "demo", "seed")
    assert done.exit_code == 0 and "0 viagens" in done.output
    with database.reading() as session:
        after = schema.rows(session.connection())
    assert {table: rows for table, rows in after.items() if table != "audit_entry"} == {
        table: rows for table, rows in before.items() if table != "audit_entry"}


def test_the_vault_is_made_only_where_there_is_none(app, settings):
    held = Vault(settings.vault_files).vault_id
    flask(app, "demo", "seed")
    assert Vault(settings.vault_files).vault_id == held
    settings.vault_files[0].unlink()
    flask(app, "demo", "seed")
    assert Vault(settings.vault_files).vault_id != held


def test_it_is_refused_where_public_passwords_would_do_harm(app):
    app.extensions["settings"] = replace(app.extensions["settings"], demo=False)
    done = flask(app, "demo", "seed")
    assert done.exit_code == 1 and "DEMO=1" in done.output
    with app.extensions["database"].reading() as session:
        assert session.scalar(select(func.count()).select_from(auth.Staff)) == 0


def test_every_role_has_somebody_and_agents_have_a_terminal(session, seeded):
    people = list(session.scalars(select(auth.Staff)))
    assert {person.role for person in people} == set(auth.ROLES)
    places = {person.login: session.get_one(Stop, person.stop_id).place.name for person in people if person.stop_id}
    assert (places["agente"], places["agente2"], places["agente-ms"]) == ("Criciúma", "Florianópolis", "Campo Grande")
    assert all(len(person.password) >= auth.SHORTEST_PASSWORD for person in staff())


def test_towns_carry_the_codes_of_the_statistics_office(session, seeded):
    assert session.scalar(select(Place.ibge_code).where(Place.name == "Tubarão")) == "4218707"
    assert session.scalar(select(func.count()).where(Place.name == "Imbituba")) == 1


def test_times_are_read_in_the_zone_of_the_first_stop(session, seeded):
    zones = dict(session.execute(select(Slot.code, Slot.zone)).all())
    assert {zone for code, zone in zones.items() if code.startswith(("D-2", "D-3"))} == {"America/Campo_Grande"}
    trip = session.scalars(select(Trip).join(Slot, Trip.slot_id == Slot.id).where(
        Slot.code == "D-3 ida 22:30", Trip.service_date == date(2026, 3, 3))).one()
    assert trip.departs_at == at("2026-03-03T22:30-04:00") and trip.arrives_at == at("2026-03-04T05:25-04:00")
    assert trip.last_day == date(2026, 3, 4)


def test_trips_stand_open_for_thirty_days_and_the_driver_is_on_each(session, seeded):
    days = set(session.scalars(select(Trip.service_date)))
    assert (min(days), max(days)) == (NOW.date(), NOW.date() + timedelta(days=30))
    trips = session.scalar(select(func.count()).select_from(Trip))
    rostered = dict(session.execute(select(auth.Staff.login, func.count()).join(
        Roster, Roster.staff_id == auth.Staff.id).group_by(auth.Staff.login)).all())
    assert rostered["motorista"] == trips == seeded and 0 < rostered["motorista2"] < trips


def test_a_day_later_one_more_day_is_open_and_rostered(session, seeded):
    opened = put(session, NOW + timedelta(days=1))
    assert 0 < opened < 40
    assert session.scalar(select(func.count()).select_from(Roster).join(
        auth.Staff, Roster.staff_id == auth.Staff.id).where(auth.Staff.login == "motorista")) == seeded + opened


@pytest.mark.parametrize("now", ["2028-02-29T12:00+00:00", "2029-01-01T01:00+00:00", "2031-12-31T23:59+00:00",
                                 "2040-06-01T12:00+00:00"])
def test_titles_hold_to_the_law_and_trips_open_whatever_the_day(session, now):
    assert put(session, at(now)) > 600
    for title, line in session.execute(select(Title, Line).join(Line, Title.line_id == Line.id)):
        assert check_title(title.kind, line.state, title.valid_from, title.valid_until, renewal=False)


def test_years_later_a_second_run_finds_lines_under_a_title(session, seeded):
    assert put(session, NOW.replace(year=2037)) > 600


def test_one_seat_is_sold_on_two_stretches_of_the_long_line_and_identity_is_asked(session, seeded, vault):
    criciuma, tubarao, florianopolis = (find_by_code(session, Stop, f"SC-{name}")
                                        for name in ("CRICIUMA", "TUBARAO", "FLORIANOPOLIS"))
    open_shift(session, stop_id=criciuma.id, opening_float=Money(0), now=NOW, actor="agente")
    found = departures(session, from_stop_id=criciuma.id, to_place_id=tubarao.place_id, day=date(2026, 3, 3),
                       zone=criciuma.zone, now=NOW)
    trip = next(one.trip for one in found if one.line.code == "32-1")
    fares = []
    for board, alight in ((0, 1), (1, 3)):
        order = Order(f"B{board}", "counter", trip.id, board, alight, [Seat(1, "", PERSON)], CASH)
        code = sell(session, order, vault=vault, now=NOW, actor="agente").tickets[0]
        ticket = session.scalars(select(Ticket).where(Ticket.code == code)).one()
        assert ticket.identity_required
        fares.append(ticket.fare)
    # 62 km x 0,28 = 17,36 -> 17,35; 142 km = 39,76 -> 39,75; then fee, toll at Imbituba, insurance
    assert fares == [Money(1735 + 325 + 150), Money(3975 + 280 + 110 + 150)]
    assert {line for line in session.scalars(select(Line.code))} == set(LINES)
    assert session.scalar(select(Carrier.name)) == "Viação Demonstração"


def test_a_database_of_the_demonstration_does_not_serve_in_earnest(tmp_path, monkeypatch):
    env = environment(f"sqlite:///{tmp_path / 'd.db'}", tmp_path / "d.vault")
    command(env, "database", "upgrade")
    command(env, "demo", "seed")
    for name, value in {**env, "DEMO": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="published"):
        app_module.serve()
    monkeypatch.setenv("DEMO", "1")
    assert app_module.serve() is not None
