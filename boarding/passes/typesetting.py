"""The ticket's papers and its own font: shrinking and wrapping text, and letters that the font does not have.

Pillow's built-in letters have no accents, so without the font files nothing starts.
"""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from anyascii import anyascii
from PIL import ImageFont

FONT_FOLDER = Path(__file__).resolve().parents[2] / "static" / "fonts"
REGULAR, BOLD = "RobotoCondensed-Regular.ttf", "RobotoCondensed-Bold.ttf"

Ecc = Literal["M", "Q"]  # M on screens, Q on thermal paper; never a logo on the code, at any level


@dataclass(frozen=True, slots=True)
class Look:
    """One kind of paper. Sizes in the layout are in steps of a 360-wide phone; `scale` makes dots of them."""

    mode: str
    width: int
    scale: float
    module: int
    ecc: Ecc
    paper: str = "white"
    ink: str = "black"
    soft: str = "black"
    sign: str = "white"
    on_sign: str = "black"
    seat: str = "white"
    on_seat: str = "black"
    information: str = "black"
    information_tint: str = "white"
    attention: str = "black"
    attention_tint: str = "white"
    notch: str | None = None  # what lies behind the ticket; none on a roll


PHONE = Look("RGB", 720, 2.0, 12, "M", "#fffdf8", "#1d1b16", "#5c574c", "#0b6b3a", "#ffffff", "#1d1b16", "#ffffff",
             "#1f5a96", "#e8eff6", "#b36b00", "#fbf0dc", "#cfc8b8")
THERMAL = Look("1", 576, 1.5, 7, "Q")  # 72 mm of an 80 mm roll at 203 dpi


def require_fonts(folder: Path = FONT_FOLDER) -> None:
    """Nothing when the ticket's fonts are there. Raises RuntimeError naming the missing file."""
    for name in (REGULAR, BOLD):
        if not (folder / name).is_file():
            raise RuntimeError(f"The ticket font {name} is missing from {folder}: restore static/fonts.")


require_fonts()


@lru_cache(maxsize=64)
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The ticket's font at a size in dots, always laid out the same way, whatever Pillow was built with."""
    name = BOLD if bold else REGULAR
    return ImageFont.truetype(str(FONT_FOLDER / name), size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=4096)
def has_glyph(char: str) -> bool:
    """Whether the font draws this character as itself and not as the box for a missing one."""
    face = font(24)
    return bytes(face.getmask(char)) != bytes(face.getmask("\uffff"))


def drawable(text: str) -> str:
    """The text in letters that the font has. An unknown letter becomes its plain one, or is written in Latin letters
    as it sounds (李 Li, محمد mhmd): what a driver can hold against a passport. Anything else becomes a middle dot."""
    kept = []
    for char in unicodedata.normalize("NFC", text):
        if unicodedata.category(char).startswith("C"):
            kept.append(" " if char in "\t\n\r" else "")
        elif has_glyph(char):
            kept.append(char)
        else:
            kept.append(_in_latin(char))
    return "".join(kept)


def _in_latin(char: str) -> str:
    plain = "".join(part for part in unicodedata.normalize("NFKD", char) if part.isalnum() and has_glyph(part))
    if plain or unicodedata.combining(char):
        return plain
    if unicodedata.category(char)[0] not in "LMN":
        return "·"
    return "".join(part for part in anyascii(char) if part.isalnum())


Measure = Callable[[str], float]  # how wide a text is, in the unit of its column


def fit(text: str, width: int, sizes: Iterable[int], *, bold: bool, most_lines: int,
        ) -> tuple[ImageFont.FreeTypeFont, list[str]]:
    """`shrink` for a picture: the font at the size that fits, and the lines."""
    size, lines = shrink(text, width, sizes, lambda size: font(size, bold).getlength, most_lines)
    return font(size, bold), lines


def shrink(text: str, width: float, sizes: Iterable[int], measure_at: Callable[[int], Measure],
           most_lines: int) -> tuple[int, list[str]]:
    """The first of the falling sizes at which the text wraps into its lines; cut with "…" when none does."""
    for size in sizes:
        measure = measure_at(size)
        lines = _wrap(text, measure, width)
        if len(lines) <= most_lines:
            return size, lines
    last = lines[most_lines - 1]
    while last and measure(last + "…") > width:
        last = last[:-1]
    return size, [*lines[:most_lines - 1], last + "…"]


def _wrap(text: str, measure: Measure, width: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if measure(joined) <= width:
            lines[-1] = joined
            continue
        pieces = _pieces(word, measure, width)
        lines = [*lines, *pieces] if lines[-1] else pieces
    return lines


def _pieces(word: str, measure: Measure, width: float) -> list[str]:
    pieces = [""]
    for char in word:
        if pieces[-1] and measure(pieces[-1] + char) > width:
            pieces.append("")
        pieces[-1] += char
    return pieces
