"""The one present of the tests."""

from datetime import UTC, datetime

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday, 09:00 in Santa Catarina, 08:00 in Mato Grosso do Sul


def at(text: str) -> datetime:
    """The instant of an ISO text; without an offset it is UTC."""
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
