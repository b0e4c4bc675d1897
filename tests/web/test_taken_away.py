"""What people take away and hold, as they do it in a browser: the ticket's PDF, an inspected trip, a legal hold."""

import re
from datetime import timedelta
from pathlib import Path

import pypdfium2
import pytest
import zxingcpp
from playwright.sync_api import Page, expect

from kernel.clock import utc_now
from tests.browser import COUNTER, PHONE
from tests.web.test_first_life import (
    choose,
    fill_passenger,
    sell,
    shot,
    sign_in,
    trips,  # noqa: F401 - a fixture
)

pytestmark = pytest.mark.browser
NAME = "João D'Ávila da Conceição de Teste"


@pytest.fixture(scope="module")
def sold() -> dict[str, str]:
    return {}


def taken(page: Page, link: str) -> tuple[str, bytes]:
    """The name and the bytes of the file that a link saves."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name=link, exact=True).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def test_1_the_passenger_and_the_agent_save_the_ticket_as_a_pdf(open_page, trips, sold, axe):  # noqa: F811
    page = open_page(**COUNTER)
    sign_in(page, "agente")
    page.get_by_label("Troco inicial").fill("150,00")
    page.keyboard.press("F12")
    expect(page.get_by_text("Caixa aberto.")).to_be_visible()
    choose(page, trips["32-1"], 0, 3)
    fill_passenger(page, NAME, "4.321.098")
    sold["code"] = code = sell(page, 14)
    page.goto(f"/counter/tickets/{code}")
    axe(page)
    shot(page, "counter-ticket")
    name, paper = taken(page, "Baixar PDF")
    assert name == f"bilhete-{code}.pdf"
    page.goto(f"/counter/tickets/{code}/print")
    link = re.search(r"/passes/[A-Z0-9]{8}/[\w-]{22}", page.content()).group()
    phone = open_page(**PHONE)
    phone.goto(link)
    axe(phone)
    shot(phone, "pass", whole=True)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    assert taken(phone, "Baixar PDF") == (name, paper)
    sheet = pypdfium2.PdfDocument(paper)[0]
    assert NAME in re.sub(r"\s+", " ", sheet.get_textpage().get_text_range())
    assert zxingcpp.read_barcodes(sheet.render(scale=2).to_pil())[0].text.startswith("BP1:")


def test_2_the_inspector_takes_the_trip_away_and_counts_identities(open_page, trips, sold, axe):  # noqa: F811
    page = open_page(**COUNTER)
    sign_in(page, "fiscal")
    page.goto(f"/inspector/trips/{trips['32-1']['id']}")
    axe(page)
    shot(page, "inspector-trip")
    name, rows = taken(page, "CSV")
    assert name.endswith(".csv") and NAME in rows.decode("utf-8-sig")
    name, paper = taken(page, "PDF")
    assert NAME in re.sub(r"\s+", " ", pypdfium2.PdfDocument(paper)[0].get_textpage().get_text_range())
    page.get_by_role("link", name="Identificação").click()
    page.get_by_label("Até o dia").fill((utc_now().date() + timedelta(days=2)).isoformat())
    page.get_by_label("Linha").select_option("32-1")
    page.get_by_role("button", name="Mostrar").click()
    expect(page.get_by_text("Completo.")).to_be_visible()
    assert "line=32-1" in page.url and "until=" in page.url
    axe(page)
    shot(page, "inspector-completeness", whole=True)
    assert taken(page, "CSV por viagem")[1].decode("utf-8-sig").count("32-1") >= 1


def test_3_the_office_holds_a_trip_by_keyboard_and_lets_it_go(open_page, trips, sold, axe):  # noqa: F811
    page = open_page(**COUNTER)
    sign_in(page, "escritorio")
    page.goto(f"/office/trips/{trips['32-1']['id']}")
    axe(page)
    page.get_by_role("link", name="Guarda legal").press("Enter")
    page.get_by_role("button", name="Guardar as identidades").press("Enter")
    for field in ("Processo ou ofício", "Último dia da guarda"):
        expect(page.get_by_label(field)).to_have_attribute("aria-invalid", "true")
    axe(page)
    shot(page, "office-hold-refused")
    page.get_by_label("Processo ou ofício").fill("Ofício 12/2026")
    page.get_by_label("Último dia da guarda").fill((utc_now().date() + timedelta(days=700)).isoformat())
    page.get_by_role("button", name="Guardar as identidades").press("Enter")
    expect(page.get_by_text("em vigor até")).to_be_visible()
    axe(page)
    shot(page, "office-holds")
    page.locator("summary", has_text="Encerrar").press("Enter")
    axe(page)
    shot(page, "office-holds-ending")
    page.get_by_role("button", name="Encerrar a guarda").press("Enter")
    expect(page.get_by_text("Marque a caixa")).to_be_visible()
    axe(page)
    page.get_by_label("A autoridade liberou os dados.").press(" ")
    page.get_by_role("button", name="Encerrar a guarda").press("Enter")
    expect(page.get_by_text("Identidades de volta ao seu prazo: 1.")).to_be_visible()
    axe(page)
    shot(page, "office-holds-ended")
    page.goto("/office/shifts")
    axe(page)
    shot(page, "office-shifts")
    assert taken(page, "CSV")[0] == "caixas.csv"
