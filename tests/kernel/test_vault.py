"""The identity vault: forward only, every copy in step, nothing that opens a day once it has passed."""

import base64
import json
import multiprocessing
import shutil
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from kernel import vault as vault_module
from kernel.vault import FURTHEST_DAYS, KEYS_IN_MEMORY_SECONDS, Erased, StepTooLong, Vault, VaultError

FIRST = date(2026, 3, 2)
SECRET = b'{"name": "Passageira de Teste"}'


def days(n: int) -> date:
    return FIRST + timedelta(days=n)


@pytest.fixture
def paths(tmp_path):
    return [tmp_path / "one" / "embarque.vault", tmp_path / "two" / "embarque.vault"]


@pytest.fixture
def vault(paths) -> Vault:
    return Vault.create(paths, FIRST)


def advance_daily(vault: Vault, to: date) -> None:
    while vault.owed_from() < to:
        vault.advance(min(vault.owed_from() + timedelta(days=7), to))


def derive(key: bytes, label: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"embarque vault " + label).derive(key)


def opened_by_any_window(raw: bytes, sealed: bytes, context: bytes, ahead: int) -> bool:
    """Whether any 32 bytes of `raw`, as a sealing key or as a chain key up to `ahead` days back, open the blob."""
    for start in range(len(raw) - 31):
        chain = raw[start:start + 32]
        keys = [chain, derive(chain, b"seal")]
        for _ in range(ahead):
            chain = derive(chain, b"chain")
            keys.append(derive(chain, b"seal"))
        for key in keys:
            try:
                AESGCM(key).decrypt(sealed[:12], sealed[12:], context)
            except InvalidTag:
                continue
            return True
    return False


def key_material(raw: bytes) -> list[bytes]:
    """The file's bytes, and the bytes of every base64 text in it."""
    told = json.loads(raw)
    return [raw, base64.b64decode(told["chain"]), *map(base64.b64decode, told["holds"].values())]


@pytest.mark.parametrize("n", [0, 1, 365, FURTHEST_DAYS])
def test_what_is_sealed_for_a_day_opens_for_that_day_alone(vault, n):
    sealed = vault.seal(days(n), SECRET, b"7KQ3WZ8M")
    assert vault.open(days(n), sealed, b"7KQ3WZ8M") == SECRET
    for other_day, other_context in ((days(n + 1 if n < FURTHEST_DAYS else n - 1), b"7KQ3WZ8M"), (days(n), b"7KQ3WZ8N")):
        with pytest.raises(Erased):
            vault.open(other_day, sealed, other_context)


def test_the_same_text_sealed_twice_never_looks_the_same(vault):
    assert vault.seal(FIRST, SECRET, b"A") != vault.seal(FIRST, SECRET, b"A")


def test_a_day_more_than_four_years_ahead_is_refused(vault):
    with pytest.raises(ValueError, match="four years"):
        vault.seal(days(FURTHEST_DAYS + 1), SECRET, b"A")


def test_a_tag_is_stable_within_a_day_and_says_nothing_across_days(vault, paths):
    tag = vault.tag(FIRST, "RG|SSPSC|4321098")
    assert tag == Vault(paths).tag(FIRST, "RG|SSPSC|4321098")
    assert len({tag, vault.tag(days(1), "RG|SSPSC|4321098"), vault.tag(FIRST, "RG|SSPSC|4321099")}) == 3


def test_day_365_is_readable_to_its_end_and_day_366_is_not(vault):
    last_day = days(365)
    sealed = vault.seal(last_day, SECRET, b"A")
    advance_daily(vault, last_day)
    assert vault.open(last_day, sealed, b"A") == SECRET
    assert vault.advance(last_day + timedelta(days=1)) == 1
    for look in (lambda: vault.open(last_day, sealed, b"A"), lambda: vault.tag(last_day, "RG"), lambda: vault.seal(last_day, SECRET, b"A")):
        with pytest.raises(Erased):
            look()


