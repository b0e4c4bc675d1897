"""The network: carrier, places, stops, lines with their titles and patterns, timetable, vehicles, trips and calls.

A trip owns its ordered calls as UTC instants. Leg n is the stretch from call n to call n + 1. Kilometres are measured
from the first call.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, SmallInteger, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from kernel.db import Base


class Carrier(Base):
    """The company, and the policies that the law leaves to it."""

    __tablename__ = "carrier"
    __table_args__ = (CheckConstraint("identity_basis IN ('course', 'stretch')", name="identity_basis"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80))
    cnpj: Mapped[str] = mapped_column(String(14), unique=True)
    identity_basis: Mapped[str] = mapped_column(String(8), default="course")
    void_minutes: Mapped[int] = mapped_column(SmallInteger, default=15)
    hold_minutes: Mapped[int] = mapped_column(SmallInteger, default=10)
    open_days: Mapped[int] = mapped_column(SmallInteger, default=30)
    late_refund: Mapped[Any] = mapped_column(JSON)  # rows of the R2 table; empty means the product's default


class Place(Base):
    """A town. `ibge_code` is the seven-digit municipality code; feeds from elsewhere have none."""

    __tablename__ = "place"
    __table_args__ = (UniqueConstraint("name", "state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    state: Mapped[str] = mapped_column(String(2))
    ibge_code: Mapped[str | None] = mapped_column(String(7), unique=True)


class Stop(Base):
    """Where a bus calls: a terminal or a roadside stop, with its IANA time zone."""

    __tablename__ = "stop"

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(80), unique=True)
    place_id: Mapped[int] = mapped_column(ForeignKey("place.id"), index=True)
    name: Mapped[str] = mapped_column(String(160))
    zone: Mapped[str] = mapped_column(String(40))
    platform: Mapped[str | None] = mapped_column(String(12))
    latitude: Mapped[str | None] = mapped_column(String(20))
    longitude: Mapped[str | None] = mapped_column(String(20))

    place: Mapped[Place] = relationship(lazy="joined", innerjoin=True)


class Line(Base):
    """A line; `rehearsal` ones come from feeds without titles and tariffs and are marked wherever they are sold."""

    __tablename__ = "line"

    id: Mapped[int] = mapped_column(primary_key=True)
    carrier_id: Mapped[int] = mapped_column(ForeignKey("carrier.id"))
    code: Mapped[str] = mapped_column(String(80), unique=True)
    name: Mapped[str] = mapped_column(String(160))
    state: Mapped[str] = mapped_column(String(2))
    service_class: Mapped[str] = mapped_column(String(20), default="convencional")
    urban_like: Mapped[bool] = mapped_column(default=False)
    standing_allowed: Mapped[bool] = mapped_column(default=False)
    rehearsal: Mapped[bool] = mapped_column(default=False)


class Title(Base):
    """The act under which a line is run, and its term (T2)."""

    __tablename__ = "title"
    __table_args__ = (
        CheckConstraint("kind IN ('authorisation', 'permission', 'concession', 'licence')", name="kind"),
        CheckConstraint("valid_from <= valid_until", name="term"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    line_id: Mapped[int] = mapped_column(ForeignKey("line.id"), index=True)
    kind: Mapped[str] = mapped_column(String(14))
    act: Mapped[str] = mapped_column(String(80))
    valid_from: Mapped[date]
    valid_until: Mapped[date]


class Vehicle(Base):
    """A bus. `layout` is a list of rows from the front; see network/policy.py for what a cell may be."""

    __tablename__ = "vehicle"

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(20), unique=True)
    plate: Mapped[str | None] = mapped_column(String(8))
    description: Mapped[str] = mapped_column(String(60))
    layout: Mapped[Any] = mapped_column(JSON)
    standing_places: Mapped[int] = mapped_column(SmallInteger, default=0)


class Pattern(Base):
    """One ordered itinerary of a line."""

    __tablename__ = "pattern"
    __table_args__ = (UniqueConstraint("line_id", "code"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    line_id: Mapped[int] = mapped_column(ForeignKey("line.id"), index=True)
    code: Mapped[str] = mapped_column(String(80))

    calls: Mapped[list["PatternCall"]] = relationship(order_by="PatternCall.seq")


class PatternCall(Base):
    """A call of a pattern: km from the first call; `road` is the class of the leg that arrives here."""

    __tablename__ = "pattern_call"
    __table_args__ = (CheckConstraint("road IN ('asphalt', 'earth')", name="road"),)

    pattern_id: Mapped[int] = mapped_column(ForeignKey("pattern.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    stop_id: Mapped[int] = mapped_column(ForeignKey("stop.id"))
    km: Mapped[Decimal]
    km_estimated: Mapped[bool] = mapped_column(default=False)
    road: Mapped[str] = mapped_column(String(8), default="asphalt")


class Slot(Base):
    """A timetable slot: a departure that repeats. Times are seconds of the service day in `zone`, past 24 h too."""

    __tablename__ = "slot"
    __table_args__ = (UniqueConstraint("pattern_id", "code"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    pattern_id: Mapped[int] = mapped_column(ForeignKey("pattern.id"), index=True)
    vehicle_id: Mapped[int] = mapped_column(ForeignKey("vehicle.id"))
    code: Mapped[str] = mapped_column(String(80))
    zone: Mapped[str] = mapped_column(String(40))
    valid_from: Mapped[date]
    valid_until: Mapped[date]
    weekdays: Mapped[int] = mapped_column(SmallInteger)  # bit 0 is Monday
    times: Mapped[Any] = mapped_column(JSON)  # [[arrival, departure], …] in seconds, one pair a call
    exceptions: Mapped[Any] = mapped_column(JSON)  # {"2026-12-25": false}: runs or not, whatever the weekday


class Trip(Base):
    """One departure. `last_day` is the local date of the last arrival: identities are kept 365 days after it."""

    __tablename__ = "trip"
    __table_args__ = (
        UniqueConstraint("slot_id", "service_date"),
        CheckConstraint("status IN ('open', 'closed', 'cancelled')", name="status"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    line_id: Mapped[int] = mapped_column(ForeignKey("line.id"), index=True)
    slot_id: Mapped[int | None] = mapped_column(ForeignKey("slot.id"))
    vehicle_id: Mapped[int] = mapped_column(ForeignKey("vehicle.id"))
    service_date: Mapped[date] = mapped_column(index=True)
    status: Mapped[str] = mapped_column(String(10), default="open")
    departs_at: Mapped[datetime] = mapped_column(index=True)
    arrives_at: Mapped[datetime]
    last_day: Mapped[date]
    course_km: Mapped[Decimal]
    km_estimated: Mapped[bool]
    delay_minutes: Mapped[int] = mapped_column(SmallInteger, default=0)

    line: Mapped[Line] = relationship()
    vehicle: Mapped[Vehicle] = relationship()
    calls: Mapped[list["Call"]] = relationship(order_by="Call.seq")


class Call(Base):
    """A trip's call at a stop. A loop calls at one stop twice: everything keys on the call."""

    __tablename__ = "trip_call"
    __table_args__ = (Index("ix_trip_call_stop_id_departs_at", "stop_id", "departs_at"),)

    trip_id: Mapped[int] = mapped_column(ForeignKey("trip.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    stop_id: Mapped[int] = mapped_column(ForeignKey("stop.id"))
    km: Mapped[Decimal]
    km_estimated: Mapped[bool]
    road: Mapped[str] = mapped_column(String(8))
    arrives_at: Mapped[datetime]
    departs_at: Mapped[datetime]

    stop: Mapped[Stop] = relationship(lazy="joined", innerjoin=True)
