"""The BR Code: the text in a PIX QR, built and read. Fields of two digits, two digits of length, then the value."""

import binascii
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from kernel.money import LARGEST_CENTS, Money

ARRANGEMENT = "br.gov.bcb.pix"
NO_TXID = "***"
LONGEST_NAME, LONGEST_CITY, LONGEST_KEY, LONGEST_URL, LONGEST_STATIC_TXID = 25, 15, 77, 77, 25
_PLAIN = re.compile(r"[ -~]*")


@dataclass(frozen=True, slots=True)
class BrCode:
    """What a BR Code says. A dynamic one has a `url` and neither `key` nor, as a rule, `amount`."""

    name: str
    city: str
    key: str | None
    url: str | None
    amount: Money | None
    txid: str
    once: bool  # marked as good for one payment only


def build_static(*, key: str, name: str, city: str, amount: Money, txid: str) -> str:
    """A code for this amount to this key; the payer's bank sends `txid` (1 to 25 letters and digits) along.

    Raises ValueError for a key, amount or txid that no BR Code holds.
    """
    if not 1 <= len(key) <= LONGEST_KEY or not _PLAIN.fullmatch(key):
        raise ValueError("a key has 1 to 77 plain characters")
    if not re.fullmatch(rf"[A-Za-z0-9]{{1,{LONGEST_STATIC_TXID}}}", txid):
        raise ValueError("a static code's txid has 1 to 25 letters and digits")
    if not 0 < amount.cents <= LARGEST_CENTS:
        raise ValueError("an amount is over zero")
    account = _field("00", ARRANGEMENT) + _field("01", key)
    return _sealed(_field("00", "01") + _field("26", account) + _merchant(name, city, amount)
                   + _field("62", _field("05", txid)))


def build_dynamic(*, url: str, name: str, city: str) -> str:
    """A code that leads to the bank's own document at `url`, which says amount and txid. Raises ValueError."""
    place = url.removeprefix("https://")
    if not 1 <= len(place) <= LONGEST_URL or not _PLAIN.fullmatch(place) or " " in place:
        raise ValueError("a location has 1 to 77 plain characters")
    account = _field("00", ARRANGEMENT) + _field("25", place)
    return _sealed(_field("00", "01") + _field("01", "12") + _field("26", account) + _merchant(name, city, None)
                   + _field("62", _field("05", NO_TXID)))


def parse(text: str) -> BrCode:
    """What the code says. Raises ValueError when it is cut, changed (the checksum tells), or no PIX in reais."""
    if not text.isascii() or text[-8:-4] != "6304" or _crc(text[:-4]) != text[-4:].upper():
        raise ValueError("the checksum does not fit")
    fields = _fields(text)
    if (fields.get("00"), fields.get("53"), fields.get("58")) != ("01", "986", "BR"):
        raise ValueError("not a BR Code in reais")
    account = _fields(fields.get("26", ""))
    if account.get("00", "").lower() != ARRANGEMENT or ("01" in account) == ("25" in account):
        raise ValueError("neither a key nor a location of PIX")
    return BrCode(name=fields.get("59", ""), city=fields.get("60", ""), key=account.get("01"), url=account.get("25"),
                  amount=_amount(fields.get("54")), txid=_fields(fields.get("62", "")).get("05", NO_TXID),
                  once=fields.get("01") == "12")


def plain(text: str, longest: int) -> str:
    """A name as a BR Code holds it: without accents, cut to its length. May be empty."""
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return " ".join("".join(letter for letter in bare if letter.isprintable()).split())[:longest].strip()


def _merchant(name: str, city: str, amount: Money | None) -> str:
    merchant, town = plain(name, LONGEST_NAME), plain(city, LONGEST_CITY)
    if not merchant or not town:
        raise ValueError("a receiver has a name and a city")
    price = _field("54", str(amount)) if amount is not None else ""
    return (_field("52", "0000") + _field("53", "986") + price + _field("58", "BR") + _field("59", merchant)
            + _field("60", town))


def _field(tag: str, value: str) -> str:
    if not 1 <= len(value) <= 99:
        raise ValueError(f"field {tag} is empty or too long")
    return f"{tag}{len(value):02d}{value}"


def _sealed(body: str) -> str:
    return body + "6304" + _crc(body + "6304")


def _crc(text: str) -> str:
    return f"{binascii.crc_hqx(text.encode('ascii'), 0xFFFF):04X}"


def _fields(text: str) -> Mapping[str, str]:
    fields: dict[str, str] = {}
    while text:
        tag, length = text[:2], text[2:4]
        if not (tag.isdigit() and length.isdigit()) or len(text) < 4 + int(length) or tag in fields:
            raise ValueError("the code is cut or a field is there twice")
        fields[tag], text = text[4:4 + int(length)], text[4 + int(length):]
    return fields


def _amount(text: str | None) -> Money | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,10}(\.\d{1,2})?", text):
        raise ValueError("not an amount")
    whole, _, cents = text.partition(".")
    return Money(int(whole) * 100 + int(cents.ljust(2, "0")))
