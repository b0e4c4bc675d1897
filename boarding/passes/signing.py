"""The pass token: 36 bytes of facts, an Ed25519 signature, and the ring of keys that makes and checks them.

No name stands in it. `BP1:` and base45 keep a QR code in its alphanumeric mode, so every pass is a version 6
code at correction level M and a version 8 code at Q.
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import base45  # type: ignore[import-untyped]
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from boarding.passes.policy import NO_DIGITS, instant_of

PREFIX = "BP1:"
TOKEN_CHARS = 154
VERSION = 1
BODY_BYTES = 36
SIGNED_CONTEXT = b"BP1\0"
CARRIER_KIDS = range(16)  # 16 to 31 belong to phones that sell on board, named in the trip's manifest

_HEAD = struct.Struct(">B16sIBBBB")
_TAIL = struct.Struct(">BBH")
_WHITESPACE = " \t\r\n"  # a pass never ends in a blank (its last character is a base45 digit up to W), so this is safe
_LONGEST_URL = 2048


@dataclass(frozen=True, slots=True)
class PassBody:
    """What a pass says, field by field as it is packed. Raises ValueError when a number does not fit its field.

    Times are whole minutes since 2025-01-01 00:00 UTC; `policy.minutes_of` makes them.
    """

    kid: int
    pass_id: bytes = field(repr=False)  # 16 random bytes: also the key that opens this passenger on the phone's list
    trip_id: int
    revision: int
    seat: int  # 1-200 seat, 201-255 standing place, 0 none
    board: int  # index of the call
    alight: int
    valid_from: int  # minutes
    window: int  # units of 15 minutes
    issued: int  # minutes
    flags: int
    document: int
    discount: int
    last_digits: int = NO_DIGITS

    def __post_init__(self) -> None:
        if len(self.pass_id) != 16:
            raise ValueError("a pass id has 16 bytes")
        limits = {"kid": 5, "trip_id": 32, "revision": 8, "seat": 8, "board": 8, "alight": 8, "valid_from": 24,
                  "window": 8, "issued": 24, "flags": 8, "document": 4, "discount": 4, "last_digits": 16}
        for name, bits in limits.items():
            if not 0 <= getattr(self, name) < 1 << bits:
                raise ValueError(f"{name} does not fit {bits} bits")

    @property
    def opens_at(self) -> datetime:
        """The first instant of the window, aware, UTC."""
        return instant_of(self.valid_from)

    @property
    def closes_at(self) -> datetime:
        """The end of the window, aware, UTC."""
        return self.opens_at + timedelta(minutes=15 * self.window)

    @property
    def issued_at(self) -> datetime:
        """When it was signed, to the minute: it tells a sale after the phone's list from a pass that was struck off."""
        return instant_of(self.issued)

    @property
    def last_four(self) -> str | None:
        """The last four digits of the document as text, or None when the ticket names no document."""
        return None if self.last_digits == NO_DIGITS else f"{self.last_digits:04d}"


def pack(body: PassBody) -> bytes:
    """The 36 bytes, big endian."""
    head = _HEAD.pack(VERSION << 5 | body.kid, body.pass_id, body.trip_id, body.revision, body.seat, body.board,
                      body.alight)
    times = body.valid_from.to_bytes(3, "big") + bytes([body.window]) + body.issued.to_bytes(3, "big")
    return head + times + _TAIL.pack(body.flags, body.document << 4 | body.discount, body.last_digits)


def unpack(raw: bytes) -> PassBody:
    """The inverse of `pack`, for every 36 bytes of this version. Raises ValueError for anything else."""
    if len(raw) != BODY_BYTES or raw[0] >> 5 != VERSION:
        raise ValueError("not a pass of this version")
    head, pass_id, trip_id, revision, seat, board, alight = _HEAD.unpack_from(raw)
    flags, kinds, last_digits = _TAIL.unpack_from(raw, 32)
    return PassBody(head & 31, pass_id, trip_id, revision, seat, board, alight, int.from_bytes(raw[25:28], "big"),
                    raw[28], int.from_bytes(raw[29:32], "big"), flags, kinds >> 4, kinds & 15, last_digits)


def encode(body: PassBody, private_key: Ed25519PrivateKey) -> str:
    """The signed text of a pass: always 154 characters."""
    raw = pack(body)
    coded: bytes = base45.b45encode(raw + private_key.sign(SIGNED_CONTEXT + raw))
    return PREFIX + coded.decode("ascii")


