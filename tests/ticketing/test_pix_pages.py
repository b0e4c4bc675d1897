"""The counter confirms a PIX by hand, the office works off what must go back, and commands speak to the bank."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from kernel.money import Money
from tests.instants import NOW
from tests.ticketing.fake_bank import KEY, SECRET, opened
from tests.ticketing.pix import asked, books, e2e, look, payouts, sale
from ticketing.payments.desk import Desk
from ticketing.payments.models import Payout, Receipt

STATIC = {"PIX_PROVIDER": "static", "PIX_KEY": KEY, "PIX_NAME": "Viação de Teste", "PIX_CITY": "Criciúma"}
FORM = {"code": "booking1", "e2e_id": e2e(1), "amount": "85,59"}


@pytest.fixture
def pix_settings():
    """What the application's settings say of PIX."""
    return STATIC


@pytest.fixture
def settings(settings, pix_settings):
    return replace(settings, pix=pix_settings)


@pytest.fixture
def own_desk(app):
    """The application's desk, whose sales write the ledger alone."""
    desk = app.extensions["pix_desk"] = Desk(app.extensions["database"], app.extensions["pix_desk"].bank, sale)
    return desk


def owed(desk, n: int = 1, **values) -> int:
    """A payout that waits for a person; its id."""
    with desk.database.transaction() as session:
        session.add(Receipt(e2e_id=e2e(n), txid=None, amount=Money(700), paid_at=NOW, received_at=NOW, source="bank", actor="t"))
        session.flush()
        payout = Payout(**{"reason": "unknown", "e2e_id": e2e(n), "subject": "-", "amount": Money(700), "status": "due",
                           "return_id": f"R{n}", "attempt": 1, "created_at": NOW, **values})
        session.add(payout)
        session.flush()
        return payout.id


def test_an_agent_confirms_a_pix(signed_in, own_desk):
    asked(own_desk)
    agent = signed_in("agent")
    assert "Confirmar o PIX" in agent.get("/counter/pix").text
    answer = agent.post("/counter/pix", data=FORM)
    assert (answer.status_code, answer.location) == (303, "/counter/pix")
    assert "PIX confirmado" in agent.get("/counter/pix").text
    assert look(own_desk, books) == {e2e(1): 0}
    assert look(own_desk, lambda session: session.scalars(select(Receipt)).one().actor) == agent.login
    agent.post("/counter/pix", data=FORM)
    assert "já estava confirmado" in agent.get("/counter/pix").text


@pytest.mark.parametrize(("change", "status", "field"), [
    ({"e2e_id": "E1"}, 422, "f-e2e_id"), ({"amount": "abc"}, 422, "f-amount"), ({"amount": "-1"}, 422, "f-amount"),
    ({"amount": "0"}, 422, "f-amount"), ({"code": "NOTHING"}, 404, None), ({"code": ""}, 422, "f-code"),
    ({"code": "", "e2e_id": "", "amount": ""}, 422, "f-code"), ({"code": "", "e2e_id": "", "amount": ""}, 422, "f-amount")])
def test_a_slip_of_the_hand_keeps_what_was_typed_and_records_nothing(signed_in, own_desk, change, status, field):
    asked(own_desk)
    answer = signed_in("agent").post("/counter/pix", data={**FORM, **change})
    assert answer.status_code == status
    assert field is None or f'id="{field}-error"' in answer.text
    assert all(f'value="{value}"' in answer.text for value in {**FORM, **change}.values() if value)
    assert look(own_desk, books) == {}


@pytest.mark.parametrize("role", ["driver", "office", "inspector"])
def test_only_who_sells_confirms(signed_in, own_desk, role):
    assert signed_in(role).post("/counter/pix", data=FORM).status_code == 403


@pytest.mark.parametrize("role", ["agent", "supervisor", "driver", "inspector"])
def test_only_the_office_decides_what_goes_back(signed_in, own_desk, role):
    payout = owed(own_desk)
    client = signed_in(role)
    assert client.get("/office/payouts").status_code == 403
    for act in ("bank", "paid", "kept"):
        assert client.post(f"/office/payouts/{payout}/{act}", data={"reference": "TED-1"}).status_code == 403
    assert look(own_desk, payouts) == [("unknown", 700, "due")]


@pytest.mark.parametrize(("act", "data", "status"), [("paid", {"reference": "TED-1"}, "done"), ("kept", {}, "kept")])
def test_the_office_works_off_what_waits(signed_in, own_desk, act, data, status):
    payout = owed(own_desk)
    office = signed_in("office")
    assert "espera você" in office.get("/office/payouts").text
    assert office.post(f"/office/payouts/{payout}/{act}", data=data).status_code == 303
    assert look(own_desk, payouts) == [("unknown", 700, status)]
    assert "Nada a devolver" in office.get("/office/payouts").text
    assert office.post(f"/office/payouts/{payout}/{act}", data=data).status_code == 409


