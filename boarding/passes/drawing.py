"""QR codes and the ticket as a picture: for a phone's gallery, and one bit a dot for an 80 mm thermal head."""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor
from types import MappingProxyType

import qrcode
from PIL import Image, ImageDraw, ImageFont
from qrcode.constants import ERROR_CORRECT_M, ERROR_CORRECT_Q
from qrcode.util import QRData

from boarding.passes.policy import Block, Kind
from boarding.passes.typesetting import PHONE, THERMAL, Ecc, Look, drawable, fit

Area = tuple[int, int, int, int]  # left, top, right, bottom, in dots; right and bottom are outside

QUIET_ZONE = 4  # modules


def qr_matrix(text: str, ecc: Ecc = "M") -> list[list[bool]]:
    """Rows of modules, True dark, with the quiet zone around; 49 a side for a pass at M, 57 at Q."""
    level = ERROR_CORRECT_M if ecc == "M" else ERROR_CORRECT_Q
    code = qrcode.QRCode(error_correction=level, border=QUIET_ZONE)
    code.add_data(QRData(text.encode()))  # one segment: a pass stays alphanumeric from end to end
    code.make(fit=True)
    return [[bool(module) for module in row] for row in code.get_matrix()]


def qr_image(text: str, ecc: Ecc = "M", module: int = 8) -> Image.Image:
    """A one-bit picture with `module` whole dots for each module."""
    rows = qr_matrix(text, ecc)
    small = Image.new("1", (len(rows), len(rows)))
    small.putdata([0 if dark else 1 for row in rows for dark in row])
    return small.resize((len(rows) * module, len(rows) * module), Image.Resampling.NEAREST)


def qr_svg(text: str, ecc: Ecc = "M", title: str = "QR do bilhete") -> str:
    """The code as one inline SVG element: black on its own white ground, one run of modules a subpath.

    No style and no id, so that it passes the security policy and may stand on a page many times.
    """
    rows = qr_matrix(text, ecc)
    runs = "".join(f"M{x} {y}h{length}v1h-{length}z" for y, row in enumerate(rows) for x, length in dark_runs(row))
    side = len(rows)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="qr" viewBox="0 0 {side} {side}" role="img" '
            f'aria-label="{escape(title)}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h{side}v{side}H0z"/>'
            f'<path fill="#000" d="{runs}"/></svg>')


def dark_runs(row: list[bool]) -> Iterable[tuple[int, int]]:
    """Where dark modules stand together in a row: the first one's place and how many."""
    start = None
    for x, dark in enumerate([*row, False]):
        if dark and start is None:
            start = x
        elif not dark and start is not None:
            yield start, x - start
            start = None


@dataclass(frozen=True, slots=True)
class Box:
    """Where a piece of the ticket may draw, and where its ink is."""

    key: str
    area: Area
    ink: Area


@dataclass(frozen=True, slots=True)
class Drawing:
    """The finished picture and the box of every text and code on it, from top to bottom."""

    image: Image.Image
    boxes: tuple[Box, ...]


