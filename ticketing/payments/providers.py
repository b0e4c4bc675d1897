"""Which bank the settings name, and the two that are no bank: a static code, and the demonstration's."""

import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from ssl import SSLError
from typing import Literal
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.exc import NoResultFound

from kernel.config import ConfigError
from kernel.db import Database
from kernel.money import Money
from ticketing.payments import brcode
from ticketing.payments.bankapi import SCOPES, Access, BankApi
from ticketing.payments.models import Charge, DemoPayment
from ticketing.payments.port import NO_BANK, NOT_FOUND, Bank, BankCharge, BankReceipt, BankRefused, BankReturn

SETTINGS = {"PIX_PROVIDER", "PIX_KEY", "PIX_NAME", "PIX_CITY", "PIX_BASE_URL", "PIX_TOKEN_URL", "PIX_CLIENT_ID",
            "PIX_CLIENT_SECRET", "PIX_SCOPES", "PIX_CERT", "PIX_CERT_KEY", "PIX_CA"}


class StaticCode:
    """A BR Code to the carrier's key, without a contract with a bank: an agent says what came in, a person pays out."""

    name: Literal["static"] = "static"
    txid_length = brcode.LONGEST_STATIC_TXID
    listens = False

    def __init__(self, key: str, name: str, city: str) -> None:
        self._key, self._name, self._city = key, name, city

    def create(self, txid: str, amount: Money, seconds: int) -> str:
        return brcode.build_static(key=self._key, name=self._name, city=self._city, amount=amount, txid=txid)

    def read(self, txid: str) -> BankCharge:
        raise BankRefused(NO_BANK)

    def cancel(self, txid: str) -> None:
        """Nothing to tell: the code stays payable, and what comes late is paid back by hand."""

    def refund(self, e2e_id: str, return_id: str, amount: Money) -> BankReturn:
        raise BankRefused(NO_BANK)

    def refund_status(self, e2e_id: str, return_id: str) -> BankReturn:
        raise BankRefused(NO_BANK)

    def list_received(self, since: datetime, until: datetime) -> Iterator[BankReceipt]:
        return iter(())


class DemoBank:
    """A bank without money, for DEMO=1 alone. Its rows lie in the same database; its codes lead nowhere."""

    name: Literal["demo"] = "demo"
    txid_length = 32
    listens = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, txid: str, amount: Money, seconds: int) -> str:
        return brcode.build_dynamic(url=f"demonstracao.invalid/pix/{txid}", name="BANCO DE DEMONSTRACAO",
                                    city="SEM DINHEIRO")

    def read(self, txid: str) -> BankCharge:
        with self._database.reading() as session:
            try:
                charge = session.get_one(Charge, txid)
            except NoResultFound as error:
                raise BankRefused(NOT_FOUND) from error
            paid = tuple(_told(row) for row in session.scalars(
                select(DemoPayment).where(DemoPayment.txid == txid).order_by(DemoPayment.paid_at)))
            return BankCharge(txid, "paid" if paid else "active", charge.amount, charge.br_code or "", paid)

    def cancel(self, txid: str) -> None:
        """Nothing to do."""

    def refund(self, e2e_id: str, return_id: str, amount: Money) -> BankReturn:
        return BankReturn("done", amount)

    def refund_status(self, e2e_id: str, return_id: str) -> BankReturn:
        raise BankRefused(NOT_FOUND)

    def list_received(self, since: datetime, until: datetime) -> Iterator[BankReceipt]:
        with self._database.reading() as session:
            return iter([_told(row) for row in session.scalars(select(DemoPayment).where(
                DemoPayment.paid_at >= since, DemoPayment.paid_at <= until).order_by(DemoPayment.paid_at))])

    def pay(self, txid: str, amount: Money, *, now: datetime) -> str:
        """Pretend that somebody paid; the end-to-end id."""
        e2e_id = f"E00000000{now:%Y%m%d%H%M}{secrets.token_hex(6)[:11]}"
        with self._database.transaction() as session:
            session.add(DemoPayment(e2e_id=e2e_id, txid=txid, amount=amount, paid_at=now))
        return e2e_id


