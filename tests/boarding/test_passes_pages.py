"""The passenger's pages over HTTP: only the link opens them, the code can be read, markup stays characters."""

import html
import io
import re

import pypdfium2
import pytest
import zxingcpp
from PIL import Image

from boarding.passes.service import link_token
from boarding.passes.signing import Outcome, verify
from kernel.login import limiter

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def opened(door):
    """`opened(code)` is the address of a ticket's page."""
    def address(code):
        return f"/passes/{code}/{door.show(code).link}"
    return address


def read_svg(markup):
    """The text of the QR drawn in a page, read by an independent decoder from its path."""
    side = int(re.search(r'viewBox="0 0 (\d+)', markup)[1])
    picture = Image.new("L", (side, side), 255)
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1", re.search(r'fill="#000" d="([^"]+)"', markup)[1]):
        for step in range(int(length)):
            picture.putpixel((int(x) + step, int(y)), 0)
    return zxingcpp.read_barcodes(picture.resize((side * 6, side * 6), Image.Resampling.NEAREST))[0].text


def test_page_picture_and_prints_carry_the_same_pass(door, client, opened, signed_in):
    code = door.sell(seat=5)
    token, url = door.token(code), opened(code)
    picture = client.get(url + "/image.png")
    assert picture.content_type == "image/png"
    assert zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.data)))[0].text == token
    agent = signed_in("agent", stop_id=door.world.stops[0])
    for page in (client.get(url), client.get(url + "/print"), agent.get(f"/counter/tickets/{code}/print")):
        assert page.status_code == 200
        assert page.headers["Cache-Control"] == "no-store"
        markup = page.get_data(as_text=True)
        assert read_svg(markup) == token
        for shown in (code, "Passageira de Teste", "RG 4.321.098 SSP/SC", "Devolução integral até 02/03/2026 18:30",
                      "horário de Brasília", url):
            assert shown in html.unescape(markup)
    assert verify(token, door.issuer.keys.public_keys).outcome is Outcome.OK


def test_the_paper_is_one_file_named_by_its_code_with_the_same_pass(door, client, opened, signed_in):
    code = door.sell(seat=5)
    token, url = door.token(code), opened(code)
    agent = signed_in("agent", stop_id=door.world.stops[0])
    for answer in (client.get(url + "/ticket.pdf"), agent.get(f"/counter/tickets/{code}/ticket.pdf")):
        assert (answer.status_code, answer.content_type) == (200, "application/pdf")
        assert answer.headers["Content-Disposition"] == f'attachment; filename="bilhete-{code}.pdf"'
        assert answer.headers["Cache-Control"] == "no-store"
        page = pypdfium2.PdfDocument(answer.data)[0]
        assert "Passageira de Teste" in page.get_textpage().get_text_range()
        assert zxingcpp.read_barcodes(page.render(scale=2).to_pil())[0].text == token
    assert f"{url}/ticket.pdf" in client.get(url).text
    assert f"/counter/tickets/{code}/ticket.pdf" in agent.get(f"/counter/tickets/{code}").text


def test_a_first_look_at_the_paper_makes_the_pass(door, client, opened):
    code = door.sell(seat=5)
    link = link_token(code, 1, door.issuer.link_secret)
    answer = client.get(f"/passes/{code}/{link}/ticket.pdf")
    assert verify(zxingcpp.read_barcodes(pypdfium2.PdfDocument(answer.data)[0].render(scale=2).to_pil())[0].text,
                  door.issuer.keys.public_keys).outcome is Outcome.OK


@pytest.mark.parametrize("tail", ["", "/image.png", "/print", "/ticket.pdf"])
def test_without_the_link_a_ticket_is_not_there(door, client, opened, signed_in, tail):
    mine, other = door.sell(seat=5), door.sell(seat=6)
    link = opened(mine).rpartition("/")[2]
    strangers = (client, signed_in("driver"), signed_in("agent"))
    answers = {(answer.status_code, re.sub(r"[0-9a-f]{16}", "", answer.get_data(as_text=True)))
               for who in strangers[:1]
               for answer in (who.get(f"/passes/{code}/{told}{tail}")
                              for code, told in ((other, link), (other, "a" * 22), ("00000000", link), ("é", "é")))}
    assert len(answers) == 1
    assert answers.pop()[0] == 404
    for who in strangers[1:]:
        assert who.get(f"/passes/{other}/{link}{tail}").status_code == 404


