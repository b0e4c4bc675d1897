"""How money, instants and zones are shown in templates: Brazilian form, 24-hour clock, the zone always named."""

import hashlib
from datetime import date, datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from flask import Flask, url_for

from kernel.clock import WEEKDAYS, zone_name
from kernel.money import Money


def money(amount: Money) -> str:
    """`R$ 1.234,56`, with a no-break space."""
    return amount.in_reais()


def local(instant: datetime, zone: str) -> str:
    """`05/11/2026 08:00` on the wall clock of a zone."""
    return instant.astimezone(ZoneInfo(zone)).strftime("%d/%m/%Y %H:%M")


def hour(instant: datetime, zone: str) -> str:
    """`08:00` on the wall clock of a zone."""
    return instant.astimezone(ZoneInfo(zone)).strftime("%H:%M")


def day(value: date | datetime, zone: str = "UTC") -> str:
    """`05/11/2026`; an instant needs its zone."""
    if isinstance(value, datetime):
        value = value.astimezone(ZoneInfo(zone)).date()
    return value.strftime("%d/%m/%Y")


def weekday(value: date) -> str:
    """`quinta`."""
    return WEEKDAYS[value.weekday()]


def decimal(value: object) -> str:
    """A number with a decimal comma."""
    return f"{value}".replace(".", ",")


def start_filters(app: Flask) -> None:
    """Register the filters, and `asset(path)`: a static file's address that changes with its content."""
    root = Path(str(app.static_folder))

    @cache
    def version(path: str) -> str:
        return hashlib.sha256((root / path).read_bytes()).hexdigest()[:12]

    def asset(path: str) -> str:
        return url_for("static", filename=path, v=version(path))

    app.jinja_env.filters.update(money=money, local=local, hour=hour, day=day, weekday=weekday, zone_name=zone_name,
                                 decimal=decimal)
    app.jinja_env.globals["asset"] = asset
