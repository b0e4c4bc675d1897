"""The PDF is read by another maker's program: its text, its letters and its code, with names of every kind."""

import re
from itertools import combinations

import pypdfium2
import pytest
import zxingcpp
from PIL import Image
from reportlab.pdfbase.pdfmetrics import getFont

from boarding.passes import paper
from boarding.passes.policy import Kind, ticket_layout
from boarding.passes.typesetting import drawable
from tests.boarding.damage import VARIANTS
from tests.boarding.test_ticket_drawing import LONG_NAME, NAMES, UNBROKEN
from tests.boarding.tickets import TOKEN, facts

EVERYTHING_LONG = {
    "passenger": UNBROKEN, "document": LONG_NAME, "carrier": LONG_NAME, "line_name": LONG_NAME, "origin": UNBROKEN,
    "destination": UNBROKEN, "boarding_stop": UNBROKEN, "alighting_stop": UNBROKEN, "terminal": UNBROKEN,
    "platform": "Doca 14-B, embarque norte", "seat": "em pé 12", "refund_until": LONG_NAME * 4, "bring": UNBROKEN * 2,
    "luggage": LONG_NAME * 3, "identity_rule": LONG_NAME * 3, "link": UNBROKEN * 3, "payment": LONG_NAME,
    "fare_items": ((LONG_NAME, facts().total),) * 9}


def pdf(**changes: object) -> bytes:
    told = facts(**changes)
    return paper.ticket_pdf(ticket_layout(told), TOKEN, code=told.code, carrier=told.carrier)


def text_of(made: bytes) -> str:
    document = pypdfium2.PdfDocument(made)
    assert len(document) == 1
    return re.sub(r"\s+", " ", document[0].get_textpage().get_text_range())


def picture(made: bytes, scale: float = 2) -> Image.Image:
    return pypdfium2.PdfDocument(made)[0].render(scale=scale).to_pil().convert("L")


def read(image: Image.Image) -> list[str]:
    return [found.text for found in zxingcpp.read_barcodes(image)]


@pytest.mark.parametrize("changes", [
    {}, {"passenger": LONG_NAME}, {"passenger": UNBROKEN}, {"boarding_stop": 'Florianópolis, Terminal "Rita Maria"'},
    {"seat": None, "passenger": None, "document": "", "platform": ""}, EVERYTHING_LONG])
def test_whatever_the_ticket_says_it_is_one_page_and_nothing_leaves_it_or_touches_another(changes):
    page = paper.lay_out(ticket_layout(facts(**changes)), TOKEN)
    for box in page.boxes:
        left, top, right, bottom = box.area
        assert left >= paper.MARGIN and top >= paper.MARGIN, box
        assert right <= paper.WIDTH - paper.MARGIN + 0.01 and bottom <= paper.HEIGHT - paper.MARGIN, box
    for one, other in combinations(page.boxes, 2):
        apart = (one.area[2] <= other.area[0] + 0.01 or other.area[2] <= one.area[0] + 0.01
                 or one.area[3] <= other.area[1] + 4 or other.area[3] <= one.area[1] + 4)  # 4: white above capitals
        assert apart, (one, other)
    assert read(picture(pdf(**changes))) == [TOKEN]


@pytest.mark.parametrize("changes", [{}, {"passenger": LONG_NAME}])
def test_the_ink_of_every_text_stays_in_its_box(changes):
    document = pypdfium2.PdfDocument(pdf(**changes))
    boxes = paper.lay_out(ticket_layout(facts(**changes)), TOKEN).boxes
    texts = [thing for thing in document[0].get_objects() if isinstance(thing, pypdfium2.PdfTextObj)]
    assert texts
    for text in texts:
        left, bottom, right, top = text.get_bounds()
        assert any(box.area[0] - 1.5 <= left and right <= box.area[2] + 1.5 and box.area[1] - 1.5 <= paper.HEIGHT - top
                   and paper.HEIGHT - bottom <= box.area[3] + 1.5 for box in boxes), text.extract()


def test_a_long_name_leaves_code_seat_and_date_where_they_were():
    short, long = (paper.lay_out(ticket_layout(facts(passenger=name)), TOKEN) for name in ("Ana", LONG_NAME))
    areas = [{box.key: box.area for box in page.boxes} for page in (short, long)]
    for key in ("qr", "code", "seat_0", "seat_1", "boarding_hour", "boarding_day", "refund"):
        assert areas[0][key] == areas[1][key]


def test_every_block_of_the_ticket_stands_on_the_paper():
    told = text_of(pdf())
    for block in ticket_layout(facts()):
        for piece in (block.label, block.value, *block.detail, *(part for row in block.rows for part in row)):
            for word in drawable(piece).split():
                assert word in told, piece
    assert set(paper.RENDERERS) == set(Kind)


@pytest.mark.parametrize(("name", "shown"), [
    *((name, name) for name in NAMES), (LONG_NAME, LONG_NAME), ("José", "José"), ("李伟", "LiWei"),
    ("محمد علي", "mhmd ly"), ("Ana \U0001f600", "Ana ·"), ("김철수", "GimCheolSu"), ("Иван Петров", "Иван Петров")])
def test_a_name_of_any_script_can_be_read_from_the_paper_and_no_letter_is_a_box(name, shown):
    made = pdf(passenger=name)
    assert shown in text_of(made)
    for face in paper.FACES.values():
        assert all(getFont(face).face.charToGlyph.get(ord(char)) for char in shown)


def test_only_the_products_own_letters_are_used_and_they_come_with_the_paper():
    made = pdf()
    fonts = set(re.findall(rb"/BaseFont /(\S+)", made))
    assert fonts and all(re.fullmatch(rb"[A-Z]{6}\+RobotoCondensed-(Regular|Bold)", font) for font in fonts), fonts
    assert made.count(b"/FontFile2") >= 2
    assert len(made) < 40_000


def test_the_code_is_drawn_as_vectors_and_read_on_half_the_paper():
    made = pdf()
    assert b"/Image" not in made.replace(b"/ImageB", b"").replace(b"/ImageC", b"").replace(b"/ImageI", b"")
    assert not [thing for thing in pypdfium2.PdfDocument(made)[0].get_objects() if isinstance(thing, pypdfium2.PdfImage)]
    a5_at_150_dpi = picture(made, 150 / 72 * 0.707)
    assert read(a5_at_150_dpi) == [TOKEN]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_printed_code_is_read_after_each_damage(variant):
    made = pdf()
    left, top, right, bottom = next(box.area for box in paper.lay_out(ticket_layout(facts()), TOKEN).boxes if box.key == "qr")
    scale = 3
    code = picture(made, scale).crop(tuple(round(edge * scale) for edge in (left, top, right, bottom)))
    assert read(VARIANTS[variant](code)) == [TOKEN]


def test_the_same_ticket_gives_the_same_bytes_and_its_properties_name_nobody():
    made = pdf()
    assert made == pdf()
    properties = pypdfium2.PdfDocument(made).get_metadata_dict()
    assert properties["Title"] == f"Bilhete {facts().code}"
    assert not any(part in value for value in properties.values() for part in ("Célia", "4.321", "1098"))
