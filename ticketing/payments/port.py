"""What the product asks of a bank, whichever it is. Pure: the shapes, the refusals, and how ids look."""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

from kernel.money import Money

MOST_NOTICES = 100
NOT_FOUND, NO_BANK = "not_found", "no_bank"  # refusals that say that nothing was ever asked for
_E2E = re.compile(r"[A-Za-z0-9]{32}")
_TYPED_E2E = re.compile(r"E[0-9A-Z]{8}(\d{12})[0-9A-Z]{11}")
_TXID = re.compile(r"[A-Za-z0-9]{1,35}")


class BankError(Exception):
    """The bank did not do it; `code` is short and holds nothing of a person."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code[:60]


class BankUnavailable(BankError):
    """No answer, or none that can be understood: whether it was done is unknown. Ask again later."""


class BankRefused(BankError):
    """The bank says no, and will say no again. `not_found` where it does not know the thing."""


@dataclass(frozen=True, slots=True)
class BankReceipt:
    """A PIX that came in, as the bank tells it."""

    e2e_id: str
    txid: str | None
    amount: Money
    paid_at: datetime


@dataclass(frozen=True, slots=True)
class BankCharge:
    """A charge as the bank has it, with everything that was paid to it."""

    txid: str
    status: Literal["active", "paid", "removed"]
    amount: Money
    br_code: str
    receipts: tuple[BankReceipt, ...]


@dataclass(frozen=True, slots=True)
class BankReturn:
    """Money on its way back; `refused` is the bank's last word on this return id."""

    status: Literal["processing", "done", "refused"]
    amount: Money


class Bank(Protocol):
    """A provider. Every method may take seconds and raise BankUnavailable or BankRefused: never in a transaction."""

    @property
    def name(self) -> Literal["bank", "static", "demo"]:
        """Which of the three kinds it is."""

    @property
    def txid_length(self) -> int:
        """How long the charges' ids are."""

    @property
    def listens(self) -> bool:
        """Whether it can be asked what came in; else a person says so."""

    def create(self, txid: str, amount: Money, seconds: int) -> str:
        """The BR Code of a charge that lives for so many seconds. Repeatable: the same txid answers the same."""

    def read(self, txid: str) -> BankCharge:
        """The charge and what was paid to it."""

    def cancel(self, txid: str) -> None:
        """Take no money for it any more. Repeatable."""

    def refund(self, e2e_id: str, return_id: str, amount: Money) -> BankReturn:
        """Send money back out of a receipt; `return_id` makes it once."""

    def refund_status(self, e2e_id: str, return_id: str) -> BankReturn:
        """How a return stands. BankRefused `not_found` when it was never asked for."""

    def list_received(self, since: datetime, until: datetime) -> Iterable[BankReceipt]:
        """Every PIX received between the instants, of this product or not."""


def new_txid(length: int) -> str:
    """A charge's id of that many letters and digits, which nobody can guess."""
    return secrets.token_hex((length + 1) // 2)[:length]


def is_e2e_id(text: object) -> bool:
    """Whether this looks like an end-to-end id as a bank writes it."""
    return isinstance(text, str) and _E2E.fullmatch(text) is not None


def is_txid(text: object) -> bool:
    """Whether this looks like the id of a charge, ours or not."""
    return isinstance(text, str) and _TXID.fullmatch(text) is not None


def read_typed_e2e(text: str) -> tuple[str, datetime]:
    """An end-to-end id as a person copies it, in capitals, and the instant in it. Raises ValueError."""
    typed = "".join(text.split()).upper()
    match = _TYPED_E2E.fullmatch(typed)
    if match is None:
        raise ValueError("an end-to-end id is E, the bank's 8 characters, 12 digits of date and time, 11 characters")
    return typed, datetime.strptime(match[1], "%Y%m%d%H%M").replace(tzinfo=UTC)


def notice_txids(body: object) -> list[str]:
    """The charges that a bank's call-back speaks of, each once; at most 100. What else it says is not believed."""
    notices = body.get("pix") if isinstance(body, dict) else None
    if not isinstance(notices, list):
        return []
    found = [notice["txid"] for notice in notices[:MOST_NOTICES]
             if isinstance(notice, dict) and is_txid(notice.get("txid"))]
    return list(dict.fromkeys(found))
