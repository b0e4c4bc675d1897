"""What the product draws is read by another maker's decoder, and no text leaves its box."""

import importlib.util
import io
import re
import shutil
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image, ImageDraw

from boarding.passes import drawing, typesetting
from boarding.passes.policy import Kind, ticket_layout
from tests.boarding.damage import VARIANTS, blurred, faded, scaled, turned
from tests.boarding.tickets import TOKEN, facts

LONG_NAME = "Maria Aparecida Francisca das Chagas de Albuquerque Cavalcanti e Vasconcelos Neta"
UNBROKEN = "Wolfeschlegelsteinhausenbergerdorff" * 3
NAMES = ["Wayanti", "Ana D'Ávila Sant'Anna", "Ana D’Ávila", "Zoë Müller-Krieger", "Célia O", "Nguyễn Thị Hồng",
         "Šárka Dvořáková", "JOÃO DA CONCEIÇÃO", "Renê 2º", "São José da Conceição", "Łukasz Żółć", "Ğülşen İnce"]


def read(image: Image.Image) -> list[str]:
    return [found.text for found in zxingcpp.read_barcodes(image.convert("L"))]


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png))


def box_of(sheet: drawing.Drawing, key: str) -> drawing.Box:
    return next(box for box in sheet.boxes if box.key == key)


@pytest.mark.parametrize(("ecc", "side"), [("M", 41), ("Q", 49)])
def test_a_pass_is_a_version_6_code_at_m_and_a_version_8_code_at_q(ecc, side):
    rows = drawing.qr_matrix(TOKEN, ecc)
    assert len(rows) == len(rows[0]) == side + 2 * 4
    assert not any(any(row) for row in (*rows[:4], *rows[-4:]))
    assert not any(row[x] for row in rows for x in (0, 1, 2, 3, -4, -3, -2, -1))


