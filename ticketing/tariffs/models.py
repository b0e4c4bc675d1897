"""Tariff versions by act and date (T3). The database refuses to change one; a correction is a newer version."""

from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from kernel.db import Base, Millionths
from kernel.money import Money


class Tariff(Base):
    """One version for one line. Coefficients are reais per km by road class; `components` are fixed amounts."""

    __tablename__ = "tariff"
    __table_args__ = (
        CheckConstraint("method IN ('coefficient', 'sections')", name="method"),
        CheckConstraint("rounding IN ('cent', 'five_centavos')", name="rounding"),
        Index("ix_tariff_line_id_starts_on", "line_id", "starts_on"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    line_id: Mapped[int] = mapped_column(ForeignKey("line.id"))
    act: Mapped[str] = mapped_column(String(120))
    starts_on: Mapped[date]
    method: Mapped[str] = mapped_column(String(12))
    rounding: Mapped[str] = mapped_column(String(14))
    coefficient_asphalt: Mapped[Decimal] = mapped_column(Millionths)
    coefficient_earth: Mapped[Decimal] = mapped_column(Millionths)
    minimum: Mapped[Money]
    components: Mapped[Any] = mapped_column(JSON)  # [{"kind", "cents", "stop_id"}]; stop_id null means always


class SectionFare(Base):
    """The fare between two stops of a section table; no amount means the pair is not sold."""

    __tablename__ = "section_fare"

    tariff_id: Mapped[int] = mapped_column(ForeignKey("tariff.id"), primary_key=True)
    from_stop_id: Mapped[int] = mapped_column(ForeignKey("stop.id"), primary_key=True)
    to_stop_id: Mapped[int] = mapped_column(ForeignKey("stop.id"), primary_key=True)
    amount: Mapped[Money | None]
