"""A passenger alone on a small phone: search, PIX in the demonstration's bank, passes for two people, one paid back.

With SCREENSHOTS=docs/screenshots in the environment the pages are photographed.
"""

import os
import re
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kernel.clock import local_date, utc_now
from tests.browser import HERE, PHONE

pytestmark = pytest.mark.browser
SHOTS = os.environ.get("SCREENSHOTS")
PEOPLE = (("Ana D'Ávila de Teste", "4.321.098"), ("Nguyễn Thị Hồng de Teste", "12.000.107-X"))


@pytest.fixture(scope="module")
def day():
    """A day on which everything may still be paid back whole, whatever hour the tests run at."""
    return local_date(utc_now(), "America/Sao_Paulo") + timedelta(days=3)


@pytest.fixture
def check(axe):
    """`check(page, name)` fails on a barrier and on a page that is wider than the phone; takes the picture."""

    def look(page: Page, name: str) -> None:
        page.wait_for_load_state("networkidle")
        axe(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.url
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{SHOTS}/passenger-{name}.png", full_page=True)

    return look


def search(page: Page, day, origin: str = "criciuma", destination: str = "florianopolis") -> None:
    page.goto("/")
    page.get_by_label("De", exact=True).fill(origin)
    page.get_by_label("Para", exact=True).fill(destination)
    page.locator("#f-day").fill(day.isoformat())
    page.get_by_role("button", name="Ver horários").click()


def choose(page: Page, *seats: int) -> None:
    page.locator(".departure a").first.click()
    for seat in seats:
        page.locator(f"#seat-{seat}").check(force=True)


def fill(page: Page) -> None:
    for n, (name, number) in enumerate(PEOPLE, 1):
        page.locator(f"#f-document_kind-{n}").select_option("RG")
        page.locator(f"#f-name-{n}").fill(name)
        page.locator(f"#f-document_number-{n}").fill(number)
        page.locator(f"#f-document_issuer-{n}").fill("SSP/SC")


def test_two_people_search_pay_travel_and_one_is_paid_back(phone, day, check):
    phone.goto("/")
    origin = phone.get_by_label("De", exact=True)
    origin.press_sequentially("crici")
    expect(phone.get_by_role("option", name="Criciúma, SC")).to_be_visible()
    check(phone, "search")
    origin.press("ArrowDown")
    origin.press("Enter")
    expect(origin).to_have_value("Criciúma, SC")
    phone.get_by_label("Para", exact=True).fill("florianopolis")
    phone.get_by_label("Para", exact=True).press("Escape")
    phone.locator("#f-day").fill(day.isoformat())
    phone.get_by_role("button", name="Ver horários").click()
    expect(phone.get_by_role("heading", name="De Criciúma para Florianópolis")).to_be_attached()
    phone.locator("summary").first.click()
    expect(phone.get_by_text("Taxa de embarque").first).to_be_visible()
    check(phone, "departures")
    choose(phone, 14, 15)
    expect(phone.locator("[data-chosen]")).to_have_text("poltronas 14, 15")
    check(phone, "seats")
    phone.get_by_role("button", name="Reservar").click()
    expect(phone.locator("[data-left]")).to_have_text(re.compile(r"Reservado por (9|10) min"))
    check(phone, "people")
    phone.get_by_role("button", name="Ir ao pagamento").click()
    expect(phone.get_by_role("link", name="Passageiro 2: Informe o nome do passageiro.")).to_be_visible()
    check(phone, "people-wrong")
    fill(phone)
    phone.get_by_role("button", name="Ir ao pagamento").click()
    expect(phone.get_by_role("img", name="QR do PIX")).to_be_visible()
    expect(phone.get_by_label("PIX copia e cola")).to_have_value(re.compile(r"^000201.*6304[0-9A-F]{4}$"))
    check(phone, "payment")
    phone.get_by_role("button", name="Mais tempo").click()
    expect(phone.locator("[data-left]")).to_have_text(re.compile(r"Reservado por (19|20) min"))
    phone.get_by_role("button", name="Já paguei").click()
    expect(phone.get_by_text("O pagamento ainda não chegou")).to_be_visible()
    phone.get_by_role("button", name="Fazer de conta que paguei").click()
    expect(phone.get_by_role("heading", name="Minha viagem")).to_be_visible()
    expect(phone.get_by_text("pronto para embarcar")).to_have_count(2)
    check(phone, "trip")
    for n, (name, _number) in enumerate(PEOPLE):
        phone.get_by_role("link", name="Abrir bilhete").nth(n).click()
        expect(phone.get_by_role("img", name="QR do bilhete")).to_be_visible()
        expect(phone.get_by_text(name)).to_be_visible()
        phone.go_back()
    phone.get_by_role("link", name="Devolver").nth(1).click()
    expect(phone.get_by_text("devolução integral").first).to_be_visible()
    check(phone, "refund")
    phone.get_by_role("button", name=re.compile("Devolver e receber")).click()
    expect(phone.get_by_text("a poltrona está à venda de novo")).to_be_visible()
    check(phone, "refunded")
    phone.get_by_role("link", name="Voltar à viagem").click()
    expect(phone.get_by_text("pronto para embarcar")).to_have_count(1)
    expect(phone.get_by_role("link", name="Ver devolução")).to_be_visible()


def test_the_page_that_waits_goes_on_by_itself_when_the_money_comes(open_page, day):
    phone = open_page(**PHONE)
    search(phone, day, "florianopolis", "balneario camboriu")
    choose(phone, 3)
    phone.get_by_role("button", name="Reservar").click()
    phone.get_by_role("button", name="Gerar código PIX").click()
    expect(phone.get_by_role("img", name="QR do PIX")).to_be_visible()
    other = phone.context.new_page()
    other.goto(phone.url)
    other.get_by_role("button", name="Fazer de conta que paguei").click()
    expect(other.get_by_role("heading", name="Minha viagem")).to_be_visible()
    phone.bring_to_front()
    expect(phone.get_by_role("heading", name="Minha viagem")).to_be_visible(timeout=20_000)


def test_seats_are_chosen_by_keyboard_alone(page, day):
    search(page, day)
    page.locator(".departure a").first.focus()
    page.keyboard.press("Enter")
    page.locator("#seat-21").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("[data-chosen]")).to_have_text("poltronas 21, 22")
    expect(page.get_by_role("checkbox", name=re.compile("Poltrona 21 ?, janela, livre"))).to_be_checked()
    page.get_by_role("button", name="Reservar").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Quem viaja")).to_be_visible()


