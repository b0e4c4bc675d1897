"""A bank of API Pix on the loopback, and the desk between it and each database."""

import httpx
import pytest

from tests.ticketing.fake_bank import opened
from tests.ticketing.pix import sale
from ticketing.payments import bankapi
from ticketing.payments.bankapi import BankApi
from ticketing.payments.desk import Desk


@pytest.fixture
def bank():
    """A bank that does as it is told: tests/ticketing/fake_bank.py."""
    with opened() as bank:
        yield bank


@pytest.fixture
def desk(database, bank, monkeypatch):
    """A desk whose sales write the ledger alone, and whose patience with the bank is short."""
    monkeypatch.setattr(bankapi, "TIMEOUT", httpx.Timeout(5, read=0.4))
    return Desk(database, BankApi(bank.access(), clock=lambda: bank.now), sale)
