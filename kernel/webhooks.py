"""Telling partners what happened: an address of theirs, letters in the outbox, each sent signed and at least once."""

import base64
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import JSON, ForeignKey, LargeBinary, String, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from kernel import audit, outbox
from kernel.db import Base, Database, rows_changed
from kernel.errors import InvalidInput, NotFound
from kernel.partners import ACTOR_PREFIX, Partner, find_partner

logging.getLogger("httpx").setLevel(logging.WARNING)  # below it logs the address of every request
TOPIC = "webhook"
EVENTS = ("ticket.sold", "ticket.refunded", "trip.changed")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_ATTEMPTS = 60  # about two days and a half
TIMEOUT = httpx.Timeout(10, connect=5)


class Webhook(Base):
    """An address that a partner gave. The secret is derived from the installation's own and `salt`, and not stored."""

    __tablename__ = "webhook"

    id: Mapped[int] = mapped_column(primary_key=True)
    partner_id: Mapped[int] = mapped_column(ForeignKey("partner.id"), index=True)
    url: Mapped[str] = mapped_column(String(300))
    events: Mapped[Any] = mapped_column(JSON)
    salt: Mapped[bytes] = mapped_column(LargeBinary(16))
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A new subscription: its number, and the secret that its letters are signed with, told this once."""

    id: int
    secret: str


def subscribe(session: Session, code: str, url: str, events: Collection[str], *, secret_key: str, now: datetime,
              actor: str) -> Subscribed:
    """Send a partner's events to an https address (plain http only on this machine itself).

    Raises NotFound for the partner, InvalidInput for the address or an unknown event.
    """
    partner = find_partner(session, code)
    if not _good_address(url):
        raise InvalidInput("bad_address", "Dê um endereço https, sem usuário nem senha, de até 300 letras.")
    if not events or not set(events) <= set(EVENTS):
        raise InvalidInput("unknown_event", f"Diga o que avisar: {', '.join(EVENTS)}.")
    row = Webhook(partner_id=partner.id, url=url, events=sorted(set(events)), salt=secrets.token_bytes(16),
                  created_at=now, ended_at=None)
    session.add(row)
    session.flush()
    audit.record(session, "webhook_added", subject=partner.code, now=now, actor=actor, details={
        "webhook": row.id, "events": " ".join(row.events)})
    return Subscribed(row.id, derive_secret(secret_key, row.salt))


def unsubscribe(session: Session, webhook_id: int, *, now: datetime, actor: str) -> None:
    """Send nothing more there, letters under way included. Raises NotFound."""
    ended = session.execute(update(Webhook).where(Webhook.id == webhook_id, Webhook.ended_at.is_(None))
                            .values(ended_at=now))
    if rows_changed(ended) != 1:
        raise NotFound("no_such_webhook", "Não há aviso em vigor com esse número. Veja a lista.")
    audit.record(session, "webhook_ended", subject=str(webhook_id), now=now, actor=actor)


def subscriptions(session: Session) -> list[tuple[Partner, Webhook]]:
    """Every subscription in force."""
    rows = session.execute(select(Partner, Webhook).join(Webhook, Webhook.partner_id == Partner.id).where(
        Webhook.ended_at.is_(None)).order_by(Partner.code, Webhook.id))
    return [(row.Partner, row.Webhook) for row in rows]


def announce(session: Session, event: str, payloads: Sequence[outbox.Payload], *, to: str | None = None,
             now: datetime) -> None:
    """Write a letter for each payload and subscription, in the caller's transaction. Codes and counts, never names.

    `to` is the actor whom alone it concerns; nothing is asked of the database when that is no partner. None tells all.
    """
    if to is not None and not to.startswith(ACTOR_PREFIX):
        return
    wanted = select(Webhook.id, Webhook.events).where(Webhook.ended_at.is_(None))
    if to is not None:
        wanted = wanted.join(Partner, Partner.id == Webhook.partner_id).where(
            Partner.code == to.removeprefix(ACTOR_PREFIX))
    for webhook_id, events in session.execute(wanted).all():
        for payload in payloads if event in events else ():
            outbox.put(session, TOPIC, subject=str(webhook_id), due_at=now,
                       payload={"event": event, "at": now.isoformat(), **payload})


def deliver(database: Database, secret_key: str, *, now: datetime) -> dict[str, int]:
    """Send the letters whose turn has come; see `outbox.deliver`. Each comes with its own number, so that a receiver
    knows one that it has had."""
    with httpx.Client(timeout=TIMEOUT, follow_redirects=False) as http:
        return outbox.deliver(database, TOPIC, lambda letter: _send(database, http, secret_key, letter, now), now=now)


def _send(database: Database, http: httpx.Client, secret_key: str, letter: outbox.Letter, now: datetime) -> None:
    with database.reading() as session:
        row = session.get(Webhook, int(letter.subject))
        target = (row.url, derive_secret(secret_key, row.salt)) if row and row.ended_at is None else None
    if target is None:
        raise outbox.Undeliverable("ended")
    if letter.attempt > MOST_ATTEMPTS:
        raise outbox.Undeliverable("given_up")
    url, secret = target
    body = json.dumps({"id": letter.id, **letter.payload}, ensure_ascii=True, sort_keys=True).encode()
    stamp = str(int(now.timestamp()))
    answer = http.post(url, content=body, headers={
        "Content-Type": "application/json", "User-Agent": "Embarque", "Webhook-Id": str(letter.id),
        "Webhook-Timestamp": stamp, "Webhook-Signature": sign(secret, stamp, body)})
    if not answer.is_success:
        raise _Refused(f"status_{answer.status_code}")


class _Refused(Exception):
    """The receiver answered, but not with success: the letter is sent again."""


def sign(secret: str, stamp: str, body: bytes) -> str:
    """`v1=` and the HMAC-SHA256 of the stamp, a full stop and the body, in hexadecimal."""
    return "v1=" + hmac.digest(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hex()


def derive_secret(secret_key: str, salt: bytes) -> str:
    """The text that a subscription's letters are signed with; whoever has the database alone cannot make it."""
    key = HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"embarque webhook").derive(secret_key.encode())
    return "whs_" + base64.urlsafe_b64encode(key).rstrip(b"=").decode()


def _good_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        local = parts.scheme == "http" and parts.hostname in LOOPBACK
        return (bool(parts.hostname) and (parts.scheme == "https" or local) and parts.username is None
                and parts.port != 0 and len(url) <= 300 and url.isascii() and url.isprintable() and " " not in url)
    except ValueError:
        return False
