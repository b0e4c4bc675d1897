"""API Pix over HTTP: what is asked, what is understood, and each failure told apart as "no" or "no answer"."""

import ssl
import subprocess
from datetime import timedelta

import httpx
import pytest

from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.fake_bank import KEY, SECRET, FakeBank, opened
from ticketing.payments import bankapi, brcode
from ticketing.payments.bankapi import BankApi
from ticketing.payments.port import BankReceipt, BankRefused, BankUnavailable

TXID = "a" * 32
UNKNOWN = "b" * 32


@pytest.fixture
def api(bank, monkeypatch):
    monkeypatch.setattr(bankapi, "TIMEOUT", httpx.Timeout(5, read=0.4))
    return BankApi(bank.access(), clock=lambda: bank.now)


def test_a_charge_is_made_and_its_code_leads_to_it(api, bank):
    told = brcode.parse(api.create(TXID, Money(8559), 1200))
    assert (told.url, told.name, told.city) == (f"pix.example.com/qr/{TXID}", "Viacao de Teste", "Criciuma")
    charge = bank.charges[TXID]
    assert (charge["valor"], charge["chave"], charge["calendario"]["expiracao"]) == ({"original": "85.59"}, KEY, 1200)
    assert "devedor" not in charge  # the bank learns nothing of who travels


def test_a_code_that_the_bank_gives_is_taken_as_it_is(api, bank):
    api.create(TXID, Money(8559), 1200)
    text = brcode.build_dynamic(url="bank.example/x", name="Outro Nome", city="BRASILIA")
    bank.charges[TXID]["pixCopiaECola"] = text
    assert api.read(TXID).br_code == text


@pytest.mark.parametrize("text", ["", "0002", 5, brcode.build_static(
    key=KEY, name="A", city="B", amount=Money(8558), txid="A")])
def test_a_code_that_is_damaged_or_of_another_amount_is_not_shown_to_anybody(api, bank, text):
    api.create(TXID, Money(8559), 1200)
    bank.charges[TXID]["pixCopiaECola"] = text
    with pytest.raises(BankUnavailable):
        api.read(TXID)


def test_a_charge_asked_for_again_is_the_same_charge(api):
    assert api.create(TXID, Money(8559), 1200) == api.create(TXID, Money(8559), 600)


def test_a_charge_of_another_amount_under_the_same_id_is_refused(api):
    api.create(TXID, Money(8559), 1200)
    with pytest.raises(BankRefused, match="other_amount"):
        api.create(TXID, Money(8560), 1200)


def test_what_was_paid_is_read_back_to_the_cent(api, bank):
    api.create(TXID, Money(8559), 1200)
    assert (api.read(TXID).status, api.read(TXID).receipts) == ("active", ())
    first, second = bank.pay(TXID, 8559), bank.pay(TXID, 1)
    told = api.read(TXID)
    assert told.status == "paid"
    assert told.receipts == (BankReceipt(first, TXID, Money(8559), NOW), BankReceipt(second, TXID, Money(1), NOW))


def test_the_list_of_what_came_in_is_read_page_by_page(api, bank):
    ids = [bank.pay(None if n % 2 else UNKNOWN, n, at=NOW + timedelta(minutes=n)) for n in range(1, 6)]
    bank.pay(TXID, 99, at=NOW - timedelta(days=1))
    told = list(api.list_received(NOW, NOW + timedelta(hours=1)))
    assert [receipt.e2e_id for receipt in told] == ids
    assert [receipt.txid for receipt in told] == [None, UNKNOWN, None, UNKNOWN, None]
    assert bank.calls["GET list"] == 3


def test_a_charge_is_cancelled(api):
    api.create(TXID, Money(8559), 1200)
    api.cancel(TXID)
    assert api.read(TXID).status == "removed"
    with pytest.raises(BankRefused, match="CobOperacaoInvalida"):
        api.cancel(TXID)


@pytest.mark.parametrize(("word", "status"), [("DEVOLVIDO", "done"), ("EM_PROCESSAMENTO", "processing"), ("NAO_REALIZADO", "refused")])
def test_money_goes_back_and_its_state_is_understood(api, bank, word, status):
    paid, bank.next_return = bank.pay(TXID, 8559), word
    told = api.refund(paid, "R1", Money(2853))
    assert (told.status, told.amount) == (status, Money(2853))
    assert api.refund_status(paid, "R1") == told


def test_a_word_that_no_return_has_is_not_taken_for_done(api, bank):
    paid, bank.next_return = bank.pay(TXID, 8559), "DEVOLVIDA"
    with pytest.raises(BankUnavailable, match="bad_return"):
        api.refund(paid, "R1", Money(2853))


@pytest.mark.parametrize("act", [
    lambda api: api.read(UNKNOWN), lambda api: api.cancel(UNKNOWN), lambda api: api.webhook(),
    lambda api: api.refund_status("E" * 32, "R1"), lambda api: api.refund("E" * 32, "R1", Money(1))])
def test_what_the_bank_does_not_know_is_told_as_such(api, act):
    with pytest.raises(BankRefused, match="not_found"):
        act(api)


@pytest.mark.parametrize("status", [400, 403, 409, 410, 422])
def test_a_no_is_a_no_and_is_not_asked_again(api, bank, status):
    bank.faults["GET cob"] = [status]
    with pytest.raises(BankRefused, match="ServicoIndisponivel") as refused:
        api.read(TXID)
    assert bank.calls["GET cob"] == 1
    assert "José" not in str(refused.value)