def test_no_key_in_the_file_opens_a_past_day_by_any_window_of_its_bytes(vault, paths):
    sealed = {n: vault.seal(days(n), SECRET, b"A") for n in (0, 1, 2)}
    before = paths[0].read_bytes()
    assert any(opened_by_any_window(raw, sealed[2], b"A", 2) for raw in key_material(before)), "the search finds nothing"
    vault.advance(days(2))
    for path in paths:
        material = key_material(path.read_bytes())
        assert not any(opened_by_any_window(raw, sealed[n], b"A", 2) for raw in material for n in (0, 1))
        assert any(opened_by_any_window(raw, sealed[2], b"A", 0) for raw in material)


def test_a_leaked_day_key_opens_no_other_day(vault, paths):
    chain = base64.b64decode(json.loads(paths[0].read_bytes())["chain"])
    day_key = derive(chain, b"seal")
    sealed = {n: vault.seal(days(n), SECRET, b"A") for n in (0, 1, 2)}
    assert AESGCM(day_key).decrypt(sealed[0][:12], sealed[0][12:], b"A") == SECRET
    assert not any(opened_by_any_window(day_key, sealed[n], b"A", 3) for n in (1, 2))


def test_advancing_keeps_every_later_day_as_it_was(vault, paths):
    later = {n: (vault.seal(days(n), SECRET, b"A"), vault.tag(days(n), "CIN||1")) for n in (7, 8, 40, 365)}
    vault.advance(days(7))
    for reader in (vault, Vault(paths), Vault(paths[1:])):
        for n, (sealed, tag) in later.items():
            assert reader.open(days(n), sealed, b"A") == SECRET
            assert reader.tag(days(n), "CIN||1") == tag


@pytest.mark.parametrize(("step", "limit", "moved"), [(0, 7, 0), (1, 7, 1), (7, 7, 7), (8, 8, 8), (365, 400, 365)])
def test_a_step_within_its_limit_moves(vault, step, limit, moved):
    assert vault.advance(days(step), days_limit=limit) == moved
    assert vault.owed_from() == days(step)


@pytest.mark.parametrize(("step", "limit"), [(8, 7), (365, 7), (366, 365), (1, 0)])
def test_a_longer_step_moves_nothing(vault, paths, step, limit):
    before = [path.read_bytes() for path in paths]
    with pytest.raises(StepTooLong):
        vault.advance(days(step), days_limit=limit)
    assert [path.read_bytes() for path in paths] == before


def test_the_ratchet_never_goes_back(vault, paths):
    vault.advance(days(5))
    before = paths[0].read_bytes()
    assert vault.advance(days(3)) == 0
    assert vault.advance(FIRST - timedelta(days=400)) == 0
    assert paths[0].read_bytes() == before


def test_copies_are_identical_and_for_their_owner_alone(vault, paths):
    vault.new_hold()
    vault.advance(days(3))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert {path.name for path in paths[0].parent.iterdir()} == {"embarque.vault", "embarque.vault.lock"}


def test_a_draft_left_open_to_all_does_not_open_the_vault(vault, paths):
    draft = paths[0].with_name(paths[0].name + ".new")
    draft.touch()
    draft.chmod(0o666)
    vault.advance(days(1))
    lock = paths[0].with_name(paths[0].name + ".lock")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (paths[0], lock)] == [0o600, 0o600]


def test_a_vault_file_is_never_written_over(vault, paths):
    with pytest.raises(VaultError, match="never overwritten"):
        Vault.create(paths, FIRST)


def test_a_process_that_dies_between_two_copies_is_mended(vault, paths, monkeypatch):
    class Killed(BaseException):
        """The process ends here."""

    replace = vault_module._replace_file

    def killed_at_the_second(path, body):
        if path == paths[1]:
            raise Killed
        return replace(path, body)

    monkeypatch.setattr(vault_module, "_replace_file", killed_at_the_second)
    sealed = vault.seal(FIRST, SECRET, b"A")
    with pytest.raises(Killed):
        vault.advance(days(2))
    monkeypatch.undo()
    assert Vault(paths[1:]).open(FIRST, sealed, b"A") == SECRET  # the lagging copy still holds the day
    Vault(paths).mend_copies()
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(Erased):
        Vault(paths[1:]).open(FIRST, sealed, b"A")


