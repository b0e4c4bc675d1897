"""365 days, then erased for good: rows, keys, holds, old copies, wrong clocks. On both databases."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta

import pytest
from sqlalchemy import func, select, update

import app as composition
from kernel.audit import AuditEntry
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.jobs import run_due, turns
from kernel.vault import Erased, Vault, VaultError
from oversight.retention import service
from oversight.retention.models import LegalHold, VaultMark
from tests.instants import NOW, at
from tests.world import PERSON, order
from ticketing.network.models import Trip
from ticketing.sales.identities import of_ticket, opened_or_none
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.service import find_ticket, sell

LAST_DAY = date(2027, 3, 3)  # the trip of tests/world.py ends on 2026-03-03
STILL_THE_LAST_DAY = at("2027-03-04T11:59:59")  # 23:59:59 of it in the last zone on Earth
OVER = at("2027-03-04T12:00")


@pytest.fixture
def code(database, vault, world) -> str:
    return sell_one(database, vault, world, "BOOKING1", seat=5)


def sell_one(database, vault, world, booking: str, *, seat: int, trip: int | None = None, **changes) -> str:
    with database.transaction() as session:
        wanted = order(world, booking=booking, seat=seat, trip=trip, identity={**PERSON, **changes})
        return sell(session, wanted, vault=vault, now=NOW, actor="agent").tickets[0]


def run(database, vault, now, **changes) -> service.Erased:
    return service.run(database, vault, **{"days_limit": 400, "now": now, "actor": "tests", **changes})


def passenger(database, vault, code: str):
    with database.reading() as session:
        return of_ticket(session, find_ticket(session, code).ticket, vault)


def identities(database) -> int:
    return count(database, Identity)


def count(database, table) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table))


def audited(database, action: str) -> list[AuditEntry]:
    with database.reading() as session:
        rows = list(session.scalars(select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id)))
        session.expunge_all()
        return rows


def test_day_365_is_readable_to_its_last_second_and_then_the_row_is_gone(database, vault, code):
    run(database, vault, STILL_THE_LAST_DAY)
    assert vault.owed_from() == LAST_DAY
    assert passenger(database, vault, code).name == PERSON["name"]
    assert run(database, vault, OVER) == service.Erased(1, 1, 0, LAST_DAY + timedelta(days=1))
    assert passenger(database, vault, code) is None
    assert identities(database) == 0
    assert count(database, Ticket) == 1


def test_only_the_days_that_have_passed_are_cleared(database, vault, world, code):
    with database.transaction() as session:
        later = session.scalar(select(Identity.ticket_id))
        next_day = session.get(Identity, later).keep_until + timedelta(days=1)
    with database.transaction() as session:  # the same line's trip a day later
        trip = session.scalar(select(Trip.id).where(Trip.line_id == session.get(Trip, world.long_trip).line_id,
                                                    Trip.last_day == next_day - timedelta(days=365)))
    other = sell_one(database, vault, world, "BOOKING2", seat=6, trip=trip)
    run(database, vault, OVER)
    assert passenger(database, vault, code) is None
    assert passenger(database, vault, other).name == PERSON["name"]


def test_a_run_is_counted_in_the_audit_log_by_code_alone(database, vault, code):
    run(database, vault, OVER)
    entry, = audited(database, "identities_erased")
    assert entry.subject == "2027-03-04"
    assert entry.details == {"days": 367, "identities": 1, "holds_ended": 0}


def test_running_again_changes_nothing(database, vault, code, vault_file):
    run(database, vault, OVER)
    before = vault_file.read_bytes()
    assert run(database, vault, OVER) == service.Erased(0, 0, 0, LAST_DAY + timedelta(days=1))
    assert vault_file.read_bytes() == before
    assert len(audited(database, "identities_erased")) == 1


@pytest.mark.parametrize("ahead", [8, 366, 3650])
def test_a_clock_ahead_erases_nothing(database, vault, world, code, vault_file, ahead):
    hold = service.place_hold(database, vault, world.short_trip, "Ofício 1", NOW.date() + timedelta(days=3), now=NOW, actor="tests")
    before = vault_file.read_bytes()
    with pytest.raises(Conflict) as refused:
        service.run(database, vault, now=NOW + timedelta(days=ahead), actor="tests")
    assert refused.value.code == "step_too_long"
    assert vault_file.read_bytes() == before
    assert passenger(database, vault, code).name == PERSON["name"]
    assert audited(database, "identities_erased") == []
    with database.reading() as session:
        assert session.get(LegalHold, hold).released_at is None


def test_a_clock_that_goes_back_erases_nothing(database, vault, code):
    assert run(database, vault, NOW - timedelta(days=1000)).days == 0
    assert passenger(database, vault, code).name == PERSON["name"]


def test_rows_are_never_cleared_while_their_key_lives(database, vault, code):
    with database.transaction() as session:  # as if the clock had been a year ahead when the row was cleared for
        session.execute(update(Identity).values(keep_until=LAST_DAY))
    assert run(database, vault, at("2027-03-03T00:00")).identities == 0
    assert identities(database) == 1


def test_a_copy_of_the_database_from_day_0_cannot_be_read_after_day_365(database, vault, code, vault_file, tmp_path):
    with database.reading() as session:  # what any copy, dump or page of an old file holds of the person
        copied = session.scalars(select(Identity)).one()
        session.expunge(copied)
    assert opened_or_none(copied, code, vault).name == PERSON["name"]
    for step in range(53):  # night after night, as the worker does
        service.run(database, vault, now=min(NOW + timedelta(days=7 * step), OVER), actor="tests")
    run(database, vault, OVER)
    fresh = Vault([vault_file])
    with pytest.raises(Erased):
        fresh.open(copied.keep_until, copied.sealed, code.encode())
    with pytest.raises(Erased):
        fresh.tag(copied.keep_until, "RG|SSPSC|4321098")
    assert opened_or_none(copied, code, fresh) is None


def test_two_workers_at_once_erase_each_row_once(database, vault, vault_file, code):
    start = threading.Barrier(2)

    def erase(_n: int) -> service.Erased:
        start.wait()
        return run(database, Vault([vault_file]), OVER)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(erase, range(2)))
    assert sum(one.identities for one in done) == 1
    assert identities(database) == 0
    assert {one.owed_from for one in done} == {LAST_DAY + timedelta(days=1)}


def place(database, vault, world, *, until: date = date(2028, 1, 1), now=NOW, trip: int | None = None) -> str:
    return service.place_hold(database, vault, trip or world.long_trip, "Ofício 12/2026", until, now=now, actor="tests")


def test_a_held_trip_outlives_its_day_and_goes_with_its_hold(database, vault, world, code):
    hold = place(database, vault, world)
    run(database, vault, OVER)
    assert passenger(database, vault, code).name == PERSON["name"]
    run(database, vault, at("2028-01-02T11:59"))
    assert passenger(database, vault, code).name == PERSON["name"]
    assert run(database, vault, at("2028-01-02T12:00")) == service.Erased(1, 1, 1, date(2028, 1, 2))
    assert identities(database) == 0
    assert vault.hold_ids() == frozenset()
    assert [entry.subject for entry in audited(database, "hold_ended")] == [hold]


def test_a_hold_released_in_time_gives_the_rows_back_to_their_own_day(database, vault, world, code):
    hold = place(database, vault, world)
    assert service.release_hold(database, vault, hold, now=NOW, actor="tests") == service.Released(1, 0)
    assert vault.hold_ids() == frozenset()
    assert passenger(database, vault, code).name == PERSON["name"]
    run(database, vault, OVER)
    assert passenger(database, vault, code) is None
    assert identities(database) == 0


def test_a_hold_released_late_erases_what_its_day_no_longer_owes(database, vault, world, code):
    hold = place(database, vault, world)
    run(database, vault, OVER)
    assert service.release_hold(database, vault, hold, now=OVER, actor="tests") == service.Released(0, 1)
    assert identities(database) == 0


def test_a_ticket_sold_after_the_hold_comes_under_it(database, vault, world):
    place(database, vault, world)
    code = sell_one(database, vault, world, "BOOKING2", seat=6)
    run(database, vault, OVER)
    assert passenger(database, vault, code).name == PERSON["name"]


def test_a_hold_touches_its_own_trip_alone(database, vault, world, code):
    place(database, vault, world, trip=world.short_trip)
    run(database, vault, OVER)
    assert identities(database) == 0


def test_a_trip_is_held_once_and_a_refused_hold_leaves_no_key(database, vault, world, code):
    place(database, vault, world)
    with pytest.raises(Conflict):
        place(database, vault, world)
    with pytest.raises(NotFound):
        place(database, vault, world, trip=999999)
    with pytest.raises(InvalidInput):
        place(database, vault, world, until=NOW.date() - timedelta(days=1))
    assert len(vault.hold_ids()) == 1
    assert passenger(database, vault, code).name == PERSON["name"]


@pytest.mark.parametrize("named", ["", "nothing", "0123456789abcdef"])
def test_an_unknown_hold_is_not_released(database, vault, named):
    with pytest.raises(NotFound):
        service.release_hold(database, vault, named, now=NOW, actor="tests")


def test_the_reason_s_free_text_goes_with_the_hold(database, vault, world, code):
    hold = place(database, vault, world)
    service.release_hold(database, vault, hold, now=NOW, actor="tests")
    with database.reading() as session:
        assert session.get(LegalHold, hold).reason == ""


def test_a_process_that_dies_before_a_hold_s_key_goes_is_made_up_for(database, vault, world, code, monkeypatch):
    hold = place(database, vault, world)
    with monkeypatch.context() as patched:
        patched.setattr(Vault, "release_hold", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            service.release_hold(database, vault, hold, now=NOW, actor="tests")
    assert vault.hold_ids() == {hold}
    service.check_vault(database, vault)
    assert vault.hold_ids() == frozenset()
    assert passenger(database, vault, code).name == PERSON["name"]


def test_a_restored_database_gives_up_holds_whose_key_is_gone(database, vault, world, code):
    hold = place(database, vault, world)
    vault.release_hold(hold)  # the hold ended after the copy was taken
    assert run(database, vault, NOW).holds_ended == 1
    assert identities(database) == 0


def test_the_first_start_binds_the_vault_and_leaves_no_key_in_memory(database, vault):
    service.check_vault(database, vault)
    service.check_vault(database, vault)
    with database.reading() as session:
        mark = session.scalars(select(VaultMark)).one()
        assert (mark.vault_id, mark.owed_from) == (vault.vault_id, NOW.date())
    vault.forget()
    service.check_vault(database, vault)
    assert vault._cached is None


def test_another_vault_stops_the_start(database, vault, tmp_path):
    service.check_vault(database, vault)
    other = Vault.create([tmp_path / "other.vault"], NOW.date())
    with pytest.raises(VaultError, match="another system"):
        service.check_vault(database, other)
    assert count(database, VaultMark) == 1


def test_an_older_vault_file_is_advanced_before_serving(database, vault, vault_file, code, tmp_path):
    shutil.copyfile(vault_file, tmp_path / "old.vault")
    run(database, vault, OVER)
    shutil.copyfile(tmp_path / "old.vault", vault_file)
    restored = Vault([vault_file])
    service.check_vault(database, restored)
    assert restored.owed_from() == LAST_DAY + timedelta(days=1)


def test_a_database_older_than_its_vault_is_cleared_by_the_next_run(database, vault, code):
    service.check_vault(database, vault)
    vault.advance(LAST_DAY + timedelta(days=1), days_limit=400)  # the vault went on; this copy of the rows did not
    service.check_vault(database, vault)
    assert passenger(database, vault, code) is None
    assert run(database, vault, OVER).identities == 1


def test_lagging_copies_are_mended_at_the_start(database, vault, vault_file, tmp_path):
    pair = Vault([vault_file, tmp_path / "copies" / "embarque.vault"])
    (tmp_path / "copies").mkdir()
    service.check_vault(database, pair)
    assert (tmp_path / "copies" / "embarque.vault").read_bytes() == vault_file.read_bytes()


def test_the_worker_erases_sweeps_opens_and_forgets(app, code, database, vault):
    now = OVER - timedelta(days=1)
    run(database, vault, now)
    for moment in (now, OVER):
        run_due(app.extensions["database"], composition._jobs(app), now=moment)
    outcomes = {turn.name: turn.outcome for turn in turns(database)}
    assert {"retention", "sweep_holds", "open_trips", "forget_repeats"} <= set(outcomes)
    assert set(outcomes.values()) == {"ok"}
    assert identities(database) == 0


def test_the_worker_tells_a_step_too_long_and_goes_on_with_the_rest(app, code, database, vault):
    run_due(app.extensions["database"], composition._jobs(app), now=NOW + timedelta(days=366))
    outcomes = {turn.name: turn.outcome for turn in turns(database)}
    assert outcomes.pop("retention") == "step_too_long"
    assert set(outcomes.values()) == {"ok"}
    assert passenger(database, vault, code).name == PERSON["name"]


def test_the_commands_say_what_was_done(app, code, database, vault, world):
    def said(*arguments: str, code: int = 0) -> str:
        result = app.test_cli_runner().invoke(args=["retention", *arguments])
        assert result.exit_code == code, result.output
        return result.output

    assert "dias por apagar: 0" in said("status")
    told = said("hold", str(world.long_trip), "--reason", "Ofício 12/2026", "--until", "2028-01-01")
    hold, = vault.hold_ids()
    assert hold in told
    assert "Ofício 12/2026" in said("status")
    assert "não há viagem" in said("hold", "999999", "--reason", "Ofício 12", "--until", "2028-01-01", code=1).lower()
    assert "de volta ao seu prazo: 1" in said("release", hold)
    app.extensions["clock"] = lambda: OVER
    assert "nada foi apagado" in said("run", code=1)
    assert passenger(database, vault, code).name == PERSON["name"]
    assert "Identidades apagadas: 1" in said("run", "--days", "400")


def test_nothing_starts_on_another_system_s_vault(settings, database, vault, tmp_path, monkeypatch):
    service.check_vault(database, vault)
    Vault.create([tmp_path / "other.vault"], NOW.date())
    monkeypatch.setattr(composition, "read_settings", lambda: replace(settings, vault_files=(tmp_path / "other.vault",)))
    monkeypatch.setattr(composition, "start_logging", lambda level: None)
    with pytest.raises(SystemExit, match="another system"):
        composition.serve()
    monkeypatch.setattr(composition, "read_settings", lambda: settings)
    assert composition.serve().test_client().get("/health").status_code == 200
