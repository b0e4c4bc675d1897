"""Feeds in the tables: twice is once, nothing enters by halves, a rehearsal sells, an estimate in earnest does not."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import func, select

from kernel.clock import local_date
from kernel.errors import Conflict, InvalidInput, RuleViolation
from kernel.money import Money
from tests import schema
from tests.instants import NOW, at
from tests.ticketing.test_imports_gtfs import TABLES, folder, with_rows
from tests.world import CASH, PERSON
from ticketing.imports.gtfs import read_gtfs
from ticketing.imports.policy import FeedCall, pattern
from ticketing.imports.rows import Naming
from ticketing.imports.sections import read_sections
from ticketing.imports.service import (
    Choice,
    add_carrier,
    add_title,
    add_vehicle,
    add_version,
    bring_in,
    find_by_code,
    has_tariff,
    two_and_two,
)
from ticketing.network.models import Line, Pattern, PatternCall, Place, Slot, Stop, Title, Trip
from ticketing.network.policy import read_layout
from ticketing.network.service import open_trips
from ticketing.payments.service import open_shift
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.service import Order, sell
from ticketing.sales.service import Place as Seat
from ticketing.seats.service import departures
from ticketing.tariffs.models import Tariff
from ticketing.tariffs.policy import TariffVersion

ACTOR = "tests"
NIGHT = with_rows(  # Friday's night service: T9 calls at Lages on Saturday, T10 leaves on Saturday
    trips="R1,UTEIS,T9\nR1,UTEIS,T10",
    stop_times="T9,22:15:00,22:15:00,FLN,1\nT9,26:25:00,26:40:00,LGS,2\nT9,31:50:00,31:50:00,XAP,3\n"
               "T10,24:10:00,24:10:00,FLN,1\nT10,33:45:00,33:45:00,XAP,2")
LOOP = with_rows(
    stops="CPT,Capão Alto,-27.9389,-50.5128\nOTC,Otacílio Costa,-27.4789,-50.1231",
    trips="R1,UTEIS,L1",
    stop_times="L1,08:00:00,08:00:00,LGS,1\nL1,08:30:00,08:35:00,CPT,2\nL1,09:40:00,09:50:00,OTC,3\n"
               "L1,10:55:00,11:00:00,CPT,4\nL1,11:30:00,11:30:00,LGS,5")
SECTIONS = "prefixo,linha,uf,origem,destino,km\nT-1,Criciúma - Florianópolis,SC,Criciúma,Tubarão,62\n" \
           "T-1,Criciúma - Florianópolis,SC,Tubarão,Florianópolis,142\n"


@pytest.fixture
def read(tmp_path):
    """`read(tables)` is the feed of a GTFS folder with those tables."""
    return lambda tables: read_gtfs(folder(tmp_path, tables), progress=lambda done, total: None).feed


@pytest.fixture
def sections(tmp_path):
    def read(text):
        (tmp_path / "secoes.csv").write_text(text, encoding="utf-8")
        return read_sections(tmp_path / "secoes.csv", progress=lambda done, total: None).feed
    return read


def bring(session, feed, now=NOW, **choice):
    return bring_in(session, feed, Choice("feed", **choice), now=now, actor=ACTOR)


def rehearse(session, feed, **choice):
    return bring(session, feed, rehearsal=True, **choice)


def in_earnest(session):
    """A carrier and a vehicle, as an installation registers them before its first import."""
    add_carrier(session, "Viação de Teste", "11.222.333/0001-81", now=NOW, actor=ACTOR)
    add_vehicle(session, "V-1", None, "teste", two_and_two(46), 0)


def count(session, model):
    return session.scalar(select(func.count()).select_from(model))


def state(session):
    """Every row of every table but the audit log's, which tells of each import."""
    return {table: rows for table, rows in schema.rows(session.connection()).items() if table != "audit_entry"}


def stop_id(session, code):
    return find_by_code(session, Stop, f"feed:{code}").id