@dataclass
class Sheet:
    """A ticket being laid out: marks are kept until the height is known. `y` is where the next block starts."""

    look: Look
    token: str
    y: int = 0
    large: bool = True  # until the tear line
    boxes: list[Box] = field(default_factory=list)
    marks: list[Callable[[Image.Image, ImageDraw.ImageDraw], object]] = field(default_factory=list)

    def dots(self, steps: float) -> int:
        """Layout steps in whole dots."""
        return round(steps * self.look.scale)

    @property
    def left(self) -> int:
        return self.dots(20)

    @property
    def inner(self) -> int:
        return self.look.width - 2 * self.left

    def shape(self, kind: str, area: Area, *, place: int | None = None, **style: object) -> None:
        """A `rectangle`, `rounded_rectangle` or `line`; `place` puts it beneath marks made since then."""
        self.marks.insert(len(self.marks) if place is None else place,
                          lambda _, draw: getattr(draw, kind)(area, **style))

    def write(self, key: str, text: str, top: int, left: int, width: int, size: float, *, bold: bool = False,
              most_lines: int = 2, smallest: float = 14, align: str = "l", fill: str | None = None) -> int:
        """Write the text inside its column, shrunk, wrapped or cut so that it never leaves; the bottom of its box."""
        sizes = range(self.dots(size), self.dots(min(size, smallest)) - 1, -2)
        face, lines = fit(drawable(text), width - 2, sizes, bold=bold, most_lines=most_lines)
        extents = [_whole(face.getbbox(line, anchor="ls")) for line in lines]
        ascent, descent = face.getmetrics()
        ascent = max(ascent, *(-extent[1] for extent in extents))  # two accents on a capital rise above the font's own
        inks = []
        for number, (line, extent) in enumerate(zip(lines, extents, strict=True)):
            room = {"l": 0, "m": (width - extent[2]) // 2, "r": width - extent[2]}[align]
            x, y = left + max(room, -extent[0]), top + number * (ascent + descent) + ascent
            inks.append((x + extent[0], y + extent[1], x + extent[2], y + extent[3]))
            self._text((x, y), line, face, fill or self.look.ink)
        bottom = top + len(lines) * (ascent + descent)
        lefts, tops, rights, bottoms = zip(*inks, strict=True)
        self.boxes.append(Box(key, (left, top, left + width, bottom),
                              (min(lefts), min(tops), max(rights), max(bottoms))))
        return bottom

    def _text(self, spot: tuple[int, int], line: str, face: ImageFont.FreeTypeFont, fill: str) -> None:
        self.marks.append(lambda _, draw: draw.text(spot, line, fill=fill, font=face, anchor="ls"))


def _whole(extent: tuple[float, float, float, float]) -> Area:
    return floor(extent[0]), floor(extent[1]), ceil(extent[2]), ceil(extent[3])


def _heading(sheet: Sheet, block: Block) -> None:
    """The carrier and the journey on a green road sign with its white line."""
    look, side, width = sheet.look, sheet.left + sheet.dots(2), sheet.inner - sheet.dots(4)
    place = len(sheet.marks)
    edge = sheet.dots(6)
    y = sheet.write("carrier_name", block.label, sheet.y + sheet.dots(15), side, width, 14, most_lines=1,
                    fill=look.on_sign)
    y = sheet.write(block.key, block.value, y + sheet.dots(1), side, width, 28, bold=True, smallest=16,
                    fill=look.on_sign)
    for number, line in enumerate(block.detail):
        y = sheet.write(f"{block.key}_{number}", line, y + sheet.dots(1), side, width, 14, fill=look.on_sign)
    bottom = y + sheet.dots(16)
    sheet.shape("rectangle", (0, 0, look.width, bottom), fill=look.sign, place=place)
    sheet.shape("rounded_rectangle", (edge, edge, look.width - 1 - edge, bottom - edge), radius=sheet.dots(8),
                outline=look.on_sign, width=sheet.dots(1.5), place=place + 1)
    sheet.y = bottom


def _qr(sheet: Sheet, block: Block) -> None:
    code = qr_image(sheet.token, sheet.look.ecc, sheet.look.module)
    left, top = (sheet.look.width - code.width) // 2, sheet.y + sheet.dots(8)
    area = (left, top, left + code.width, top + code.height)
    quiet = QUIET_ZONE * sheet.look.module
    sheet.boxes.append(Box(block.key, area, (left + quiet, top + quiet, area[2] - quiet, area[3] - quiet)))
    sheet.marks.append(lambda image, _: image.paste(code.convert(image.mode), (left, top)))
    sheet.y = sheet.write("code", f"{block.label} {block.value}", area[3] + sheet.dots(2), sheet.left, sheet.inner,
                          20, bold=True, most_lines=1, align="m") + sheet.dots(8)


def _seat(sheet: Sheet, block: Block) -> None:
    """Plates side by side, the first one filled: the seat is what is looked for on board."""
    look, gap, pad, place = sheet.look, sheet.dots(10), sheet.dots(10), len(sheet.marks)
    width = (sheet.inner - gap * (len(block.rows) - 1)) // len(block.rows)
    bottom = sheet.y + sheet.dots(102)
    for number, (label, value) in enumerate(block.rows):
        left = sheet.left + number * (width + gap)
        fill, ink = (look.paper, look.ink) if number else (look.seat, look.on_seat)
        sheet.shape("rounded_rectangle", (left, sheet.y, left + width, bottom), radius=sheet.dots(8), fill=fill,
                    outline=look.ink, width=sheet.dots(1.5), place=place + number)
        y = sheet.write(f"{block.key}_label_{number}", label, sheet.y + sheet.dots(6), left + pad, width - 2 * pad, 16,
                        most_lines=1, fill=ink)
        size, most_lines = (64, 1) if len(value) < 13 else (28, 2)
        sheet.write(f"{block.key}_{number}", value, y - sheet.dots(3), left + pad, width - 2 * pad, size, bold=True,
                    most_lines=most_lines, smallest=18, fill=ink)
    sheet.y = bottom + sheet.dots(12)


def _call(sheet: Sheet, block: Block) -> None:
    """When in the left column, where beside it, as on a departure board."""
    hour, stop, smallest = (40, 28, 20) if sheet.large else (28, 20, 16)
    sheet.y += 0 if sheet.large else sheet.dots(6)
    column = sheet.dots(112)
    right, width = sheet.left + column, sheet.inner - column
    top = sheet.write(f"{block.key}_label", block.label, sheet.y, sheet.left, sheet.inner, 16, most_lines=1,
                      fill=sheet.look.soft) - sheet.dots(2)
    y = sheet.write(f"{block.key}_hour", block.value, top, sheet.left, column - sheet.dots(8), hour, bold=True,
                    most_lines=1)
    for day, zone in block.rows:
        y = sheet.write(f"{block.key}_day", day, y, sheet.left, column - sheet.dots(8), 16, bold=True)
        y = sheet.write(f"{block.key}_zone", zone, y, sheet.left, column - sheet.dots(8), 14, smallest=11)
    bottom, y = y, top + sheet.dots(4)
    for number, line in enumerate(block.detail):
        big = number == 0
        y = sheet.write(f"{block.key}_{number}", line, y, right, width, stop if big else 16, bold=big,
                        smallest=smallest if big else 14, most_lines=3 if big else 2)
    sheet.y = max(bottom, y) + sheet.dots(12)


def _note(sheet: Sheet, block: Block) -> None:
    """A sentence on a tint with a bar: what has a label asks for something, what has none informs."""
    look, bar, pad, place = sheet.look, sheet.dots(4), sheet.dots(10), len(sheet.marks)
    colour, tint = (look.attention, look.attention_tint) if block.label else (look.information, look.information_tint)
    text = f"{block.label}: {block.value}" if block.label else block.value
    bottom = sheet.write(block.key, text, sheet.y + sheet.dots(5), sheet.left + bar + pad, sheet.inner - bar - 2 * pad,
                         18, bold=not block.label, most_lines=4) + sheet.dots(5)
    sheet.shape("rectangle", (sheet.left, sheet.y, sheet.left + sheet.inner, bottom), fill=tint, place=place)
    sheet.shape("rectangle", (sheet.left, sheet.y, sheet.left + bar, bottom), fill=colour, place=place + 1)
    sheet.y = bottom + sheet.dots(8)


def _rule_line(sheet: Sheet, block: Block) -> None:
    """The tear line, with the notches of a real ticket; below it everything is smaller."""
    radius, step, right = sheet.dots(9), sheet.dots(6), sheet.left + sheet.inner
    y = sheet.y + radius
    for x in range(sheet.left, right, 2 * step):
        sheet.shape("line", (x, y, min(x + step, right), y), fill=sheet.look.soft, width=sheet.dots(1))
    if sheet.look.notch:
        for x in (0, sheet.look.width):
            sheet.shape("ellipse", (x - radius, y - radius, x + radius, y + radius), fill=sheet.look.notch)
    sheet.y, sheet.large = y + radius + sheet.dots(4), False


def _pair(sheet: Sheet, block: Block) -> None:
    column = sheet.dots(96)
    label = sheet.write(f"{block.key}_label", block.label, sheet.y + sheet.dots(1), sheet.left,
                        column - sheet.dots(8), 14, fill=sheet.look.soft)
    value = sheet.write(block.key, block.value, sheet.y, sheet.left + column, sheet.inner - column, 16, bold=True,
                        most_lines=3)
    sheet.y = max(label, value) + sheet.dots(6)


def _fare(sheet: Sheet, block: Block) -> None:
    column = sheet.dots(104)
    left, wide = sheet.left + sheet.inner - column, sheet.inner - column - sheet.dots(8)
    sheet.y += sheet.dots(4)
    for number, (label, amount) in enumerate((*block.rows, (block.label, block.value))):
        total = number == len(block.rows)
        if total:
            sheet.shape("line", (sheet.left, sheet.y, sheet.left + sheet.inner, sheet.y), fill=sheet.look.ink, width=2)
            sheet.y += sheet.dots(3)
        key = block.key if total else f"{block.key}_{number}"
        y = sheet.write(f"{key}_label", label, sheet.y, sheet.left, wide, 16, bold=total)
        sheet.write(key, amount, sheet.y, left, column, 16, bold=total, most_lines=1, align="r")
        sheet.y = y + sheet.dots(2)
    sheet.y += sheet.dots(8)


def _small(sheet: Sheet, block: Block) -> None:
    sheet.y = sheet.write(block.key, f"{block.label}: {block.value}", sheet.y, sheet.left, sheet.inner, 14,
                          most_lines=4, fill=sheet.look.soft) + sheet.dots(4)


RENDERERS: Mapping[Kind, Callable[[Sheet, Block], None]] = MappingProxyType({
    Kind.HEADING: _heading, Kind.QR: _qr, Kind.SEAT: _seat, Kind.CALL: _call, Kind.NOTE: _note,
    Kind.RULE_LINE: _rule_line, Kind.PAIR: _pair, Kind.FARE: _fare, Kind.SMALL: _small})


def draw_ticket(blocks: Iterable[Block], token: str, *, thermal: bool = False) -> Drawing:
    """The whole ticket, 720 dots wide for a phone, or 576 one-bit dots (203 dpi) for a thermal head."""
    sheet = Sheet(THERMAL if thermal else PHONE, token)
    for block in blocks:
        RENDERERS[block.kind](sheet, block)
    image = Image.new(sheet.look.mode, (sheet.look.width, sheet.y + sheet.dots(16)), sheet.look.paper)
    draw = ImageDraw.Draw(image)
    for mark in sheet.marks:
        mark(image, draw)
    return Drawing(image, tuple(sheet.boxes))


def ticket_png(blocks: Iterable[Block], token: str, *, thermal: bool = False) -> bytes:
    """The picture of `draw_ticket` as PNG."""
    return _png(draw_ticket(blocks, token, thermal=thermal).image)


def _png(image: Image.Image) -> bytes:
    target = io.BytesIO()
    flat = image.quantize(96, dither=Image.Dither.NONE) if image.mode == "RGB" else image
    flat.save(target, "PNG", dpi=(203, 203))
    return target.getvalue()