@pytest.mark.parametrize("lagging", [0, 1])
def test_the_furthest_copy_wins_wherever_it_stands(vault, paths, lagging):
    old = paths[lagging].read_bytes()
    vault.advance(days(4))
    paths[lagging].write_bytes(old)
    restarted = Vault(paths)
    restarted.mend_copies()
    assert restarted.owed_from() == days(4)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_lost_copy_is_made_again(vault, paths):
    paths[0].unlink()
    vault.mend_copies()
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_half_written_file_with_its_key_is_cleared_at_the_start(vault, paths):
    draft = paths[1].with_name(paths[1].name + ".new")
    shutil.copyfile(paths[1], draft)
    vault.mend_copies()
    assert not draft.exists()


def test_a_copy_that_cannot_be_reached_is_told_and_the_others_move(vault, paths):
    shutil.rmtree(paths[1].parent)
    with pytest.raises(VaultError, match="cannot be written"):
        vault.advance(days(1))
    assert vault.owed_from() == days(1)
    with pytest.raises(VaultError, match="cannot be written"):  # and is told again until it is back
        vault.mend_copies()
    paths[1].parent.mkdir()
    vault.mend_copies()
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_two_vaults_are_never_mixed(vault, paths, tmp_path):
    Vault.create([tmp_path / "other.vault"], FIRST)
    shutil.copyfile(tmp_path / "other.vault", paths[1])
    with pytest.raises(VaultError, match="different ids"):
        vault.mend_copies()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"vault": "x"}', b'{"vault":"x","first_day":"soon","chain":"","holds":{}}'])
def test_a_file_that_is_no_vault_stops_with_a_sentence(vault, paths, content):
    paths[0].write_bytes(content)
    with pytest.raises(VaultError, match="is not a vault file"):
        vault.owed_from()


@pytest.mark.parametrize("key", ["", "AAAA", "A" * 40 + "=", "A" * 43 + "=A", "not base64!", "A" * 48])
@pytest.mark.parametrize("where", ["chain", "hold"])
def test_a_vault_with_a_damaged_key_seals_nothing(vault, paths, key, where):
    vault.new_hold()
    content = json.loads(paths[0].read_text())
    damaged = {"chain": key} if where == "chain" else {"holds": dict.fromkeys(content["holds"], key)}
    paths[0].write_text(json.dumps({**content, **damaged}))
    with pytest.raises(VaultError, match="is not a vault file"):
        vault.seal(days(1), b"text", b"")


def test_a_missing_file_or_folder_stops_with_a_sentence(tmp_path):
    for path in (tmp_path / "none.vault", tmp_path / "nowhere" / "none.vault"):
        with pytest.raises(VaultError, match="missing|cannot be opened"):
            Vault([path]).mend_copies()
        with pytest.raises(VaultError, match="missing"):
            Vault([path]).owed_from()


class Timers:
    """Stands for time passing: `pass_seconds` fires what is due."""

    def __init__(self) -> None:
        self.running: list = []

    def Timer(self, seconds, action):  # noqa: N802  threading's own name
        timers = self

        class _Timer:
            daemon = False

            def start(self) -> None:
                timers.running.append((seconds, action, self))

            def cancel(self) -> None:
                timers.running = [entry for entry in timers.running if entry[2] is not self]

        return _Timer()

    def pass_seconds(self, passed: float) -> None:
        due, self.running = [e for e in self.running if e[0] <= passed], [e for e in self.running if e[0] > passed]
        for _, action, _ in due:
            action()


