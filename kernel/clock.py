"""The only place that reads the machine's clock; everywhere else `now` is an argument."""

import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

ZONE_NAMES = {"America/Sao_Paulo": "horário de Brasília", "America/Campo_Grande": "horário de Campo Grande"}
LEGAL_ZONE = "America/Sao_Paulo"  # the country's legal time says which day is today where no stop does
FIRST_YEAR, LAST_YEAR = 2000, 2100
WEEKDAYS = ("segunda", "terça", "quarta", "quinta", "sexta", "sábado", "domingo")


def utc_now() -> datetime:
    """The present instant, aware, in UTC."""
    return datetime.now(UTC)


def utc_parts(seconds: float | None) -> time.struct_time:
    """What the log needs to write its lines' times in UTC."""
    return time.gmtime(seconds)


def local_date(instant: datetime, zone: str) -> date:
    """The calendar date of an instant in an IANA zone; every rule of "the date" uses the boarding stop's."""
    return instant.astimezone(ZoneInfo(zone)).date()


def parse_day(text: str) -> date | None:
    """The date of `2026-03-02`; None for any other text and for years before 2000 or after 2100."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if FIRST_YEAR <= day.year <= LAST_YEAR else None


def on_the_clock(instant: datetime, zone: str) -> str:
    """An instant as people say it at a stop of that zone: `02/03/2026 às 09:00`."""
    return f"{instant.astimezone(ZoneInfo(zone)):%d/%m/%Y às %H:%M}"


def zone_name(zone: str) -> str:
    """`horário de Brasília`, `horário de Campo Grande`, or the IANA city: a local time never stands without it."""
    return ZONE_NAMES.get(zone, "horário de " + zone.rpartition("/")[2].replace("_", " "))


def day_everywhere(instant: datetime) -> date:
    """The earliest calendar date that is still running somewhere on Earth (UTC-12).

    A day has ended for everybody only when this date has passed it: nothing kept "until a day" is erased early.
    """
    return (instant.astimezone(UTC) - timedelta(hours=12)).date()


def service_instant(service_day: date, seconds: int, zone: str) -> datetime:
    """The UTC instant of a timetable time: `seconds` after local noon minus 12 h of the service day.

    The GTFS definition, so 26:25:00 is 02:25 of the next day and a day with a clock change keeps its hours.
    """
    noon = datetime(service_day.year, service_day.month, service_day.day, 12, tzinfo=ZoneInfo(zone))
    return noon.astimezone(UTC) + timedelta(seconds=seconds - 12 * 3600)
