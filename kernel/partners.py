"""Partners who use the JSON interface, and their tokens: a token is a row with what it may do and until when."""

import hashlib
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, ForeignKey, LargeBinary, String, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from kernel import audit
from kernel.db import Base, rows_changed
from kernel.errors import Conflict, InvalidInput, NotFound

SCOPES = ("search", "hold", "sell", "refund", "passes", "scans", "manifest")
ACTOR_PREFIX = "partner:"  # no login of staff has a colon, so nobody is taken for a partner
TOKEN_START = "ptn_"  # noqa: S105 - how every token begins, so that a leaked one is recognised
SHOWN_LETTERS = 10
LONGEST_TOKEN_DAYS = 730


class Partner(Base):
    """A company that sells or boards through the interface. `code` is what the audit log names."""

    __tablename__ = "partner"

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(30), unique=True)
    name: Mapped[str] = mapped_column(String(80))
    created_at: Mapped[datetime]


class PartnerToken(Base):
    """One token: the hash of it and the letters it begins with, never the token. Scopes are a list of SCOPES."""

    __tablename__ = "partner_token"

    id: Mapped[int] = mapped_column(primary_key=True)
    partner_id: Mapped[int] = mapped_column(ForeignKey("partner.id"), index=True)
    token_hash: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    prefix: Mapped[str] = mapped_column(String(16), unique=True)
    scopes: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls the interface: what the audit log names, and what the token lets them do."""

    actor: str
    scopes: frozenset[str]


Finder = Callable[[Session, str, datetime], Caller | None]


def add_partner(session: Session, *, code: str, name: str, now: datetime, actor: str) -> Partner:
    """A new partner. Raises InvalidInput for a code of other than 2 to 30 letters, digits or hyphens, Conflict."""
    code = code.strip().lower()
    if not 2 <= len(code) <= 30 or not code.isascii() or not code.replace("-", "").isalnum():
        raise InvalidInput("bad_partner_code", "O código do parceiro tem de 2 a 30 letras, números ou hifens.")
    if not 2 <= len(name.strip()) <= 80:
        raise InvalidInput("bad_partner_name", "O nome do parceiro tem de 2 a 80 letras.")
    if session.scalar(select(Partner.id).where(Partner.code == code)) is not None:
        raise Conflict("partner_taken", "Já existe um parceiro com esse código. Escolha outro.")
    partner = Partner(code=code, name=name.strip(), created_at=now)
    session.add(partner)
    session.flush()
    audit.record(session, "partner_added", subject=code, now=now, actor=actor)
    return partner


def issue_token(session: Session, code: str, scopes: Collection[str], *, days: int, now: datetime, actor: str) -> str:
    """A fresh token in clear, this once. Raises NotFound, InvalidInput for unknown scopes or a term out of range."""
    partner = find_partner(session, code)
    if not scopes or not set(scopes) <= set(SCOPES):
        raise InvalidInput("unknown_scope", f"Diga o que o token pode fazer: {', '.join(SCOPES)}.")
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise InvalidInput("token_term", f"Um token vale de 1 a {LONGEST_TOKEN_DAYS} dias.")
    token = TOKEN_START + secrets.token_urlsafe(32)
    row = PartnerToken(partner_id=partner.id, token_hash=digest(token), prefix=token[:SHOWN_LETTERS],
                       scopes=sorted(set(scopes)), created_at=now, expires_at=now + timedelta(days=days),
                       revoked_at=None)
    session.add(row)
    session.flush()
    audit.record(session, "token_issued", subject=partner.code, now=now, actor=actor, details={
        "token": row.prefix, "scopes": " ".join(row.scopes), "days": days})
    return token


def revoke_token(session: Session, prefix: str, *, now: datetime, actor: str) -> None:
    """End a token by the letters it begins with. Raises NotFound when no live token begins so."""
    shown = prefix.strip()[:SHOWN_LETTERS]
    ended = session.execute(update(PartnerToken).where(
        PartnerToken.prefix == shown, PartnerToken.revoked_at.is_(None)).values(revoked_at=now))
    if rows_changed(ended) != 1:
        raise NotFound("no_such_token", "Nenhum token em vigor começa assim. Veja a lista.")
    audit.record(session, "token_revoked", subject=shown, now=now, actor=actor)


def find_partner(session: Session, code: str) -> Partner:
    """The partner of a code. Raises NotFound."""
    partner = session.scalar(select(Partner).where(Partner.code == code.strip().lower()[:30]))
    if partner is None:
        raise NotFound("no_such_partner", "Não há parceiro com esse código.")
    return partner


def list_tokens(session: Session) -> list[tuple[Partner, PartnerToken | None]]:
    """Every partner with each of its tokens, oldest first."""
    rows = session.execute(select(Partner, PartnerToken).outerjoin(PartnerToken, PartnerToken.partner_id == Partner.id)
                           .order_by(Partner.code, PartnerToken.id))
    return [(row.Partner, row.PartnerToken) for row in rows]


def find_caller(session: Session, token: str, now: datetime) -> Caller | None:
    """The partner behind a token that was not revoked and has not run out. One statement."""
    row = session.execute(select(Partner.code, PartnerToken.scopes).join(
        PartnerToken, PartnerToken.partner_id == Partner.id).where(
        PartnerToken.token_hash == digest(token), PartnerToken.revoked_at.is_(None),
        PartnerToken.expires_at > now)).first()
    return Caller(ACTOR_PREFIX + row.code, frozenset(row.scopes)) if row else None


def digest(token: str) -> bytes:
    """What is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
