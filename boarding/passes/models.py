"""The pass: a random id that stands only in the QR, bound to one revision of one ticket."""

from datetime import datetime

from sqlalchemy import ForeignKey, LargeBinary, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base


class Pass(Base):
    """Made when the ticket is first shown; a newer revision of the ticket gets a new pass."""

    __tablename__ = "boarding_pass"
    __table_args__ = (UniqueConstraint("ticket_id", "revision"),)

    id: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    ticket_id: Mapped[int] = mapped_column(ForeignKey("ticket.id"))
    revision: Mapped[int] = mapped_column(SmallInteger)
    issued_at: Mapped[datetime]