def buy(session, vault, trip_id, board, alight, seat):
    order = Order(f"B{trip_id}-{board}-{seat}", "counter", trip_id, board, alight, [Seat(seat, "", PERSON)], CASH)
    code = sell(session, order, vault=vault, now=NOW, actor=ACTOR).tickets[0]
    return session.scalars(select(Ticket).where(Ticket.code == code)).one()


@pytest.fixture
def till(session):
    """Opens the actor's till at the first stop there is."""
    return lambda: open_shift(session, stop_id=session.scalars(select(Stop.id)).first(), opening_float=Money(0),
                              now=NOW, actor=ACTOR)


def test_the_same_feed_twice_changes_nothing(session, read):
    first = rehearse(session, read(TABLES))
    before = state(session)
    again = rehearse(session, read(TABLES))
    assert first.new == {"place": 4, "stop": 4, "line": 1, "pattern": 2, "slot": 2}
    assert set(again.new.values()) == set(again.changed.values()) == {0}
    assert state(session) == before


def test_trips_once_opened_are_not_opened_again_after_the_same_import(session, read):
    rehearse(session, read(TABLES))
    assert open_trips(session, days=3, now=NOW, actor=ACTOR) == 8
    rehearse(session, read(TABLES))
    assert open_trips(session, days=3, now=NOW, actor=ACTOR) == 0


def test_two_feeds_with_the_same_codes_stand_beside_each_other(session, read):
    rehearse(session, read(TABLES))
    bring_in(session, read(TABLES), Choice("Outra rede.2026", rehearsal=True), now=NOW, actor=ACTOR)
    assert set(session.scalars(select(Line.code))) == {"feed:R1", "outra-rede-2026:R1"}
    assert count(session, Stop) == 8


def test_an_import_that_fails_leaves_nothing(database, read):
    with database.transaction() as session:
        in_earnest(session)
        before = state(session)
    with pytest.raises(InvalidInput) as refusal, database.transaction() as session:
        bring(session, read(TABLES), vehicle="V-1")  # a line without a state, met after the stops are written
    assert refusal.value.code == "state_missing"
    with database.reading() as session:
        assert state(session) == before


def test_a_rehearsal_is_marked_and_worth_nothing(session, read):
    rehearse(session, read(TABLES))
    line = find_by_code(session, Line, "feed:R1")
    title = session.scalars(select(Title).where(Title.line_id == line.id)).one()
    tariff = session.scalars(select(Tariff).where(Tariff.line_id == line.id)).one()
    assert (line.rehearsal, line.state) == (True, "--")
    assert (title.kind, title.act, tariff.act) == ("licence", "ENSAIO", "ENSAIO – sem valor")
    assert tariff.coefficient_asphalt == Decimal("0.28")


@pytest.mark.parametrize("zone", ["Pacific/Honolulu", "Asia/Tokyo", "Europe/London"])
def test_a_rehearsal_is_in_force_today_in_the_zone_of_its_feed(session, read, zone):
    now = at("2026-03-02T11:30+00:00")  # still the 1st in Honolulu, the 2nd in Tokyo
    bring(session, read({**TABLES, "agency.txt": f"agency_name,agency_timezone\nX,{zone}\n"}), now=now, rehearsal=True)
    title = session.scalars(select(Title)).one()
    assert title.valid_from <= local_date(now, zone) <= title.valid_until
    assert session.scalars(select(Tariff.starts_on)).one() <= local_date(now, zone)


def test_a_feed_that_ended_is_moved_to_this_week_and_runs_on_its_weekdays(session, read):
    past = {name: table.replace("2026", "2015") for name, table in TABLES.items()}
    rehearse(session, read(past))
    assert open_trips(session, days=13, now=NOW, actor=ACTOR) > 0
    assert {day.weekday() for day in session.scalars(select(Trip.service_date))} <= {0, 1, 2, 3, 4}
    assert session.scalars(select(Slot.valid_from)).first() <= NOW.date()