def decode(text: str) -> tuple[PassBody, bytes]:
    """Body and 64-byte signature, NOT verified; blanks around the text are dropped. Raises ValueError if no pass."""
    text = text.strip(_WHITESPACE)
    if len(text) != TOKEN_CHARS or not text.isascii() or not text.startswith(PREFIX):
        raise ValueError("not a pass")
    raw = base45.b45decode(text[len(PREFIX):])  # refuses lower case, foreign characters and triples over 65535
    return unpack(raw[:BODY_BYTES]), raw[BODY_BYTES:]


class Outcome(StrEnum):
    """What a scanned text turned out to be."""

    OK = "ok"
    FISCAL_QR = "fiscal_qr"
    NOT_A_PASS = "not_a_pass"  # noqa: S105 - no password
    UNKNOWN_KEY = "unknown_key"
    BAD_SIGNATURE = "bad_signature"


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer to a scanned text. Only OK carries a body: what an unproved pass claims is nobody's to use."""

    outcome: Outcome
    body: PassBody | None = None


def verify(text: str, keys: Mapping[int, Ed25519PublicKey]) -> Reading:
    """What the text is, for any text at all; never raises. `keys` are those this trip trusts, by key id."""
    if _is_fiscal(text):
        return Reading(Outcome.FISCAL_QR)
    try:
        body, signature = decode(text)
    except ValueError:
        return Reading(Outcome.NOT_A_PASS)
    key = keys.get(body.kid)
    if key is None:
        return Reading(Outcome.UNKNOWN_KEY)
    try:
        key.verify(signature, SIGNED_CONTEXT + pack(body))
    except InvalidSignature:
        return Reading(Outcome.BAD_SIGNATURE)
    return Reading(Outcome.OK, body)


def _is_fiscal(text: str) -> bool:
    """Whether it is the tax authority's consultation address, printed on the same paper."""
    head = text.lstrip(_WHITESPACE)[:_LONGEST_URL].lower()
    return head.startswith(("https://", "http://")) and "chbpe=" in head


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The carrier's signing keys by key id. Retired ones stay until the last pass they signed has travelled."""

    signing_kid: int
    private_keys: Mapping[int, Ed25519PrivateKey] = field(repr=False)

    @classmethod
    def parse(cls, text: str, signing_kid: int | None = None) -> "KeyRing":
        """Read `1:BASE64SEED,2:BASE64SEED` (seeds of 32 bytes, ids 0 to 15); the last one signs unless told.

        Raises ValueError with a sentence that never repeats a seed.
        """
        keys: dict[int, Ed25519PrivateKey] = {}
        for place, item in enumerate(text.split(","), start=1):
            kid, key = _read_key(item, place)
            if kid in keys:
                raise ValueError(f"Pass key {kid} is given twice: keep one.")
            keys[kid] = key
        chosen = list(keys)[-1] if signing_kid is None else signing_kid
        if chosen not in keys:
            raise ValueError(f"Pass key {chosen} should sign, but it is not among the pass keys.")
        return cls(chosen, keys)

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """The key new passes are signed with."""
        return self.private_keys[self.signing_kid]

    @property
    def public_keys(self) -> dict[int, Ed25519PublicKey]:
        """What `verify` takes."""
        return {kid: key.public_key() for kid, key in self.private_keys.items()}

    def published(self) -> dict[int, str]:
        """The raw public keys in base64, as a trip's manifest carries them."""
        return {kid: base64.b64encode(key.public_bytes_raw()).decode("ascii")
                for kid, key in self.public_keys.items()}


def _read_key(item: str, place: int) -> tuple[int, Ed25519PrivateKey]:
    kid_text, separator, seed_text = item.strip().partition(":")
    if not separator or not (kid_text.isascii() and kid_text.isdigit()):
        raise ValueError(f"Pass key number {place} is not of the form ID:BASE64SEED.")
    if len(kid_text) > 2 or int(kid_text) not in CARRIER_KIDS:
        raise ValueError(f"Pass key number {place} has an id outside 0 to 15, which are the carrier's.")
    try:
        seed = base64.b64decode(seed_text, validate=True)
    except (binascii.Error, ValueError):
        seed = b""
    if len(seed) != 32:
        raise ValueError(f"Pass key {int(kid_text)} needs a seed of exactly 32 bytes in base64.")
    return int(kid_text), Ed25519PrivateKey.from_private_bytes(seed)
