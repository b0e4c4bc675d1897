"""The identity vault: rows are sealed for the last day they may be read, and that day's key can be destroyed.

A forward ratchet: `chain(d+1)`, `seal(d)` and `lookup(d)` are HKDF-SHA256 of `chain(d)` under three labels. The file
holds the first day still owed and its chain key; earlier keys cannot be derived from it. See docs/architecture.md.
"""

import base64
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
KEYS_IN_MEMORY_SECONDS = 60
FURTHEST_DAYS = 4 * 366
LONGEST_STEP_DAYS = 7


class Erased(Exception):
    """The day's key is destroyed: nobody can read this any more."""


class VaultError(Exception):
    """The vault file cannot be used; its text says why and what to do."""


class StepTooLong(Exception):
    """Advancing was asked to destroy more days at once than allowed; nothing was moved."""


@dataclass(frozen=True)
class _State:
    vault_id: str
    first_day: date
    chain: bytes
    holds: dict[str, bytes]
    chains: list[bytes] = field(default_factory=list, compare=False)  # chains[n] is the chain key of first_day + n
    growing: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def chain_of(self, day: date) -> bytes:
        ahead = (day - self.first_day).days
        if ahead < 0:
            raise Erased(day.isoformat())
        if ahead > FURTHEST_DAYS:
            raise ValueError("a keep-until day further than four years ahead")
        with self.growing:  # two threads that both append would put a day's key at the next day's place
            if not self.chains:
                self.chains.append(self.chain)
            while len(self.chains) <= ahead:
                self.chains.append(_derive(self.chains[-1], b"chain"))
            return self.chains[ahead]


