"""The PIX_ settings: each bad one stops the start with a sentence that names it and never repeats a secret."""

from pathlib import Path

import pytest

from kernel.config import ConfigError, read_settings
from kernel.money import Money
from tests.kernel.test_config import WHOLE
from ticketing.payments import brcode
from ticketing.payments.bankapi import BankApi
from ticketing.payments.port import notice_txids
from ticketing.payments.providers import DemoBank, StaticCode, open_bank

STATIC = {"PIX_PROVIDER": "static", "PIX_KEY": "key@example.com", "PIX_NAME": "Viação de Teste", "PIX_CITY": "Criciúma"}
BANK = {**STATIC, "PIX_PROVIDER": "bank", "PIX_BASE_URL": "https://pix.example.com/api/v2/",
        "PIX_TOKEN_URL": "https://pix.example.com/oauth/token", "PIX_CLIENT_ID": "embarque", "PIX_CLIENT_SECRET": "hush"}


def opened(told: dict[str, str], *, demo: bool = False):
    return open_bank(told, demo=demo, database=None)


def test_the_environments_pix_settings_are_read_and_no_others():
    settings = read_settings({**WHOLE, **BANK, "PIX_SCOPES": " "})
    assert settings.pix == BANK
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(("told", "demo", "kind"), [
    ({}, False, type(None)), ({}, True, DemoBank), (STATIC, True, StaticCode), (STATIC, False, StaticCode), (BANK, False, BankApi)])
def test_the_settings_name_the_bank(told, demo, kind):
    assert type(opened(told, demo=demo)) is kind


@pytest.mark.parametrize("name", sorted(set(BANK) - {"PIX_PROVIDER"}))
def test_a_missing_setting_is_named(name):
    with pytest.raises(ConfigError, match=f"{name} is not set"):
        opened({key: value for key, value in BANK.items() if key != name})


@pytest.mark.parametrize(("change", "told"), [
    ({"PIX_PROVIDER": "demo"}, "DEMO=1"), ({"PIX_PROVIDER": "banco"}, "PIX_PROVIDER"), ({"PIX_CLIENT": "x"}, "PIX_CLIENT is not a setting"),
    ({"PIX_BASE_URL": "http://pix.example.com"}, "PIX_BASE_URL"), ({"PIX_TOKEN_URL": "pix.example.com"}, "PIX_TOKEN_URL"),
    ({"PIX_CERT": "/nowhere/cert.pem"}, "PIX_CERT"), ({"PIX_CA": "/nowhere/ca.pem"}, "PIX_CA"),
    ({"PIX_CERT": __file__}, "go together"), ({"PIX_CERT_KEY": __file__}, "go together"),
    ({"PIX_CERT": __file__, "PIX_CERT_KEY": __file__}, "no PEM file"), ({"PIX_CA": __file__}, "no PEM file"),
    ({"PIX_KEY": "k" * 78}, "does not fit"), ({"PIX_NAME": "日本"}, "does not fit"), ({"PIX_CITY": "日本"}, "does not fit")])
def test_a_malformed_setting_is_named(change, told):
    with pytest.raises(ConfigError, match=told) as stopped:
        opened({**BANK, **change})
    assert "hush" not in str(stopped.value)


def test_the_bank_on_this_machine_may_be_reached_without_tls():
    assert isinstance(opened({**BANK, "PIX_BASE_URL": "http://127.0.0.1:4010", "PIX_TOKEN_URL": "http://localhost:4010/t"}), BankApi)


def test_the_static_code_is_the_carriers_own():
    told = brcode.parse(opened(STATIC).create("A" * 25, Money(8559), 600))
    assert (told.key, told.name, told.city, told.amount, told.txid) == (
        "key@example.com", "Viacao de Teste", "Criciuma", Money(8559), "A" * 25)


def test_every_setting_stands_in_the_operators_table():
    text = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
    for name in {*BANK, "PIX_SCOPES", "PIX_CERT", "PIX_CERT_KEY", "PIX_CA"}:
        assert f"| `{name}` |" in text, name


@pytest.mark.parametrize(("body", "found"), [
    ({"pix": [{"txid": "a" * 32}, {"txid": "b" * 32}, {"txid": "a" * 32}]}, ["a" * 32, "b" * 32]),
    ({"pix": [{"endToEndId": "E"}, None, 5, {"txid": None}, {"txid": "a b"}, {"txid": "a" * 36}, {"txid": ["a"]}]}, []),
    ({"pix": [{"txid": str(n)} for n in range(200)]}, [str(n) for n in range(100)]),
    ({"pix": {"txid": "a"}}, []), ({}, []), (None, []), ([], []), ("pix", []), (1, []), ({"pix": []}, [])])
def test_a_call_back_names_charges_and_nothing_else_is_read_in_it(body, found):
    assert notice_txids(body) == found