def test_an_idle_process_keeps_no_key_longer_than_a_minute(paths, monkeypatch):
    timers = Timers()
    monkeypatch.setattr(vault_module.threading, "Timer", timers.Timer)
    vault = Vault.create(paths, FIRST)
    idle = Vault(paths)
    idle.seal(FIRST, SECRET, b"A")
    vault.advance(days(1))
    assert idle._cached is not None and idle._cached[1].first_day == FIRST
    timers.pass_seconds(KEYS_IN_MEMORY_SECONDS - 1)
    assert idle._cached is not None
    timers.pass_seconds(KEYS_IN_MEMORY_SECONDS)
    assert idle._cached is None
    assert KEYS_IN_MEMORY_SECONDS <= 60


def test_a_busy_process_sees_the_new_file_at_once(vault, paths):
    busy = Vault(paths)
    sealed = busy.seal(FIRST, SECRET, b"A")
    vault.advance(days(1))
    with pytest.raises(Erased):
        busy.open(FIRST, sealed, b"A")
    assert busy._cached is not None and busy._cached[1].first_day == days(1)


def test_threads_that_derive_the_same_days_agree(paths, vault, monkeypatch):
    expected = [vault.tag(days(n), "RG") for n in range(40)]
    slow = threading.Barrier(8)
    derive_key = vault_module._derive

    def in_each_other_s_way(key: bytes, label: bytes) -> bytes:
        derived = derive_key(key, label)
        threading.Event().wait(0.0005)
        return derived

    monkeypatch.setattr(vault_module, "_derive", in_each_other_s_way)
    shared = Vault(paths)

    def ask(_n: int) -> list[bytes]:
        slow.wait()
        return [shared.tag(days(n), "RG") for n in range(40)]

    with ThreadPoolExecutor(8) as pool:
        assert all(told == expected for told in pool.map(ask, range(8)))


def _advance_in_a_process(paths, start, moved) -> None:
    start.wait()
    vault = Vault(paths)
    moved.put(sum(vault.advance(days(n)) for n in range(1, 31)))


def test_two_processes_that_advance_move_each_day_once(vault, paths):
    sealed = vault.seal(days(30), SECRET, b"A")
    context = multiprocessing.get_context("fork")
    start, moved = context.Event(), context.Queue()
    processes = [context.Process(target=_advance_in_a_process, args=(paths, start, moved)) for _ in range(2)]
    for process in processes:
        process.start()
    start.set()
    total = sum(moved.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(60)
    assert total == 30
    assert Vault(paths).open(days(30), sealed, b"A") == SECRET
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_held_row_outlives_its_day_until_the_hold_is_released(vault, paths):
    hold = vault.new_hold()
    sealed, tag = vault.seal_held(hold, SECRET, b"A"), vault.tag_held(hold, "RG|SSPSC|1")
    advance_daily(vault, days(400))
    assert vault.open_held(hold, sealed, b"A") == SECRET
    assert Vault(paths).tag_held(hold, "RG|SSPSC|1") == tag
    assert vault.hold_ids() == {hold}
    vault.release_hold(hold)
    assert vault.hold_ids() == frozenset()
    for look in (lambda: vault.open_held(hold, sealed, b"A"), lambda: vault.tag_held(hold, "RG"), lambda: vault.seal_held(hold, b"", b"A")):
        with pytest.raises(Erased):
            look()
    for path in paths:
        assert not any(opened_by_any_window(raw, sealed, b"A", 0) for raw in key_material(path.read_bytes()))


def test_holds_do_not_open_each_other(vault):
    one, other = vault.new_hold(), vault.new_hold()
    sealed = vault.seal_held(one, SECRET, b"A")
    with pytest.raises(Erased):
        vault.open_held(other, sealed, b"A")
    vault.release_hold(other)
    assert vault.open_held(one, sealed, b"A") == SECRET


def test_releasing_an_unknown_hold_changes_nothing(vault, paths):
    before = paths[0].read_bytes()
    vault.release_hold("no such hold")
    assert paths[0].read_bytes() == before
