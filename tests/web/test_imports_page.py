"""The office brings in a feed on its own screen, sees what was refused, and whom a changed feed touches.

With SCREENSHOTS=<folder> in the environment the pages are photographed.
"""

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from kernel.clock import utc_now
from kernel.db import Database
from tests.browser import COUNTER, PHONE
from tests.ticketing.test_imports_changes import EARLIER
from tests.ticketing.test_imports_gtfs import TABLES, zipped
from tests.web.test_first_life import shot, sign_in
from ticketing.network.models import Slot, Trip
from ticketing.sales.service import hold_seat

pytestmark = pytest.mark.browser
FLAWED = {**TABLES, "trips.txt": TABLES["trips.txt"] + "R9,UTEIS,T3\n"}


def send(page, path):
    page.get_by_label("Arquivo", exact=True).set_input_files(path)
    page.get_by_label("Só para experimentar").check()
    page.get_by_label("Abrir viagens por quantos dias").fill("5")
    page.get_by_role("button", name="Importar").click()
    expect(page.get_by_role("heading", name="feed.zip")).to_be_visible()


def test_a_feed_comes_in_on_the_offices_screen(open_page, live_server, axe, tmp_path):
    page = open_page(**COUNTER)
    sign_in(page, "escritorio")
    page.get_by_role("link", name="Importar").click()
    expect(page.get_by_role("heading", name="Importar", exact=True)).to_be_visible()
    axe(page)
    shot(page, "imports-form", whole=True)

    page.get_by_role("button", name="Importar").click()
    expect(page.get_by_text("Escolha o arquivo.").first).to_be_visible()
    axe(page)

    send(page, zipped(tmp_path, FLAWED))
    expect(page.get_by_text("A linha R9 não existe")).to_be_visible()
    axe(page)
    shot(page, "imports-refused", whole=True)

    database = Database(live_server.database_url)
    with database.transaction() as session:
        now = utc_now()
        trip = session.scalars(select(Trip).join(Slot, Trip.slot_id == Slot.id).where(
            Slot.code == "feed:T1", Trip.departs_at > now).order_by(Trip.departs_at)).first()
        hold_seat(session, trip.id, 0, 2, 9, now=now, actor="tests")
        trip_id = trip.id
    database.engine.dispose()
    send(page, zipped(tmp_path, EARLIER))
    touched = page.locator(f'a[href$="/office/trips/{trip_id}"]')
    expect(touched).to_be_visible()
    axe(page)
    shot(page, "imports-changes", whole=True)
    phone = page.context.browser.new_context(**PHONE, storage_state=page.context.storage_state(), base_url=live_server.url)
    small = phone.new_page()
    small.goto("/office/imports")
    assert small.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    axe(small)
    shot(small, "imports-phone", whole=True)
    phone.close()
    touched.click()
    expect(page.get_by_role("heading", name="Paradas")).to_be_visible()