@pytest.mark.parametrize("form", ["print", "ticket.pdf"])
def test_the_counters_print_is_for_those_who_sell(door, client, signed_in, form):
    url = f"/counter/tickets/{door.sell(seat=5)}/{form}"
    assert client.get(url).status_code == 303
    assert signed_in("driver").get(url).status_code == 403


@pytest.mark.parametrize("status", ["refunded", "voided"])
def test_a_ticket_that_was_paid_back_says_so_and_shows_no_code(door, client, opened, status):
    code = door.sell(seat=5)
    url = opened(code)
    door.settle(code, status)
    markup = client.get(url).get_data(as_text=True)
    assert "não embarca mais" in markup
    assert 'class="qr"' not in markup and "BP1:" not in markup
    assert client.get(url + "/image.png").status_code == client.get(url + "/print").status_code == 409


def test_after_erasure_the_page_says_so(door, client, opened):
    code = door.sell(seat=5)
    url = opened(code)
    door.issuer.vault.advance(door.world.day.replace(year=2027, day=4), days_limit=400)
    markup = client.get(url).get_data(as_text=True)
    assert "Identificação apagada" in markup
    assert "Passageira" not in markup


def test_a_typed_code_and_link_open_the_page_and_a_pasted_address_too(door, client, opened):
    code = door.sell(seat=5)
    url = opened(code)
    for link in (url.rpartition("/")[2], f"https://exemplo.invalid{url}", f" {url}/ "):
        answer = client.post("/passes", data={"code": f"{code[:4].lower()} {code[4:]}", "link": link})
        assert (answer.status_code, answer.location) == (303, url)
    refused = client.post("/passes", data={"code": code, "link": "errado"})
    assert refused.status_code == 404
    assert code in refused.get_data(as_text=True)
    assert client.post("/passes", data={}).status_code == 404
    assert client.get("/passes").status_code == 200


def test_markup_in_a_name_is_characters_on_every_form_of_the_ticket(door, client, opened, signed_in):
    code = door.sell(seat=5, identity={
        "name": EVIL, "document_kind": "RG", "document_number": "4.321.098", "document_issuer": "SSP/SC"})
    agent = signed_in("agent", stop_id=door.world.stops[0])
    for page in (client.get(opened(code)), client.get(opened(code) + "/print"),
                 agent.get(f"/counter/tickets/{code}/print")):
        markup = page.get_data(as_text=True)
        assert "<img src=x" not in markup
        assert EVIL in html.unescape(markup)
        assert "'unsafe-inline'" not in page.headers["Content-Security-Policy"]


def test_the_worker_that_keeps_tickets_sees_no_other_page(client):
    script = client.get("/passes/sw.js")
    assert script.status_code == 200
    assert script.content_type.startswith("text/javascript")
    assert script.headers["Cache-Control"] == "no-cache"
    assert "Service-Worker-Allowed" not in script.headers


def test_one_ticket_is_not_drawn_without_end(door, client, opened, monkeypatch):
    monkeypatch.setattr(limiter, "enabled", True)
    monkeypatch.setattr("boarding.passes.views.ticket_png", lambda blocks, token: b"picture")
    limiter.reset()
    code, other = door.sell(seat=5), opened(door.sell(seat=6))
    url = opened(code)
    shapes = [url, url.replace(code, code.lower()), url.replace(code, f"{code[:4]}-{code[4:]}")]
    answers = [client.get(shapes[n % 3] + "/image.png").status_code for n in range(21)]
    assert answers == [200] * 20 + [429]
    assert client.get(url).status_code == client.get(other + "/image.png").status_code == 200
    limiter.reset()