class Vault:
    """One vault in one or more identical files; `paths[0]` is read, all are written."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._lock = threading.Lock()
        self._cached: tuple[tuple[int, int, int], _State] | None = None
        self._forget: threading.Timer | None = None

    @classmethod
    def create(cls, paths: Sequence[Path], first_day: date) -> "Vault":
        """A new vault file (and its copies). Refuses to write over one that exists."""
        vault = cls(paths)
        for path in paths:
            if path.exists():
                raise VaultError(f"{path} exists already: a vault file is never overwritten.")
            path.parent.mkdir(parents=True, exist_ok=True)
        vault._write(_State(secrets.token_hex(16), first_day, secrets.token_bytes(KEY_BYTES), {}))
        return vault

    @property
    def vault_id(self) -> str:
        return self._state().vault_id

    def owed_from(self) -> date:
        """The first day that can still be read."""
        return self._state().first_day

    def seal(self, day: date, plaintext: bytes, context: bytes) -> bytes:
        """Encrypt for reading until `day` (inclusive); `context` (such as the ticket code) must match at opening."""
        return _encrypt(_derive(self._state().chain_of(day), b"seal"), plaintext, context)

    def open(self, day: date, sealed: bytes, context: bytes) -> bytes:
        """The plaintext. Raises Erased when the day is past or the blob is not this day's and context's."""
        return _decrypt(_derive(self._state().chain_of(day), b"seal"), sealed, context)

    def tag(self, day: date, text: str) -> bytes:
        """The look-up tag of a text among rows kept until `day`. Raises Erased for a past day."""
        return hmac.digest(_derive(self._state().chain_of(day), b"lookup"), text.encode(), hashlib.sha256)

    def new_hold(self) -> str:
        """A legal hold with a random key of its own in the file; the id is to be stored with the held rows."""
        hold_id = secrets.token_hex(8)
        with self._exclusive():
            state = self._read()
            self._write(replace(state, holds={**state.holds, hold_id: secrets.token_bytes(KEY_BYTES)}))
        return hold_id

    def hold_ids(self) -> frozenset[str]:
        """The holds whose keys are in the file."""
        return frozenset(self._state().holds)

    def seal_held(self, hold_id: str, plaintext: bytes, context: bytes) -> bytes:
        """Encrypt under a legal hold's key. Raises Erased when the hold was released."""
        return _encrypt(_derive(self._hold(hold_id), b"seal"), plaintext, context)

    def open_held(self, hold_id: str, sealed: bytes, context: bytes) -> bytes:
        """The plaintext of a held row. Raises Erased when the hold was released."""
        return _decrypt(_derive(self._hold(hold_id), b"seal"), sealed, context)

    def tag_held(self, hold_id: str, text: str) -> bytes:
        """The look-up tag of a text among the rows of one hold."""
        return hmac.digest(_derive(self._hold(hold_id), b"lookup"), text.encode(), hashlib.sha256)

    def release_hold(self, hold_id: str) -> None:
        """Destroy a hold's key; its rows must have been re-sealed or cleared before."""
        with self._exclusive():
            state = self._read()
            if hold_id in state.holds:
                self._write(replace(state, holds={k: v for k, v in state.holds.items() if k != hold_id}))

    def advance(self, to: date, *, days_limit: int = LONGEST_STEP_DAYS) -> int:
        """Destroy the keys of every day before `to`, in every copy of the file; the number of days moved.

        Goes only forward. Raises StepTooLong, moving nothing, when the step is longer than `days_limit` days, so
        that a clock which jumps a year erases nothing.
        """
        with self._exclusive():
            state = self._read()
            days = (to - state.first_day).days
            if days > days_limit:
                raise StepTooLong(f"{days} days from {state.first_day} to {to}; the limit is {days_limit}")
            if days > 0:
                self._write(_State(state.vault_id, to, state.chain_of(to), state.holds))
            return max(days, 0)

    def mend_copies(self) -> None:
        """Write the furthest-advanced copy over copies that lag behind or are missing; clear half-written ones."""
        with self._exclusive():
            states = [_load(path) for path in self._paths if path.exists()]
            if not states:
                raise VaultError(f"The vault file {self._paths[0]} is missing: put back a copy. Without it every "
                                 "identity is lost; a new one is made only by `flask --app app vault create`.")
            if len({state.vault_id for state in states}) > 1:
                raise VaultError("The vault files have different ids: one of them belongs to another system.")
            newest = max(states, key=lambda state: state.first_day)
            if len(states) < len(self._paths) or any(state != newest for state in states):
                self._write(newest)
            for path in self._paths:  # left by a process that died while writing, and holding a key
                _draft(path).unlink(missing_ok=True)

    def forget(self) -> None:
        """Drop every key from memory."""
        with self._lock:
            self._cached = None

    def _hold(self, hold_id: str) -> bytes:
        key = self._state().holds.get(hold_id)
        if key is None:
            raise Erased(hold_id)
        return key

    def _state(self) -> _State:
        mark = _mark(self._paths[0])
        with self._lock:
            if self._cached is None or self._cached[0] != mark:
                self._cached = (mark, self._read())
                self._start_forgetting()
            return self._cached[1]

    def _start_forgetting(self) -> None:
        # an idle process must not keep a destroyed day's key: the cache lives a minute, used or not
        if self._forget is not None:
            self._forget.cancel()
        self._forget = threading.Timer(KEYS_IN_MEMORY_SECONDS, self.forget)
        self._forget.daemon = True
        self._forget.start()

    def _read(self) -> _State:
        return _load(self._paths[0])

    def _write(self, state: _State) -> None:
        body = json.dumps({
            "vault": state.vault_id, "first_day": state.first_day.isoformat(), "chain": _b64(state.chain),
            "holds": {hold: _b64(key) for hold, key in state.holds.items()}}).encode()
        faults = [fault for path in self._paths if (fault := _replace_file(path, body)) is not None]
        self.forget()
        if faults:  # every copy that can be reached has moved; the fault is told until the last one has
            told = ", ".join(f"{fault.filename}: {fault.strerror}" for fault in faults)
            raise VaultError(f"A copy of the vault cannot be written ({told}). Check VAULT_FILE and its folders.")

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        lock = self._paths[0].with_name(self._paths[0].name + ".lock")
        try:
            handle = os.fdopen(os.open(lock, os.O_WRONLY | os.O_CREAT, 0o600), "w")  # who reads it could hold it
        except OSError as error:
            raise VaultError(f"{lock} cannot be opened: {error.strerror}. Check VAULT_FILE and its folder.") from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _mark(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError as error:
        raise VaultError(f"The vault file {path} is missing: put back a copy.") from error
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _load(path: Path) -> _State:
    try:
        raw = json.loads(path.read_bytes())
        return _State(raw["vault"], date.fromisoformat(raw["first_day"]), _key(raw["chain"]),
                      {hold: _key(key) for hold, key in raw["holds"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VaultError(f"{path} is not a vault file: put back a copy.") from error


def _key(text: str) -> bytes:
    key = base64.b64decode(text, validate=True)
    if len(key) != KEY_BYTES:  # names sealed under half a key could be opened by anybody
        raise ValueError("a key has 32 bytes")
    return key


def _draft(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _replace_file(path: Path, body: bytes) -> OSError | None:
    try:
        descriptor = os.open(_draft(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            os.fchmod(descriptor, 0o600)  # one that was left there keeps the mode it had
            handle.write(body)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(_draft(path), path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        return error
    return None


def _derive(key: bytes, label: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"embarque vault " + label).derive(key)


def _encrypt(key: bytes, plaintext: bytes, context: bytes) -> bytes:
    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, context)


def _decrypt(key: bytes, sealed: bytes, context: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(sealed[:12], sealed[12:], context)
    except InvalidTag as error:
        raise Erased("not readable with this day's key") from error


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
