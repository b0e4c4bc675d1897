"""Legal holds, and which vault this database belongs to."""

from datetime import date, datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base


class LegalHold(Base):
    """Stops the erasure of one trip's identities. `code` names the key in the vault file."""

    __tablename__ = "legal_hold"

    code: Mapped[str] = mapped_column(String(16), primary_key=True)
    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"), index=True)
    reason: Mapped[str] = mapped_column(String(200))
    ends_on: Mapped[date]
    placed_at: Mapped[datetime]
    placed_by: Mapped[str] = mapped_column(String(60))
    released_at: Mapped[datetime | None]


class VaultMark(Base):
    """One row: the vault's id and the first day it still owed when the rows were last cleared."""

    __tablename__ = "vault_mark"

    vault_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    owed_from: Mapped[date]