def test_search_by_date_finds_the_departure_after_midnight_on_the_next_local_date(session, read, vault, till):
    rehearse(session, read(NIGHT))
    open_trips(session, days=7, now=NOW, actor=ACTOR)
    florianopolis = stop_id(session, "FLN")
    to = find_by_code(session, Stop, "feed:XAP").place_id
    found = {day: [(one.board.departs_at, one.alight.arrives_at) for one in departures(
        session, from_stop_id=florianopolis, to_place_id=to, day=date(2026, 3, day), zone="America/Sao_Paulo", now=NOW)]
        for day in (6, 7, 8)}
    night = (at("2026-03-07T00:10-03:00"), at("2026-03-07T09:45-03:00"))
    assert night in found[7] and night not in found[6]
    assert (at("2026-03-06T22:15-03:00"), at("2026-03-07T07:50-03:00")) in found[6]
    assert found[8] == []  # Saturday is no service day, so nothing leaves in Sunday's first hour


def test_a_seat_is_bought_after_midnight_and_its_identity_kept_from_the_last_arrival(session, read, vault, till):
    rehearse(session, read(NIGHT))
    open_trips(session, days=7, now=NOW, actor=ACTOR)
    till()
    lages = departures(session, from_stop_id=stop_id(session, "LGS"), to_place_id=None, day=date(2026, 3, 7),
                       zone="America/Sao_Paulo", now=NOW)
    ride = next(one for one in lages if one.board.departs_at == at("2026-03-07T02:40-03:00"))
    ticket = buy(session, vault, ride.trip.id, ride.board.seq, ride.alight.seq, 12)
    assert ride.trip.service_date == date(2026, 3, 6)
    assert session.get_one(Identity, ticket.id).keep_until == date(2026, 3, 7) + timedelta(days=365)
    assert ticket.refund_until == at("2026-03-06T14:40-03:00")


def test_a_loop_keeps_its_five_calls_and_sells_each_stretch_by_its_own_hour(session, read, vault, till):
    rehearse(session, read(LOOP))
    open_trips(session, days=1, now=NOW, actor=ACTOR)
    till()
    day = NOW.date() + timedelta(days=1)
    found = departures(session, from_stop_id=stop_id(session, "CPT"), to_place_id=None, day=day,
                       zone="America/Sao_Paulo", now=NOW)
    assert [(one.board.seq, local_date(one.board.departs_at, "America/Sao_Paulo")) for one in found] == [(1, day), (3, day)]
    trip = found[0].trip.id
    out = buy(session, vault, trip, 0, 1, 7)  # Lages - Capão Alto
    back = buy(session, vault, trip, 2, 4, 7)  # Otacílio Costa - Lages, the same seat
    assert out.refund_until != back.refund_until and out.fare < back.fare
    with pytest.raises(Conflict, match="seat_taken"):
        buy(session, vault, trip, 3, 4, 7)


def test_the_price_of_a_rehearsal_is_28_centavos_for_each_estimated_km(session, read, vault, till):
    rehearse(session, read(LOOP))
    open_trips(session, days=1, now=NOW, actor=ACTOR)
    till()
    trip = session.scalars(select(Trip).join(Slot, Trip.slot_id == Slot.id).where(
        Slot.code == "feed:L1", Trip.service_date == NOW.date() + timedelta(days=1))).one()
    km = trip.calls[2].km - trip.calls[1].km
    assert trip.calls[2].km_estimated
    assert buy(session, vault, trip.id, 1, 2, 3).fare == Money(int((km * 28).quantize(Decimal(1), "ROUND_HALF_UP")))


def test_outside_a_rehearsal_an_estimate_prices_no_ticket(session, read, vault, till):
    in_earnest(session)
    bring(session, read(TABLES), state="SC", vehicle="V-1")
    line = find_by_code(session, Line, "R1")
    assert not has_tariff(session, line.id) and count(session, Title) == 0
    add_title(session, line, Title(kind="permission", act="Ato 1", valid_from=date(2026, 1, 1),
                                   valid_until=date(2027, 12, 31)), renewal=False, now=NOW, actor=ACTOR)
    add_version(session, line, TariffVersion(0, "Ato 2", date(2026, 1, 1), "coefficient", Decimal("0.3")),
                now=NOW, actor=ACTOR)
    assert open_trips(session, days=1, now=NOW, actor=ACTOR) > 0
    till()
    trip = session.scalars(select(Trip).where(Trip.service_date == date(2026, 3, 3))).first()
    with pytest.raises(RuleViolation, match="estimated_km"):
        buy(session, vault, trip.id, 0, 1, 1)


