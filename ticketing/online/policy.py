"""What an online purchase needs no database for: places by what was typed, the hold's instants, the link's token."""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from kernel.errors import InvalidInput
from ticketing.sales.policy import search_key

MOST_SEATS = 6
FURTHEST_SEARCH_DAYS = 400
CALM_UNTIL = timedelta(minutes=2)  # the clock speaks up when this much is left
LATE_GRACE = timedelta(minutes=15)  # how long after its last instant a payment may still be on its way from the bank
LONGEST_TYPED_PLACE = 80
LINK_BYTES = 16


class Named(Protocol):
    """A place as far as its name goes."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...


AnyPlace = TypeVar("AnyPlace", bound=Named)


def label(place: Named) -> str:
    """`Florianópolis, SC`: two states may have a town of one name."""
    return f"{place.name}, {place.state}"


def match_places(places: Iterable[AnyPlace], typed: str) -> tuple[AnyPlace, ...]:
    """The places that the text means, accents and case optional: the exact ones, else those that begin so, else those
    with a word that begins so. One is an answer, several are a question, none is a refusal."""
    wanted = search_key(typed[:LONGEST_TYPED_PLACE])
    if not wanted:
        return ()
    keys = [(place, search_key(place.name), search_key(label(place))) for place in places]
    for fits in (lambda name, whole: wanted in (name, whole), lambda _, whole: whole.startswith(wanted),
                 lambda _, whole: f" {wanted}" in whole):
        found = tuple(place for place, name, whole in keys if fits(name, whole))
        if found:
            return found
    return ()


def read_seats(numbers: Iterable[str]) -> tuple[int, ...]:
    """The chosen seats, lowest first. Raises InvalidInput for none, more than six, or what is no seat number."""
    texts = list(numbers)
    if not all(text.isascii() and text.isdigit() and len(text) <= 3 for text in texts):
        raise _no_seats("seat_unreadable", "Escolha as poltronas no mapa.")
    seats = tuple(sorted({int(text) for text in texts}))
    if not seats:
        raise _no_seats("seat_missing", "Escolha uma poltrona para cada passageiro.")
    if len(seats) > MOST_SEATS:
        raise _no_seats("seats_too_many", f"Escolha até {MOST_SEATS} poltronas em cada compra.")
    return seats


def _no_seats(code: str, sentence: str) -> InvalidInput:
    return InvalidInput(code, sentence, fields={"seat": sentence})


def field_of(field: str, passenger: int) -> str:
    """The name of a passenger's field in a form of several; passengers are counted from 1."""
    return f"{field}-{passenger}"


def form_of(typed: Mapping[str, str], fields: Iterable[str], passenger: int) -> dict[str, str]:
    """One passenger's fields out of the form of all."""
    return {field: typed.get(field_of(field, passenger), "") for field in fields}


def hold_ends(now: datetime, minutes: int) -> datetime:
    """Until when seats are held that are chosen, or whose time is lengthened, at `now`; whole seconds."""
    return now.replace(microsecond=0) + timedelta(minutes=minutes)


def charge_ends(expires_at: datetime, minutes: int, *, extended: bool) -> datetime:
    """Until when the bank may take the money: the hold's end, with the one extension where it was not used yet."""
    return expires_at if extended else expires_at + timedelta(minutes=minutes)


def purchase_state(status: str, expires_at: datetime, now: datetime) -> str:
    """What the buyer is told: "open", "paid" or "over". The instant of the end is over."""
    if status == "pending":
        return "open" if now < expires_at else "over"
    return "paid" if status == "paid" else "over"


def booking_link(code: str, secret_key: str) -> str:
    """The part of a purchase's address that nobody can guess: 22 letters of base64url, 128 bits."""
    mac = hmac.digest(secret_key.encode(), f"embarque booking link {code}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(mac[:LINK_BYTES]).rstrip(b"=").decode()


def link_matches(code: str, link: str, secret_key: str) -> bool:
    """Whether the token belongs to the purchase; takes the same time whatever differs."""
    return hmac.compare_digest(booking_link(code, secret_key).encode(), link.encode("utf-8", "replace"))


def duration_words(length: timedelta) -> str:
    """`3 h 10 min`, `50 min`, `4 h`."""
    hours, minutes = divmod(int(length.total_seconds()) // 60, 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes or not hours else "")
                    if part)