@pytest.mark.parametrize("ecc", ["M", "Q"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_code_is_read_after_each_damage(variant, ecc):
    image = drawing.qr_image(TOKEN, ecc).convert("L")
    assert read(VARIANTS[variant](image)) == [TOKEN]


@pytest.mark.parametrize("ecc", ["M", "Q"])
def test_the_svg_draws_the_same_code(ecc):
    svg = drawing.qr_svg(TOKEN, ecc)
    side = int(re.search(r'viewBox="0 0 (\d+) \1"', svg)[1])
    image = Image.new("L", (side, side), 255)
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", svg):
        ImageDraw.Draw(image).line((int(x), int(y), int(x) + int(length) - 1, int(y)), fill=0)
    assert read(image.resize((side * 6, side * 6), Image.Resampling.NEAREST)) == [TOKEN]
    assert "style" not in svg and " id=" not in svg


def test_a_link_with_small_letters_is_a_code_too():
    link = "https://embarque.invalid/b/7K3MQ2XD?t=çé"
    assert read(drawing.qr_image(link).convert("L")) == [link]


@pytest.mark.parametrize("thermal", [False, True])
def test_the_pass_is_read_from_the_whole_ticket_under_the_camera(thermal):
    image = opened(drawing.ticket_png(ticket_layout(facts()), TOKEN, thermal=thermal)).convert("L")
    for worn in (image, scaled(image, 0.4), scaled(image, 1.7), blurred(image, 2), turned(image, 7), turned(image, 90),
                 faded(image, 0.35), blurred(scaled(turned(faded(image, 0.6), 12), 0.6), 1)):
        assert read(worn) == [TOKEN]


def test_the_thermal_ticket_has_whole_dots_and_no_grey():
    sheet = drawing.draw_ticket(ticket_layout(facts()), TOKEN, thermal=True)
    left, top, right, bottom = box_of(sheet, "qr").area
    assert (sheet.image.mode, sheet.image.width, right - left, bottom - top) == ("1", 576, 57 * 7, 57 * 7)
    code = sheet.image.crop((left, top, right, bottom))
    small = code.resize((57, 57), Image.Resampling.NEAREST)
    assert small.resize(code.size, Image.Resampling.NEAREST).tobytes() == code.tobytes()


def test_the_phone_picture_is_720_wide_and_its_code_is_black_on_white():
    image = opened(drawing.ticket_png(ticket_layout(facts()), TOKEN))
    left, top, right, bottom = box_of(drawing.draw_ticket(ticket_layout(facts()), TOKEN), "qr").area
    assert image.width == 720
    colours = image.convert("RGB").crop((left, top, right, bottom)).getcolors()
    assert sorted(colour for _, colour in colours) == [(0, 0, 0), (255, 255, 255)]


@pytest.mark.parametrize("thermal", [False, True])
@pytest.mark.parametrize("changes", [
    {}, {"passenger": LONG_NAME}, {"passenger": UNBROKEN}, {"boarding_stop": 'Florianópolis, Terminal "Rita Maria"'},
    {"seat": "em pé 12", "carrier": LONG_NAME, "line_name": LONG_NAME}, {"boarding_stop": UNBROKEN, "terminal": UNBROKEN},
    {"fare_items": ((LONG_NAME, facts().total),) * 9}, {"refund_until": LONG_NAME * 4, "bring": UNBROKEN * 2},
    {"origin": UNBROKEN, "destination": UNBROKEN, "code": UNBROKEN, "platform": "Doca 14-B, embarque norte"},
    {"passenger": None, "seat": None, "platform": ""}, {"passenger": "Nguyễn Thị Hồng", "boarding_stop": "Ỷ Ẵ Ộ jgyç"}])
def test_long_texts_stay_in_their_boxes_and_no_box_touches_another(changes, thermal):
    sheet = drawing.draw_ticket(ticket_layout(facts(**changes)), TOKEN, thermal=thermal)
    for box in sheet.boxes:
        assert min(box.area) >= 0, box
        assert box.area[2] <= sheet.image.width and box.area[3] <= sheet.image.height, box
        assert box.area[0] <= box.ink[0] and box.area[1] <= box.ink[1], box
        assert box.ink[2] <= box.area[2] and box.ink[3] <= box.area[3], box
    for number, one in enumerate(sheet.boxes):
        for other in sheet.boxes[number + 1:]:
            apart = (one.ink[2] <= other.ink[0] or other.ink[2] <= one.ink[0]
                     or one.ink[3] <= other.ink[1] or other.ink[3] <= one.ink[1])
            assert apart, (one, other)
    assert read(sheet.image) == [TOKEN]


def test_a_long_name_leaves_code_seat_and_date_as_they_were():
    short, long = (drawing.draw_ticket(ticket_layout(facts(passenger=name)), TOKEN) for name in ("Ana", LONG_NAME))
    for key in ("qr", "seat_0", "seat_1", "boarding_hour", "boarding_day", "refund"):
        assert box_of(short, key) == box_of(long, key)
        assert short.image.crop(box_of(short, key).area).tobytes() == long.image.crop(box_of(long, key).area).tobytes()


def test_an_81_letter_name_is_drawn_whole():
    sheet, texts = drawing.PHONE, []
    face, lines = typesetting.fit(LONG_NAME, 448, range(round(16 * sheet.scale), 27, -2), bold=True, most_lines=3)
    texts += lines
    assert " ".join(texts) == LONG_NAME
    assert face.size >= 28


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_letter_of_a_name_is_drawn_as_itself(name, bold):
    face = typesetting.font(40, bold)
    missing = bytes(face.getmask("\uffff"))
    assert all(bytes(face.getmask(char)) != missing for char in name)
    assert typesetting.drawable(name) == name


@pytest.mark.parametrize(("written", "drawn"), [
    ("Jose\u0301", "José"), ("李 Wei", "Li Wei"), ("محمد علي", "mhmd ly"), ("ภาษา", "phasa"), ("Ａｎａ", "Ana"), ("Ana \U0001f600", "Ana ·"), ("Иван", "Иван"),
    ("a\u202eb\u200dc\x00", "abc"), ("linha\noutra", "linha outra"), ("ﬁm → já", "ﬁm · já"), ("", "")])
def test_what_the_font_lacks_is_written_in_latin_letters_or_as_a_dot_and_never_as_a_box(written, drawn):
    assert typesetting.drawable(written) == drawn
    assert all(typesetting.has_glyph(char) for char in drawn)


def test_the_font_is_the_products_own_and_not_the_systems():
    root = Path(__file__).resolve().parents[2]
    for bold in (False, True):
        assert Path(typesetting.font(20, bold).path).is_relative_to(root / "static" / "fonts")


def test_without_its_font_nothing_starts(tmp_path):
    copy = tmp_path / "boarding" / "passes" / "typesetting.py"
    copy.parent.mkdir(parents=True)
    shutil.copy(typesetting.__file__, copy)
    spec = importlib.util.spec_from_file_location("typesetting_without_fonts", copy)
    with pytest.raises(RuntimeError, match=r"RobotoCondensed-Regular\.ttf is missing"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_every_kind_of_block_can_be_drawn():
    assert set(drawing.RENDERERS) == set(Kind)