@pytest.mark.parametrize(("choice", "code"), [
    ({"state": "SC"}, "vehicle_missing"),
    ({"vehicle": "V-1"}, "state_missing"),
    ({"state": "SC", "vehicle": "V-2"}, "no_such_vehicle"),
    ({"state": "SC", "vehicle": "V-1", "carrier": "00000000000191"}, "no_such_carrier"),
])
def test_an_import_in_earnest_says_what_it_still_needs(session, read, choice, code):
    in_earnest(session)
    with pytest.raises(Exception) as refusal:
        bring(session, read(TABLES), **choice)
    assert refusal.value.code == code


def test_an_import_in_earnest_needs_a_carrier(session, read):
    with pytest.raises(InvalidInput, match="carrier_missing"):
        bring(session, read(TABLES), state="SC")


def test_a_section_table_brings_measured_kilometres_and_no_departures(session, sections):
    in_earnest(session)
    loaded = bring(session, sections(SECTIONS))
    km = session.execute(select(PatternCall.km, PatternCall.km_estimated).order_by(PatternCall.seq)).all()
    assert [tuple(row) for row in km] == [(0, False), (62, False), (204, False)]
    assert loaded.new == {"place": 3, "stop": 3, "line": 1, "pattern": 1}
    assert set(session.scalars(select(Place.name))) == {"Criciúma", "Tubarão", "Florianópolis"}


def test_a_section_table_without_a_state_takes_the_one_that_is_told(session, sections):
    in_earnest(session)
    text = SECTIONS.replace(",uf,", ",").replace(",SC,", ",")
    bring(session, sections(text), state="SC")
    assert set(session.scalars(select(Stop.code))) == {"SC-CRICIUMA", "SC-TUBARAO", "SC-FLORIANOPOLIS"}
    assert set(session.scalars(select(Line.state))) == {"SC"}


def test_a_section_table_does_not_unsay_what_was_registered_about_a_stop(session, sections):
    in_earnest(session)
    bring(session, sections(SECTIONS))
    find_by_code(session, Stop, "SC-TUBARAO").name = "Terminal Rodoviário de Tubarão"
    bring(session, sections(SECTIONS))
    assert find_by_code(session, Stop, "SC-TUBARAO").name == "Terminal Rodoviário de Tubarão"


def test_a_town_is_the_same_with_and_without_accents(session, sections):
    in_earnest(session)
    bring(session, sections(SECTIONS))
    loaded = bring(session, sections("prefixo,uf,origem,destino,km\nT-2,SC,TUBARAO,CRICIUMA CENTRO,60\n"
                                     "T-2,SC,CRICIUMA CENTRO,CRICIUMA (ponto 2),2\nT-3,SC,criciúma,Orleans,50\n"))
    assert loaded.new["stop"] == 3 and loaded.new["place"] == 3
    assert session.scalar(select(func.count()).where(Place.name == "CRICIUMA")) == 0


def test_names_in_other_scripts_keep_their_marks_apart(session, read):
    rehearse(session, read({**TABLES, "stops.txt": "stop_id,stop_name,stop_lat,stop_lon\nFLN,かき,35,139\nLGS,がき,35.1,139\n"
                                                   "SJO,SÃO JOSÉ,35.2,139\nXAP,Sao Jose,35.3,139\n"}))
    assert set(session.scalars(select(Place.name))) == {"かき", "がき", "SÃO JOSÉ"}


