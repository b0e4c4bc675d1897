"""The ticket as a PDF of one A4 page, in its own font; printed on A5 everything is 71 % as large and still readable.

The code is drawn as vectors. Sizes are in points at full size; what is too much for the page makes all of it smaller.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import getAscentDescent, registerFont, stringWidth
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from boarding.passes.drawing import dark_runs, qr_matrix
from boarding.passes.policy import Block, Kind
from boarding.passes.typesetting import BOLD, FONT_FOLDER, PHONE, REGULAR, drawable, shrink

FACES = {False: "Embarque", True: "Embarque-Bold"}
WIDTH, HEIGHT = A4
MARGIN, GAP = 34, 22
MODULE = 4.0  # 1.4 mm on A4, 1.0 mm on A5
SCALES = (1.0, 0.92, 0.84, 0.76, 0.68, 0.6)
SMALLEST = 9

for bold, face in FACES.items():
    registerFont(TTFont(face, str(FONT_FOLDER / (BOLD if bold else REGULAR))))

Mark = Callable[[Canvas], object]


@dataclass(frozen=True, slots=True)
class Box:
    """Where a text or the code stands, in points from the page's upper left corner: left, top, right, bottom."""

    key: str
    area: tuple[float, float, float, float]


@dataclass
class Column:
    """A strip of the page; `y` counts points from the top edge to where its next block starts."""

    left: float
    width: float
    y: float


@dataclass
class Page:
    """A ticket being laid out at a scale. Marks are kept until it is known that the page holds them all."""

    token: str
    scale: float
    large: bool = True  # until the tear line
    boxes: list[Box] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def __post_init__(self) -> None:
        inner, code = WIDTH - 2 * MARGIN, len(qr_matrix(self.token)) * MODULE
        self.whole = Column(MARGIN, inner, MARGIN)
        self.main = Column(MARGIN, inner - code - GAP, MARGIN)
        self.side = Column(MARGIN + inner - code, code, MARGIN)

    def pt(self, points: float) -> float:
        """Points of the full size at this page's scale."""
        return points * self.scale

    def across(self) -> Column:
        """The whole width, below everything so far."""
        self.whole.y = max(self.whole.y, self.main.y, self.side.y)
        return self.whole

    def split(self, y: float) -> None:
        """Both columns start at y."""
        self.whole.y = self.main.y = self.side.y = y

    def shape(self, kind: str, left: float, top: float, width: float, height: float, *rest: float,
              fill: str | None = None, stroke: str | None = None, line: float = 1, place: int | None = None) -> None:
        """A `rect` or a `roundRect`; `place` puts it beneath marks made since then."""
        def draw(canvas: Canvas) -> None:
            if fill:
                canvas.setFillColor(fill)
            if stroke:
                canvas.setStrokeColor(stroke)
            canvas.setLineWidth(line)
            getattr(canvas, kind)(left, HEIGHT - top - height, width, height, *rest, fill=int(bool(fill)),
                                  stroke=int(bool(stroke)))
        self.marks.insert(len(self.marks) if place is None else place, draw)

    def write(self, key: str, text: str, top: float, left: float, width: float, size: float, *, bold: bool = False,
              most_lines: int = 2, smallest: float = SMALLEST, align: str = "l", fill: str = PHONE.ink) -> float:
        """Write the text inside its column, shrunk, wrapped or cut so that it never leaves; the bottom of its box."""
        name, tenths = FACES[bold], [round(self.pt(points) * 10) for points in (size, min(size, smallest))]
        tenth, lines = shrink(drawable(text), width, range(tenths[0], tenths[1] - 1, -5),
                              lambda tenth: partial(stringWidth, fontName=name, fontSize=tenth / 10), most_lines)
        size = tenth / 10
        ascent, descent = getAscentDescent(name, size)
        for number, line in enumerate(lines):
            room = width - stringWidth(line, name, size)
            x = left + {"l": 0, "m": room / 2, "r": room}[align]
            self.marks.append(partial(_draw_line, x=x, y=top + number * (ascent - descent) + ascent, text=line,
                                      face=name, size=size, fill=fill))
        bottom: float = top + len(lines) * (ascent - descent)
        self.boxes.append(Box(key, (left, top, left + width, bottom)))
        return bottom