def test_the_clock_is_calm_until_two_minutes_remain(phone, day):
    phone.clock.install()
    search(phone, day)
    choose(phone, 27)
    phone.get_by_role("button", name="Reservar").click()
    clock, said = phone.locator("[data-clock]"), phone.locator("[data-clock-said]")
    expect(clock).to_have_text(re.compile("Reservado por"))
    phone.clock.run_for(60_000 * 6)
    expect(clock).not_to_have_class(re.compile("clock--soon"))
    expect(said).to_have_text("Faltam 5 minutos para terminar a compra.")
    phone.clock.run_for(60_000 * 2 + 5_000)
    expect(clock).to_have_class(re.compile("clock--soon"))
    expect(clock).to_have_text(re.compile(r"Faltam 1:\d\d"))
    expect(said).to_have_text("Faltam 2 minutos para terminar a compra.")
    phone.clock.run_for(60_000 * 2)
    expect(clock).to_have_text("O tempo acabou")


def test_everything_but_the_countdown_works_without_javascript(browser, live_server, day):
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False, **PHONE, **HERE)
    try:
        phone = context.new_page()
        search(phone, day)
        choose(phone, 33, 34)
        phone.get_by_role("button", name="Reservar").click()
        expect(phone.locator("[data-left]")).to_have_text(re.compile(r"Reservado até \d\d:\d\d"))
        fill(phone)
        phone.get_by_role("button", name="Ir ao pagamento").click()
        phone.get_by_role("button", name="Já paguei").click()
        phone.get_by_role("button", name="Fazer de conta que paguei").click()
        expect(phone.get_by_text("pronto para embarcar")).to_have_count(2)
        phone.get_by_role("link", name="Devolver").first.click()
        phone.get_by_role("button", name=re.compile("Devolver e receber")).click()
        expect(phone.get_by_text("Volta por PIX")).to_be_visible()
    finally:
        context.close()