def test_new_times_of_a_departure_replace_the_old_ones(session, read):
    rehearse(session, read(TABLES))
    later = {**TABLES, "stop_times.txt": TABLES["stop_times.txt"].replace("06:30:00,06:30:00", "06:20:00,06:20:00")}
    again = rehearse(session, read(later))
    assert (again.new["slot"], again.changed["slot"]) == (0, 1)
    assert session.scalars(select(Slot).where(Slot.code == "feed:T1")).one().times[0] == [22800, 22800]


def test_a_departure_on_another_course_leaves_the_old_one(session, read):
    rehearse(session, read(TABLES))
    shorter = {**TABLES, "stop_times.txt": TABLES["stop_times.txt"].replace("T1,06:50:00,06:55:00,SJO,2\n", "")}
    rehearse(session, read(shorter))
    slot = session.scalars(select(Slot).where(Slot.code == "feed:T1")).one()
    assert len(slot.times) == count_calls(session, slot.pattern_id) == 3
    assert count(session, Pattern) == 3


def count_calls(session, pattern_id):
    return session.scalar(select(func.count()).where(PatternCall.pattern_id == pattern_id))


def test_a_line_of_another_carrier_is_not_taken_over(session, sections):
    in_earnest(session)
    bring(session, sections(SECTIONS))
    add_carrier(session, "Outra", "00.000.000/0001-91", now=NOW, actor=ACTOR)
    with pytest.raises(InvalidInput, match="carrier_missing"):
        bring(session, sections(SECTIONS))
    with pytest.raises(Conflict, match="line_of_another"):
        bring(session, sections(SECTIONS), carrier="00.000.000/0001-91")


def test_a_course_longer_than_seats_are_kept_for_is_refused(session, read):
    feed = read(TABLES)
    calls = [FeedCall("FLN" if n % 2 else "LGS", Decimal(n)) for n in range(202)]
    with pytest.raises(InvalidInput, match="course_too_long"):
        rehearse(session, replace(feed, patterns=(pattern("R1", calls),), slots=()))


def test_a_code_that_does_not_fit_keeps_its_own(session, read):
    one, other = ("R" * 78 + end for end in "12")
    naming = Naming(prefix="feed")
    assert len(naming.code(one)) == len(naming.code(other)) == 80
    assert naming.code(one) != naming.code(other)


@pytest.mark.parametrize(("cnpj", "code"), [("11222333000182", "bad_cnpj"), ("", "bad_cnpj"),
                                            ("11222333000181", "carrier_known")])
def test_a_carrier_is_registered_once_by_a_cnpj_that_holds(session, cnpj, code):
    in_earnest(session)
    with pytest.raises((InvalidInput, Conflict), match=code):
        add_carrier(session, "Viação", cnpj, now=NOW, actor=ACTOR)


@pytest.mark.parametrize("seats", [1, 4, 45, 46, 200])
def test_rows_of_two_and_two_number_every_seat_once(seats):
    assert read_layout(two_and_two(seats)).seats_for_sale == tuple(range(1, seats + 1))


def test_a_second_version_of_a_tariff_begins_in_the_future(session, sections):
    in_earnest(session)
    bring(session, sections(SECTIONS))
    line = find_by_code(session, Line, "T-1")
    for starts, fine in ((date(2020, 1, 1), True), (NOW.date(), False), (NOW.date() + timedelta(days=1), True)):
        version = TariffVersion(0, "Ato", starts, "coefficient", Decimal("0.3"))
        if fine:
            assert add_version(session, line, version, now=NOW, actor=ACTOR).starts_on == starts
        else:
            with pytest.raises(RuleViolation, match="tariff_starts_in_past"):
                add_version(session, line, version, now=NOW, actor=ACTOR)


def test_a_title_longer_than_the_law_allows_is_refused_and_kept_out(session, sections):
    in_earnest(session)
    bring(session, sections(SECTIONS))
    line = find_by_code(session, Line, "T-1")
    with pytest.raises(RuleViolation, match="title_term_too_long"):
        add_title(session, line, Title(kind="concession", act="A", valid_from=date(2026, 1, 1),
                                       valid_until=date(2036, 1, 2)), renewal=False, now=NOW, actor=ACTOR)
    assert count(session, Title) == 0
