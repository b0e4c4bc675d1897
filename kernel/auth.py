"""Staff, roles, what each role may do, and signing in. A session is a row: signing out or disabling ends it at once."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, ForeignKey, LargeBinary, Row, String, bindparam, delete, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from kernel import audit
from kernel.db import Base
from kernel.errors import Conflict, InvalidInput

ROLES = ("agent", "supervisor", "driver", "office", "inspector", "admin")
ROLE_ACTIONS: dict[str, frozenset[str]] = {
    "sell": frozenset({"agent", "supervisor"}),
    "refund": frozenset({"agent", "supervisor"}),
    "void": frozenset({"agent", "supervisor"}),
    "correct_name": frozenset({"agent", "supervisor"}),
    "keep_till": frozenset({"agent", "supervisor"}),
    "board": frozenset({"driver"}),
    "run_trips": frozenset({"office", "admin"}),
    "review_tills": frozenset({"office", "admin"}),
    "hold_identities": frozenset({"office", "admin"}),
    "inspect": frozenset({"inspector"}),
    "own_account": frozenset(ROLES),
}
HOME_OF_ROLE = {"agent": "counter.home", "supervisor": "counter.home", "driver": "drivers.trips",
                "office": "office.trips", "admin": "office.trips", "inspector": "inspections.home"}
SESSION_LENGTH = timedelta(hours=14)
SHORTEST_PASSWORD = 10

_hasher = PasswordHasher()
_NOBODY = _hasher.hash(secrets.token_hex(8))  # so that an unknown login costs the same time as a wrong password


class Staff(Base):
    """A person who works with the system. `login` is what the audit log names as the actor."""

    __tablename__ = "staff"

    id: Mapped[int] = mapped_column(primary_key=True)
    login: Mapped[str] = mapped_column(String(40), unique=True)
    display_name: Mapped[str] = mapped_column(String(80))
    role: Mapped[str] = mapped_column(String(12))
    password_hash: Mapped[str] = mapped_column(String(200))
    stop_id: Mapped[int | None]  # the terminal where a counter agent works; the network owns the table
    disabled_at: Mapped[datetime | None]


class SignIn(Base):
    """One live session: the hash of its random token. Deleting the row ends it, whatever cookie was copied."""

    __tablename__ = "sign_in"

    token_hash: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    staff_id: Mapped[int] = mapped_column(ForeignKey("staff.id"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class CurrentStaff:
    """Who is signed in on this request, detached from any session; the shape that Flask-Login expects."""

    is_authenticated = True
    is_active = True
    is_anonymous = False

    def __init__(self, staff: Staff | Row[*tuple[Any, ...]], token: str) -> None:
        self.staff_id = staff.id
        self.login = staff.login
        self.display_name = staff.display_name
        self.role = staff.role
        self.stop_id = staff.stop_id
        self.token = token

    def get_id(self) -> str:
        return self.token

    def may(self, action: str) -> bool:
        return self.role in ROLE_ACTIONS[action]


def hash_password(password: str) -> str:
    """An argon2id hash. Takes tens of milliseconds: never inside a transaction. Raises InvalidInput when short."""
    if not SHORTEST_PASSWORD <= len(password) <= 200:
        sentence = f"A senha precisa de {SHORTEST_PASSWORD} a 200 caracteres."
        raise InvalidInput("password_too_short", sentence, fields={"password": sentence})
    return _hasher.hash(password)


def password_matches(staff: Staff | None, password: str) -> bool:
    """Whether the password is this person's; the same time is spent when there is no such person."""
    try:
        _hasher.verify(staff.password_hash if staff else _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return False
    return staff is not None and staff.disabled_at is None


def find_staff(session: Session, login: str) -> Staff | None:
    """The person with that login, detached, so that the password is checked outside the transaction."""
    staff = session.scalar(select(Staff).where(Staff.login == login.strip().lower()[:40]))
    if staff is not None:
        session.expunge(staff)
    return staff


def start_session(session: Session, staff: Staff, *, now: datetime) -> CurrentStaff:
    """A fresh session row and its token; past sessions of everyone are cleared on the way."""
    session.execute(delete(SignIn).where(SignIn.expires_at <= now))
    token = secrets.token_urlsafe(32)
    session.add(SignIn(token_hash=_digest(token), staff_id=staff.id, created_at=now,
                       expires_at=now + SESSION_LENGTH))
    audit.record(session, "signed_in", subject=staff.login, now=now, actor=staff.login)
    return CurrentStaff(staff, token)


_LIVE = (select(Staff.id, Staff.login, Staff.display_name, Staff.role, Staff.stop_id)
         .join(SignIn, SignIn.staff_id == Staff.id).where(
             SignIn.token_hash == bindparam("token_hash"), SignIn.expires_at > bindparam("now"),
             Staff.disabled_at.is_(None)))


def load_session(connection: Connection, token: str, *, now: datetime) -> CurrentStaff | None:
    """Who holds this token, if it was not ended, has not expired and its owner is not disabled. One statement."""
    staff = connection.execute(_LIVE, {"token_hash": _digest(token), "now": now}).first()
    return CurrentStaff(staff, token) if staff else None


def end_session(session: Session, token: str) -> None:
    """End one session (signing out)."""
    session.execute(delete(SignIn).where(SignIn.token_hash == _digest(token)))


def change_password(session: Session, staff_id: int, password_hash: str, *, now: datetime, actor: str) -> None:
    """Store a new hash and end every session of that person, this one included."""
    session.execute(update(Staff).where(Staff.id == staff_id).values(password_hash=password_hash))
    session.execute(delete(SignIn).where(SignIn.staff_id == staff_id))
    audit.record(session, "password_changed", subject=actor, now=now, actor=actor)


def add_staff(session: Session, *, login: str, display_name: str, role: str, password_hash: str,
              stop_id: int | None, now: datetime, actor: str) -> Staff:
    """A new member of staff. Raises InvalidInput for an unknown role, Conflict for a login that is taken."""
    login = login.strip().lower()
    if role not in ROLES:
        raise InvalidInput("unknown_role", f"Função desconhecida. Use uma de: {', '.join(ROLES)}.")
    if not 2 <= len(login) <= 40 or not login.isascii() or not login.replace(".", "").replace("-", "").isalnum():
        raise InvalidInput("bad_login", "O usuário tem de 2 a 40 letras, números, pontos ou hifens.")
    if find_staff(session, login) is not None:
        raise Conflict("login_taken", "Já existe esse usuário. Escolha outro.")
    staff = Staff(login=login, display_name=display_name, role=role, password_hash=password_hash,
                  stop_id=stop_id)
    session.add(staff)
    session.flush()
    audit.record(session, "staff_added", subject=login, details={"role": role}, now=now, actor=actor)
    return staff


def disable_staff(session: Session, login: str, *, now: datetime, actor: str) -> None:
    """Nobody signs in with this login any more; open sessions end at once. Raises InvalidInput when unknown."""
    staff = session.scalar(select(Staff).where(Staff.login == login.strip().lower()))
    if staff is None:
        raise InvalidInput("unknown_login", "Não há esse usuário.")
    staff.disabled_at = now
    session.execute(delete(SignIn).where(SignIn.staff_id == staff.id))
    audit.record(session, "staff_disabled", subject=staff.login, now=now, actor=actor)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