def open_bank(told: Mapping[str, str], *, demo: bool, database: Database) -> Bank | None:
    """The bank of the PIX_ settings; None where PIX is not sold. Raises ConfigError naming the setting."""
    if strange := sorted(set(told) - SETTINGS):
        raise ConfigError(f"{strange[0]} is not a setting. See docs/operations.md.")
    provider = told.get("PIX_PROVIDER", "demo" if demo else "")
    if provider == "":
        return None
    if provider == "demo":
        if not demo:
            raise ConfigError("PIX_PROVIDER=demo takes no money: it needs DEMO=1.")
        return DemoBank(database)
    if provider not in ("bank", "static"):
        raise ConfigError(f"PIX_PROVIDER must be bank, static or demo, not {provider!r}.")
    return _static(told) if provider == "static" else _bank_api(told)


def _static(told: Mapping[str, str]) -> StaticCode:
    return StaticCode(*_receiver(told))


def _bank_api(told: Mapping[str, str]) -> BankApi:
    key, name, city = _receiver(told)
    base = _address(told, "PIX_BASE_URL", "the bank's address for API Pix, https://…").rstrip("/")
    token = _address(told, "PIX_TOKEN_URL", "the bank's address for OAuth2 tokens, https://…")
    access = Access(
        base_url=base, token_url=token, key=key, name=name, city=city, scopes=told.get("PIX_SCOPES") or SCOPES,
        client_id=_required(told, "PIX_CLIENT_ID", "the id that the bank gave"),
        client_secret=_required(told, "PIX_CLIENT_SECRET", "the secret that the bank gave"),
        certificate=_file(told, "PIX_CERT"), certificate_key=_file(told, "PIX_CERT_KEY"),
        authorities=_file(told, "PIX_CA"))
    if (access.certificate is None) != (access.certificate_key is None):
        raise ConfigError("PIX_CERT and PIX_CERT_KEY go together: the certificate and its private key.")
    try:
        return BankApi(access)
    except SSLError as error:
        raise ConfigError("PIX_CERT, PIX_CERT_KEY or PIX_CA is no PEM file, or the key is not the certificate's."
                          ) from error


def _receiver(told: Mapping[str, str]) -> tuple[str, str, str]:
    key = _required(told, "PIX_KEY", "the carrier's PIX key")
    name = _required(told, "PIX_NAME", "the carrier's name, 25 letters of it are shown")
    city = _required(told, "PIX_CITY", "the carrier's city, 15 letters of it are shown")
    try:
        brcode.build_static(key=key, name=name, city=city, amount=Money(1), txid="0")
    except ValueError as error:
        raise ConfigError(f"PIX_KEY, PIX_NAME or PIX_CITY does not fit into a BR Code: {error}.") from error
    return key, name, city


def _required(told: Mapping[str, str], name: str, what: str) -> str:
    if not told.get(name):
        raise ConfigError(f"{name} is not set: it takes {what}. See docs/operations.md.")
    return told[name]


def _address(told: Mapping[str, str], name: str, what: str) -> str:
    url = _required(told, name, what)
    parts = urlsplit(url)
    here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not (parts.scheme == "https" and parts.hostname) and not here:
        raise ConfigError(f"{name} must begin with https://.")
    return url


def _file(told: Mapping[str, str], name: str) -> str | None:
    path = told.get(name)
    if not path:
        return None
    try:
        with Path(path).open("rb"):
            return path
    except OSError as error:
        raise ConfigError(f"{name}: {path} cannot be read: {error.strerror}.") from error


def _told(row: DemoPayment) -> BankReceipt:
    return BankReceipt(row.e2e_id, row.txid, row.amount, row.paid_at)
