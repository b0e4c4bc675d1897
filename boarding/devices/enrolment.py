"""Letting a phone in by a code that serves once, finding it by its token, and locking it out."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from boarding.devices.models import Device, EnrolmentCode
from kernel import audit
from kernel.db import InsertNew, rows_changed
from kernel.errors import Conflict, InvalidInput, NotFound
from kernel.partners import Caller, digest
from ticketing.sales.service import LETTERS, read_code

ACTOR_PREFIX = "device:"
TOKEN_START = "dev_"  # noqa: S105 - how every token of a phone begins
CODE_LETTERS = 10
CODE_LASTS = timedelta(minutes=15)
SCOPES = frozenset({"scans", "manifest"})
_insert = InsertNew(Device, "public_key")


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A phone that was let in. The token is told this once."""

    device: str
    token: str


def make_code(session: Session, *, now: datetime, actor: str) -> str:
    """A fresh code for one phone: 50 random bits that last 15 minutes."""
    code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
    session.add(EnrolmentCode(code_hash=digest(code), made_by=actor, made_at=now, expires_at=now + CODE_LASTS,
                              used_at=None))
    audit.record(session, "enrolment_code_made", subject="device", now=now, actor=actor)
    return code


def enrol(session: Session, code: str, *, public_key: bytes, name: str, now: datetime) -> Enrolled:
    """Let a phone in with its Ed25519 public key of 32 bytes. The code is used up: its row count decides.

    Raises NotFound for a code that is unknown, used or over, InvalidInput for a key, Conflict for one known already.
    """
    if len(public_key) != 32 or not any(public_key):
        raise InvalidInput("bad_public_key", "A chave do aparelho não se lê. Comece de novo.",
                           fields={"public_key": "32 bytes em base64."})
    hashed = digest(read_code(code))
    used = session.execute(update(EnrolmentCode).where(
        EnrolmentCode.code_hash == hashed, EnrolmentCode.used_at.is_(None), EnrolmentCode.expires_at > now)
        .values(used_at=now))
    if rows_changed(used) != 1:
        raise NotFound("no_such_code", "Este código não vale mais. Peça outro ao escritório.")
    made_by = session.scalars(select(EnrolmentCode.made_by).where(EnrolmentCode.code_hash == hashed)).one()
    enrolled = Enrolled(secrets.token_hex(8), TOKEN_START + secrets.token_urlsafe(32))
    if not _insert(session, {"id": enrolled.device, "name": name, "public_key": public_key,
                             "token_hash": digest(enrolled.token), "enrolled_at": now, "enrolled_by": made_by,
                             "revoked_at": None}):
        raise Conflict("device_known", "Este aparelho já foi cadastrado com esta chave. Faça uma chave nova.")
    audit.record(session, "device_enrolled", subject=enrolled.device, now=now, actor=made_by)
    return enrolled


def revoke(session: Session, device_id: str, *, now: datetime, actor: str) -> None:
    """Lock a phone out: its token opens nothing and what it signs is put in quarantine. Raises NotFound."""
    ended = session.execute(update(Device).where(Device.id == device_id, Device.revoked_at.is_(None))
                            .values(revoked_at=now))
    if rows_changed(ended) != 1:
        raise NotFound("no_such_device", "Este aparelho não existe ou já foi bloqueado.")
    audit.record(session, "device_revoked", subject=device_id, now=now, actor=actor)


def find_device(session: Session, token: str, now: datetime) -> Caller | None:
    """The phone behind a token that was not locked out. One statement, none for a token of another kind."""
    if not token.startswith(TOKEN_START):
        return None
    found = session.scalar(select(Device.id).where(Device.token_hash == digest(token), Device.revoked_at.is_(None)))
    return Caller(ACTOR_PREFIX + found, SCOPES) if found else None


def devices(session: Session) -> list[Device]:
    """Every phone, those that are in first."""
    return list(session.scalars(select(Device).order_by(Device.revoked_at.is_not(None), Device.enrolled_at.desc())))
