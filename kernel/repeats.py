"""Requests that may be repeated: a key, scoped by actor and route, lives in the transaction of what it did."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import LargeBinary, String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from kernel.db import Base, InsertNew, rows_changed
from kernel.errors import Conflict, InvalidInput

KEPT = timedelta(days=3)


class RepeatKey(Base):
    """What a key did: the code of the thing made, and a keyed hash of the body. Never the body or the answer."""

    __tablename__ = "repeat_key"

    actor: Mapped[str] = mapped_column(String(60), primary_key=True)
    route: Mapped[str] = mapped_column(String(60), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    body_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    subject: Mapped[str] = mapped_column(String(60))
    created_at: Mapped[datetime] = mapped_column(index=True)


_insert = InsertNew(RepeatKey)


def body_hash(body: Mapping[str, object], secret: str) -> bytes:
    """A keyed hash of what was asked: equal for equal bodies, useless for guessing a document number from."""
    text = json.dumps({str(k): str(v) for k, v in sorted(body.items())}, ensure_ascii=True)
    return hmac.digest(secret.encode(), b"repeat " + text.encode(), hashlib.sha256)


def claim(session: Session, *, route: str, key: str, body: bytes, subject: str, now: datetime, actor: str) -> str:
    """`subject` when the key is new, else the subject that the first request made.

    On PostgreSQL a second request waits here until the first has ended; a worker that dies leaves no row. Raises
    Conflict `key_reused` when the same key comes with another body, InvalidInput for a malformed key.
    """
    if not 8 <= len(key) <= 64 or not key.isascii() or not key.replace("-", "").isalnum():
        raise InvalidInput("bad_repeat_key", "A chave de repetição tem de 8 a 64 letras, números ou hifens.")
    if _insert(session, {"actor": actor, "route": route, "key": key, "body_hash": body, "subject": subject,
                         "created_at": now}):
        return subject
    earlier = session.execute(select(RepeatKey.subject, RepeatKey.body_hash).where(
        RepeatKey.actor == actor, RepeatKey.route == route, RepeatKey.key == key)).one()
    if not hmac.compare_digest(earlier.body_hash, body):
        raise Conflict("key_reused", "Este pedido já foi enviado com outros dados. Abra a página de novo e repita.")
    return str(earlier.subject)


def forget_old(session: Session, *, now: datetime) -> int:
    """Delete keys nobody will repeat any more; the number deleted."""
    return rows_changed(session.execute(delete(RepeatKey).where(RepeatKey.created_at < now - KEPT)))