def test_a_transfer_without_its_slip_is_asked_for_it(signed_in, own_desk):
    payout = owed(own_desk)
    answer = signed_in("office").post(f"/office/payouts/{payout}/paid", data={"reference": ""})
    assert answer.status_code == 422
    assert f'id="f-reference-{payout}-error"' in answer.text
    assert look(own_desk, payouts) == [("unknown", 700, "due")]


def test_every_reason_and_state_has_its_words(signed_in, own_desk):
    states = [("late", "refused", "no"), ("short", "sent", "processing"), ("over", "due", None), ("repeated", "due", None),
              ("refund", "due", None), ("unknown", "due", "asked")]
    for n, (reason, status, outcome) in enumerate(states):
        owed(own_desk, n, reason=reason, status=status, outcome=outcome, subject=f"CODE{n}")
    page = signed_in("office").get("/office/payouts").text
    assert page.count("R$") == 6
    assert page.count("Resolver") == 1


def test_an_unknown_payout_is_not_found(signed_in, own_desk):
    assert signed_in("office").post("/office/payouts/999/kept").status_code == 404


class TestWithBank:
    """The settings name a bank with API Pix, which listens on the loopback."""

    @pytest.fixture
    def bank(self):
        with opened() as bank:
            yield bank

    @pytest.fixture
    def pix_settings(self, bank):
        return {**STATIC, "PIX_PROVIDER": "bank", "PIX_BASE_URL": bank.url, "PIX_TOKEN_URL": f"{bank.url}/oauth/token",
                "PIX_CLIENT_ID": "embarque", "PIX_CLIENT_SECRET": SECRET}

    def test_the_counter_has_nothing_to_confirm(self, signed_in, own_desk):
        asked(own_desk)
        agent = signed_in("agent")
        assert "O banco confirma o PIX sozinho" in agent.get("/counter/pix").text
        assert agent.post("/counter/pix", data=FORM).status_code == 409

    def test_the_office_has_the_bank_send_back_what_it_refused(self, signed_in, own_desk, bank):
        bank.pay(None, 700, e2e_id=e2e(1))
        payout = owed(own_desk, status="refused", outcome="no")
        office = signed_in("office")
        assert "Devolver pelo banco" in office.get("/office/payouts").text
        assert office.post(f"/office/payouts/{payout}/bank").status_code == 303
        own_desk.work_off(now=NOW)
        assert (bank.returned(e2e(1)), list(bank.returns)) == (700, [(e2e(1), "R1A2")])

    def test_the_operator_tells_the_bank_where_to_call(self, app, bank):
        run = app.test_cli_runner().invoke
        assert "Registre um" in run(args=["pix", "webhook"]).output
        assert run(args=["pix", "webhook", "https://embarque.example/hooks/"]).output == "O banco chama https://embarque.example/hooks/pix.\n"
        assert bank.webhook_url == "https://embarque.example/hooks"
        for wrong in ("http://embarque.example/hooks", "embarque.example", "https://embarque.example/hooks/pix", ""):
            assert run(args=["pix", "webhook", wrong]).exit_code == 1
        bank.faults["PUT webhook"] = [503]
        told = run(args=["pix", "webhook", "https://embarque.example/hooks"])
        assert (told.exit_code, "http_503" in told.output) == (1, True)

    def test_the_operator_asks_the_bank_now(self, app, own_desk, bank):
        run = app.test_cli_runner().invoke
        assert run(args=["pix", "reconcile"]).output == "Nada de novo.\n"
        bank.pay(asked(own_desk), 9000)
        app.extensions["clock"] = lambda: NOW + timedelta(minutes=1)
        assert run(args=["pix", "reconcile"]).output == "sent=1 settled=1\n"


class TestWithoutPix:
    """The settings name no bank."""

    @pytest.fixture
    def pix_settings(self):
        return {}

    def test_nothing_is_confirmed_and_commands_say_why(self, app, signed_in):
        agent = signed_in("agent")
        assert agent.get("/counter/pix").status_code == 200
        assert agent.post("/counter/pix", data=FORM).status_code == 409
        assert signed_in("office").get("/office/payouts").status_code == 200
        for args in (["pix", "webhook"], ["pix", "reconcile"]):
            told = app.test_cli_runner().invoke(args=args)
            assert (told.exit_code, "PIX_PROVIDER" in told.output) == (1, True)