@pytest.mark.parametrize("fault", [500, 502, 503, 429, 301, "silent", "lost", "garbage"])
def test_no_answer_is_no_answer_and_only_what_changes_nothing_is_asked_again(api, bank, fault):
    api.create(TXID, Money(8559), 1200)
    bank.faults["GET cob"] = [fault, fault]
    with pytest.raises(BankUnavailable):
        api.read(TXID)
    assert bank.calls["GET cob"] == 2
    bank.faults["GET cob"] = [fault]
    assert api.read(TXID).amount == Money(8559)
    paid, bank.faults["PUT return"] = bank.pay(TXID, 8559), [fault]
    with pytest.raises(BankUnavailable):
        api.refund(paid, "R1", Money(2853))
    assert bank.calls["PUT return"] == 1


def test_a_bank_that_is_not_there_is_no_answer():
    with opened() as gone:
        access = gone.access()
    with pytest.raises(BankUnavailable, match="ConnectError"):
        BankApi(access).read(TXID)


@pytest.mark.parametrize(("change", "told"), [
    ({"txid": UNKNOWN}, "other_charge"), ({"valor": {"original": "85,59"}}, "bad_amount"), ({"valor": {"original": 85.59}}, "bad_amount"),
    ({"valor": None}, "bad_amount"), ({"valor": {"original": "٨٥.٥٩"}}, "bad_amount"), ({"location": None}, "bad_br_code"),
    ({"location": "x" * 78}, "bad_br_code")])
def test_an_answer_that_cannot_be_right_is_no_answer(api, bank, change, told):
    api.create(TXID, Money(8559), 1200)
    bank.charges[TXID].update(change)
    with pytest.raises(BankUnavailable, match=told):
        api.read(TXID)


@pytest.mark.parametrize("change", [{"endToEndId": "E1"}, {"endToEndId": None}, {"valor": "8559"}, {"valor": "1e3"}, {"valor": "-1.00"}])
def test_a_receipt_that_cannot_be_read_is_not_passed_over_in_silence(api, bank, change):
    bank.pay(TXID, 8559)
    bank.received[0].update(change)
    with pytest.raises(BankUnavailable):
        list(api.list_received(NOW, NOW))


def test_a_pix_of_nothing_but_cash_is_no_payment(api, bank):
    bank.pay(TXID, 0)
    assert list(api.list_received(NOW, NOW)) == []


@pytest.mark.parametrize("moment", ["", None, "yesterday", "2026-03-02T12:00:00"])
def test_a_receipt_without_a_readable_hour_has_come_now(api, bank, moment):
    api.create(TXID, Money(8559), 1200)
    bank.pay(TXID, 8559)
    bank.received[0]["horario"] = moment
    bank.now = NOW + timedelta(minutes=1)
    assert api.read(TXID).receipts[0].paid_at == bank.now


def test_a_token_is_fetched_once_and_again_before_it_ends(api, bank):
    for _n in range(3):
        with pytest.raises(BankRefused):
            api.read(UNKNOWN)
    assert bank.calls["POST token"] == 1
    for seconds, fetched in ((269, 1), (270, 2), (539, 2), (540, 3)):
        bank.now = NOW + timedelta(seconds=seconds)
        with pytest.raises(BankRefused):
            api.read(UNKNOWN)
        assert bank.calls["POST token"] == fetched


def test_a_token_that_was_withdrawn_is_fetched_again(api, bank):
    api.create(TXID, Money(8559), 1200)
    bank.tokens.clear()
    assert api.read(TXID).amount == Money(8559)
    assert bank.calls["POST token"] == 2


@pytest.mark.parametrize("fault", [500, 503, "silent", "garbage"])
def test_no_token_is_no_answer(api, bank, fault):
    bank.faults["POST token"] = [fault, fault]
    with pytest.raises(BankUnavailable):
        api.read(TXID)
    assert bank.calls["GET cob"] == 0


def test_a_wrong_secret_is_no_answer_and_stands_in_no_message(bank):
    with pytest.raises(BankUnavailable, match="token_401") as refused:
        BankApi(bank.access(client_secret="another secret")).read(TXID)
    assert "another secret" not in repr(refused.value) + repr(bank.access(client_secret="another secret"))
    assert SECRET not in repr(bank.access())


def test_the_bank_learns_where_to_call_and_tells_it(api, bank):
    api.register_webhook("https://embarque.example/hooks")
    assert (bank.webhook_url, api.webhook()) == ("https://embarque.example/hooks", "https://embarque.example/hooks")


# --- certificates --------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A certificate for the loopback with its key, and one of a stranger."""
    folder = tmp_path_factory.mktemp("papers")
    for name in ("bank", "client", "stranger"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.pem"],
            cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def strict_bank(papers):
    """A bank that speaks only to who shows the client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(papers / "bank.pem", papers / "bank.key")
    context.load_verify_locations(papers / "client.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with opened(FakeBank(), ssl_context=context) as bank:
        bank.url = bank.url.replace("http:", "https:")
        yield bank


def test_the_bank_is_shown_a_certificate_and_must_show_one(strict_bank, papers):
    def read(who: str, authority: str) -> None:
        access = strict_bank.access(certificate=str(papers / f"{who}.pem"), certificate_key=str(papers / f"{who}.key"),
                                    authorities=str(papers / f"{authority}.pem"))
        BankApi(access, clock=lambda: NOW).read(TXID)

    with pytest.raises(BankRefused, match="not_found"):
        read("client", "bank")
    for who, authority in (("stranger", "bank"), ("client", "stranger")):
        with pytest.raises(BankUnavailable):
            read(who, authority)
    with pytest.raises(BankUnavailable):
        BankApi(strict_bank.access(authorities=str(papers / "bank.pem"))).read(TXID)
