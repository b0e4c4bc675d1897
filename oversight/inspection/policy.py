"""Which stretch of days an inspector may ask for at once."""

from datetime import date, timedelta

from kernel.errors import InvalidInput

LONGEST_PERIOD = timedelta(days=366)
USUAL_PERIOD = timedelta(days=30)


def check_period(first: date, last: date) -> None:
    """Lets through 1 to 367 days, both ends counted. Raises InvalidInput (`until`)."""
    if first > last or last - first > LONGEST_PERIOD:
        sentence = "O período vai do primeiro dia a, no máximo, 366 dias depois. Corrija o último dia."
        raise InvalidInput("bad_period", sentence, fields={"until": sentence})
