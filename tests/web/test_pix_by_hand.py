"""A PIX without a bank's contract, in the browser: an agent confirms it, the office works off what must go back."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from kernel.clock import utc_now
from kernel.db import Database
from kernel.money import Money
from tests.browser import COUNTER
from tests.server import demonstration, serving
from tests.ticketing.pix import e2e
from tests.web.test_first_life import shot, sign_in
from ticketing.payments import charges
from ticketing.payments.models import Payout, Receipt
from ticketing.payments.providers import StaticCode

pytestmark = pytest.mark.browser
STATIC = {"PIX_PROVIDER": "static", "PIX_KEY": "key@example.com", "PIX_NAME": "Viação de Teste", "PIX_CITY": "Criciúma"}


@pytest.fixture(scope="module")
def live_server(templates):
    """The demonstration without its bank: a static code to a key."""
    with demonstration(templates, "sqlite") as env, serving({**env, **STATIC}) as server:
        yield server


@pytest.fixture
def owed(live_server):
    """A charge that waits for its PIX, and a payout of each kind."""
    database, now = Database(live_server.database_url), utc_now()
    with database.transaction() as session:
        charges.open_charge(session, StaticCode("k", "V", "C"), subject="PURCHASE", amount=Money(8559),
                            expires_at=now + timedelta(minutes=10), now=now)
        for n, (reason, status) in enumerate([("unknown", "due"), ("late", "refused"), ("refund", "sent"), ("over", "due")]):
            session.add(Receipt(e2e_id=e2e(n), txid=None, amount=Money(8559), paid_at=now, received_at=now, source="bank", actor="t"))
            session.flush()
            session.add(Payout(reason=reason, e2e_id=e2e(n), subject=f"PURCHAS{n}", amount=Money(8559), status=status,
                               return_id=f"R{n}", attempt=1, created_at=now - timedelta(minutes=n)))
    database.engine.dispose()


def test_an_agent_confirms_by_keyboard_and_the_office_works_off_what_goes_back(open_page, owed, axe):
    page = open_page(**COUNTER)
    sign_in(page, "agente")
    page.get_by_role("link", name="PIX").click()
    expect(page.get_by_label("Código da compra")).to_be_focused()
    page.keyboard.type("purchase")
    page.keyboard.press("F12")
    expect(page.get_by_label("Identificador do PIX")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Código da compra")).to_have_value("purchase")
    axe(page)
    shot(page, "counter-pix-refused")
    page.get_by_label("Identificador do PIX").fill(e2e(99, utc_now()))
    page.get_by_label("Valor recebido").fill("85,59")
    page.keyboard.press("F12")
    expect(page.get_by_text("o valor vai ser devolvido")).to_be_visible()
    axe(page)
    shot(page, "counter-pix")

    page = open_page(**COUNTER)
    sign_in(page, "escritorio")
    page.get_by_role("link", name="PIX").click()
    rows = page.locator("section.card")
    expect(rows).to_have_count(5)
    axe(page)
    page.locator("summary", has_text="Resolver").first.press("Enter")
    axe(page)
    shot(page, "office-payouts", whole=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    page.get_by_role("button", name="Já devolvi por fora").first.click()
    expect(page.get_by_label("Comprovante da transferência").first).to_have_attribute("aria-invalid", "true")
    axe(page)
    page.get_by_label("Comprovante da transferência").first.fill("TED-12345")
    page.get_by_role("button", name="Já devolvi por fora").first.click()
    expect(page.get_by_text(re.compile("devolvido por fora"))).to_be_visible()
    expect(rows).to_have_count(4)
