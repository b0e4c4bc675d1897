"""The central bank's own document, served and guarded by Prism: it accepts every request that the adapter makes, and
every answer that the tests' own bank gives.

Needs Node with npm (`apt-get install nodejs npm`) and, the first time, the npm registry.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.fake_bank import opened
from ticketing.payments.bankapi import BankApi
from ticketing.payments.port import BankRefused

pytestmark = pytest.mark.heavy

PRISM = "@stoplight/prism-cli@5.14.2"
DOCUMENT = Path(__file__).parents[1] / "vendor/pix-api-2.9.0/openapi.yaml"
EXAMPLE_TXID, EXAMPLE_E2E = "7978c0c97ea847e78e8849634473c1f1", "E12345678202009091221kkkkkkkkkkk"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def prism(*arguments: str) -> Iterator[str]:
    """The address of a Prism that has started."""
    assert shutil.which("npx"), "Node with npm is missing. Run: apt-get install nodejs npm"
    port = free_port()
    mode, *rest = arguments
    process = subprocess.Popen(["npx", "--yes", PRISM, mode, "-h", "127.0.0.1", "-p", str(port), str(DOCUMENT), *rest],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    told = []
    try:
        for line in process.stdout:
            told.append(line)
            if "Prism is listening" in line:
                break
        else:
            pytest.fail("Prism did not start:\n" + "".join(told[-20:]))
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate()


def test_the_bank_s_own_document_takes_every_request_and_its_examples_are_understood():
    with opened() as tokens, prism("mock") as url:
        api = BankApi(tokens.access(base_url=url), clock=lambda: NOW)
        assert "pix.example.com" in api.create(EXAMPLE_TXID, Money(3700), 600)
        assert (api.read(EXAMPLE_TXID).status, api.read(EXAMPLE_TXID).amount) == ("active", Money(3700))
        api.cancel(EXAMPLE_TXID)
        assert api.refund(EXAMPLE_E2E, "123ABC", Money(789)).status == "processing"
        assert api.refund_status(EXAMPLE_E2E, "123ABC").amount == Money(789)
        api.register_webhook("https://embarque.example/hooks")
        assert api.webhook().startswith("https://")
        # the list's example does not keep the document's own schema: what was asked is accepted all the same
        listed = api._once("GET", "/pix", params={
            "inicio": "2026-03-02T12:00:00Z", "fim": "2026-03-02T13:00:00Z", "paginacao.paginaAtual": 0,
            "paginacao.itensPorPagina": 100})
        assert listed["parametros"]["paginacao"]["quantidadeDePaginas"] == 1


def test_the_document_would_refuse_a_request_that_breaks_it():
    with opened() as tokens, prism("mock") as url:
        api = BankApi(tokens.access(base_url=url), clock=lambda: NOW)
        for breach in (lambda: api._once("PUT", f"/cob/{EXAMPLE_TXID}", json={"valor": {"original": "37,00"}}),
                       lambda: api._once("PUT", f"/pix/{EXAMPLE_E2E}/devolucao/1", json={"valor": 7}),
                       lambda: api.refund("E1", "1", Money(789))):
            with pytest.raises(BankRefused):
                breach()


def test_a_whole_life_of_a_charge_passes_between_adapter_and_bank_without_a_breach_either_way():
    with opened() as bank, prism("proxy", bank.url, "--errors") as url:
        api = BankApi(bank.access(base_url=url), clock=lambda: NOW)
        txid = "a" * 32
        api.create(txid, Money(8559), 600)
        assert api.read(txid).receipts == ()
        paid = bank.pay(txid, 8559)
        assert [receipt.e2e_id for receipt in api.read(txid).receipts] == [paid]
        assert [receipt.e2e_id for receipt in api.list_received(NOW - timedelta(hours=1), NOW)] == [paid]
        bank.next_return = "EM_PROCESSAMENTO"
        assert api.refund(paid, "R1A2", Money(2853)).status == "processing"
        bank.returns[paid, "R1A2"]["status"] = "DEVOLVIDO"
        assert api.refund_status(paid, "R1A2").status == "done"
        api.create("b" * 32, Money(1), 600)
        api.cancel("b" * 32)
        api.register_webhook("https://embarque.example/hooks")
        assert api.webhook() == "https://embarque.example/hooks"
        for unknown in (lambda: api.read("c" * 32), lambda: api.refund_status(paid, "R9"),
                        lambda: api.refund(paid, "R1A2", Money(1)), lambda: api.create(txid, Money(1), 600)):
            with pytest.raises(BankRefused):
                unknown()