def _draw_line(canvas: Canvas, *, x: float, y: float, text: str, face: str, size: float, fill: str) -> None:
    canvas.setFillColor(fill)
    canvas.setFont(face, size)
    canvas.drawString(x, HEIGHT - y, text)


def _heading(page: Page, block: Block) -> None:
    """The carrier and the journey on a green road sign with its white line, over the whole width."""
    look, column, place, pt = PHONE, page.across(), len(page.marks), page.pt
    side, width, top = column.left + pt(20), column.width - pt(40), column.y
    y = page.write("carrier_name", block.label, top + pt(16), side, width, 13, most_lines=1, fill=look.on_sign)
    y = page.write(block.key, block.value, y + pt(1), side, width, 30, bold=True, smallest=16, fill=look.on_sign)
    for number, line in enumerate(block.detail):
        y = page.write(f"{block.key}_{number}", line, y + pt(2), side, width, 13, fill=look.on_sign)
    bottom = y + pt(16)
    page.shape("roundRect", column.left, top, column.width, bottom - top, pt(10), fill=look.sign, place=place)
    page.shape("roundRect", column.left + pt(5), top + pt(5), column.width - pt(10), bottom - top - pt(10), pt(7),
               stroke=look.on_sign, line=pt(1.5), place=place + 1)
    page.split(bottom + pt(18))


def _qr(page: Page, block: Block) -> None:
    """The code at its full size whatever the rest needs: one path, so that no reader shows seams between modules."""
    rows, column = qr_matrix(page.token), page.side
    left, top, side = column.left, column.y, len(rows) * MODULE

    def draw(canvas: Canvas) -> None:
        canvas.setFillColor("#000000")
        path = canvas.beginPath()
        for number, row in enumerate(rows):
            for x, length in dark_runs(row):
                path.rect(left + x * MODULE, HEIGHT - top - (number + 1) * MODULE, length * MODULE, MODULE)
        canvas.drawPath(path, fill=1, stroke=0)
    page.shape("rect", left, top, side, side, fill="#ffffff")
    page.marks.append(draw)
    page.boxes.append(Box(block.key, (left, top, left + side, top + side)))
    column.y = page.write("code", f"{block.label} {block.value}", top + side, left, column.width, 20, bold=True,
                          most_lines=1, align="m") + page.pt(8)


def _seat(page: Page, block: Block) -> None:
    """Plates side by side, the first one filled: the seat is what is looked for on board."""
    look, column, pt, place = PHONE, page.main, page.pt, len(page.marks)
    width = (column.width - pt(10) * (len(block.rows) - 1)) / len(block.rows)
    for number, (label, value) in enumerate(block.rows):
        left = column.left + number * (width + pt(10))
        fill, ink = ("#ffffff", look.ink) if number else (look.seat, look.on_seat)
        page.shape("roundRect", left, column.y, width, pt(88), pt(7), fill=fill, stroke=look.ink, line=pt(1.2),
                   place=place + number)
        y = page.write(f"{block.key}_label_{number}", label, column.y + pt(7), left + pt(10), width - pt(20), 13,
                       most_lines=1, fill=ink)
        size, most_lines = (50, 1) if len(value) < 9 else (24, 2)
        page.write(f"{block.key}_{number}", value, y - pt(2), left + pt(10), width - pt(20), size, bold=True,
                   most_lines=most_lines, smallest=14, fill=ink)
    column.y += pt(88 + 14)


def _call(page: Page, block: Block) -> None:
    """When in the left part, where beside it, as on a departure board."""
    column, pt, wide = page.main, page.pt, page.pt(112)
    hour, stop = (40, 20) if page.large else (24, 15)
    top = page.write(f"{block.key}_label", block.label, column.y, column.left, column.width, 13, most_lines=1,
                     fill=PHONE.soft)
    y = page.write(f"{block.key}_hour", block.value, top - pt(4), column.left, wide - pt(8), hour, bold=True,
                   most_lines=1)
    for day, zone in block.rows:
        y = page.write(f"{block.key}_day", day, y, column.left, wide - pt(8), 13, bold=True)
        y = page.write(f"{block.key}_zone", zone, y, column.left, wide - pt(8), 11)
    bottom, y = y, top + pt(2)
    for number, line in enumerate(block.detail):
        y = page.write(f"{block.key}_{number}", line, y, column.left + wide, column.width - wide,
                       13 if number else stop, bold=not number, smallest=10, most_lines=2 if number else 3)
    column.y = max(bottom, y) + pt(12)


