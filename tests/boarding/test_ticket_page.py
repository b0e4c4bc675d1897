"""Page, roll and picture show the same ticket."""

import html
import re
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from boarding.passes import drawing
from boarding.passes.policy import ticket_layout
from tests.boarding.tickets import TOKEN, facts

ROOT = Path(__file__).resolve().parents[2]
PAGES = Environment(loader=FileSystemLoader(ROOT / "templates"), undefined=StrictUndefined, autoescape=True)
CALL = PAGES.from_string('{% from "macros/ticket.html" import ticket %}{{ ticket(blocks, svg=svg, paper=paper) }}')


def page(changes: dict, paper: str = "") -> str:
    return CALL.render(blocks=ticket_layout(facts(**changes)), svg=drawing.qr_svg(TOKEN), paper=paper)


def plain(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup)))


VARIATIONS = [{}, {"seat": None, "passenger": None, "document": ""}, {"platform": "", "bring": "", "luggage": ""}]


@pytest.mark.parametrize("paper", ["", "80"])
@pytest.mark.parametrize("changes", VARIATIONS)
def test_page_and_roll_show_every_text_that_the_picture_shows(changes, paper, monkeypatch):
    drawn = []
    write = drawing.Sheet.write
    monkeypatch.setattr(drawing.Sheet, "write",
                        lambda sheet, key, text, *rest, **style: drawn.append(text) or write(sheet, key, text, *rest, **style))
    drawing.draw_ticket(ticket_layout(facts(**changes)), TOKEN)
    shown = plain(page(changes, paper)).replace(" :", ":")
    for text in drawn:
        assert re.sub(r"\s+", " ", text) in shown, text


def test_the_page_has_one_heading_and_names_its_code():
    markup = page({})
    assert markup.count("<h1>") == 1
    assert markup.count("<svg") == 1 and 'role="img"' in markup
    assert markup.count("<dl") == markup.count("</dl>")


def test_names_and_stops_are_characters_and_never_markup():
    evil = "<img src=x onerror=alert(1)>"
    markup = page({"passenger": evil, "boarding_stop": evil, "carrier": evil, "document": evil, "code": evil})
    assert "<img" not in markup
    assert evil in html.unescape(markup)


def test_the_macro_writes_no_style_and_no_script():
    markup = page({})
    assert "style=" not in markup and "<script" not in markup


def test_the_style_sheet_holds_no_colour_of_its_own():
    sheet = re.sub(r"/\*.*?\*/", "", (ROOT / "static/css/ticket.css").read_text(encoding="utf-8"), flags=re.S)
    tokens = (ROOT / "static/css/tokens.css").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb|hsl", sheet)
    for name in set(re.findall(r"var\((--[a-z0-9-]+)", sheet)):
        assert f"{name}:" in tokens, name