def _note(page: Page, block: Block) -> None:
    """A sentence on a tint with a bar: what has a label asks for something, what has none informs."""
    look, column, pt, place = PHONE, page.main, page.pt, len(page.marks)
    colour, tint = (look.attention, look.attention_tint) if block.label else (look.information, look.information_tint)
    text = f"{block.label}: {block.value}" if block.label else block.value
    bottom = page.write(block.key, text, column.y + pt(6), column.left + pt(14), column.width - pt(24), 14,
                        bold=not block.label, most_lines=4) + pt(6)
    page.shape("rect", column.left, column.y, column.width, bottom - column.y, fill=tint, place=place)
    page.shape("rect", column.left, column.y, pt(4), bottom - column.y, fill=colour, place=place + 1)
    column.y = bottom + pt(8)


def _tear(page: Page, block: Block) -> None:
    """The dashed line; below it everything is smaller."""
    y = page.across().y + page.pt(10)

    def draw(canvas: Canvas) -> None:
        canvas.setStrokeColor(PHONE.soft)
        canvas.setLineWidth(1)
        canvas.setDash(6, 5)
        canvas.line(MARGIN, HEIGHT - y, WIDTH - MARGIN, HEIGHT - y)
        canvas.setDash()
    page.marks.append(draw)
    page.split(y + page.pt(16))
    page.large = False


def _pair(page: Page, block: Block) -> None:
    column, pt, wide = page.main, page.pt, page.pt(92)
    label = page.write(f"{block.key}_label", block.label, column.y + pt(1), column.left, wide - pt(8), 12,
                       fill=PHONE.soft)
    value = page.write(block.key, block.value, column.y, column.left + wide, column.width - wide, 14, bold=True,
                       most_lines=3)
    column.y = max(label, value) + pt(7)


def _fare(page: Page, block: Block) -> None:
    column, pt = page.side, page.pt
    amounts = pt(76)
    for number, (label, amount) in enumerate((*block.rows, (block.label, block.value))):
        total = number == len(block.rows)
        if total:
            page.shape("rect", column.left, column.y + pt(1), column.width, pt(1), fill=PHONE.ink)
            column.y += pt(6)
        key, size = (block.key, 16) if total else (f"{block.key}_{number}", 13)
        y = page.write(f"{key}_label", label, column.y, column.left, column.width - amounts - pt(6), size, bold=total)
        page.write(key, amount, column.y, column.left + column.width - amounts, amounts, size, bold=total,
                   most_lines=1, align="r")
        column.y = y + pt(3)


def _small(page: Page, block: Block) -> None:
    column = page.across()
    column.y = page.write(block.key, f"{block.label}: {block.value}", column.y + page.pt(3), column.left,
                          column.width, 11, most_lines=3, fill=PHONE.soft)


RENDERERS: Mapping[Kind, Callable[[Page, Block], None]] = MappingProxyType({
    Kind.HEADING: _heading, Kind.QR: _qr, Kind.SEAT: _seat, Kind.CALL: _call, Kind.NOTE: _note,
    Kind.RULE_LINE: _tear, Kind.PAIR: _pair, Kind.FARE: _fare, Kind.SMALL: _small})


def lay_out(blocks: Iterable[Block], token: str) -> Page:
    """The ticket on its page, at the largest scale that holds all of it."""
    blocks = tuple(blocks)
    for scale in SCALES:
        page = Page(token, scale)
        for block in blocks:
            RENDERERS[block.kind](page, block)
        if page.across().y <= HEIGHT - MARGIN:
            break
    return page


def ticket_pdf(blocks: Iterable[Block], token: str, *, code: str, carrier: str) -> bytes:
    """One page; the same ticket gives the same bytes. Its properties name the code and the carrier, nobody else."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=A4, pageCompression=1, invariant=1, lang="pt-BR",
                    initialFontName=FACES[False])
    canvas.setTitle(f"Bilhete {code}")
    canvas.setSubject("Bilhete de passagem")
    canvas.setAuthor(drawable(carrier))
    canvas.setCreator("Embarque")
    for mark in lay_out(blocks, token).marks:
        mark(canvas)
    canvas.showPage()
    canvas.save()
    return target.getvalue()
