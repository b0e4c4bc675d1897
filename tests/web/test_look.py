"""The look, read from its files: colours that can be told apart in every theme, no colour outside the tokens, icons that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHEETS = sorted((ROOT / "static").rglob("*.css"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = [path for path in sorted((ROOT / "static").rglob("*.js")) if "vendor" not in path.parts]
THEMES = ("light", "dark", "night", "glare")
TEXT, SHAPE = 4.5, 3.0

STATES = ("attention", "stop", "info")
PAIRS = [
    *[(ink, ground, TEXT) for ink in ("ink", "ink-soft", "go-text", "attention-text", "stop-text", "info-text")
      for ground in ("paper", "surface", "sunken")],
    *[("ink", f"{state}-wash", TEXT) for state in ("go", *STATES)],
    *[(f"{state}-text", f"{state}-wash", TEXT) for state in ("go", *STATES)],
    *[(f"on-{state}", state, TEXT) for state in ("go", "attention", "stop", "sign")],
    ("on-go", "go-strong", TEXT), ("on-stop", "stop-strong", TEXT), ("on-sold", "sold", TEXT),
    *[(ink, "board", TEXT) for ink in ("board-ink", "board-soft", "board-lamp", "board-ok", "board-stop")],
    ("on-board-pick", "board-pick", TEXT), ("paper", "ink", TEXT),
    *[(f"on-field-{state}", f"field-{state}", TEXT) for state in ("ok", *STATES)],
    *[(f"frame-{state}", f"field-{state}", SHAPE) for state in ("ok", *STATES)],
    *[("edge", ground, SHAPE) for ground in ("paper", "surface", "sunken")],
    *[("focus", ground, SHAPE) for ground in ("paper", "surface", "sunken")],
    ("go", "surface", SHAPE), ("go-text", "bus", SHAPE), ("qr-ink", "qr-paper", TEXT),
]


def _block(css: str, opening: str) -> dict[str, str]:
    body = css[css.index(opening) + len(opening):]
    body = body[:body.index("}")]
    return dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})\s*;", body))


def _tokens(theme: str) -> dict[str, str]:
    css = (ROOT / "static" / "css" / "tokens.css").read_text()
    openings = {"light": ":root {", "dark": ":root:not([data-theme]) {", "night": '[data-theme="night"] {', "glare": '[data-theme="glare"] {'}
    return _block(css, openings["light"]) | _block(css, openings[theme])


def _luminance(colour: str) -> float:
    channels = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_contrast_of_the_standard() -> None:
    assert round(_contrast("#000000", "#ffffff"), 2) == 21.0
    assert round(_contrast("#767676", "#ffffff"), 2) == 4.54  # the usual grey at the limit


@pytest.mark.parametrize("theme", THEMES)
def test_every_pair_of_colours_is_readable_in_every_theme(theme: str) -> None:
    tokens = _tokens(theme)
    dim = {f"{ink} on {ground}": round(_contrast(tokens[ink], tokens[ground]), 2)
           for ink, ground, least in PAIRS if _contrast(tokens[ink], tokens[ground]) < least}
    assert dim == {}


def test_every_colour_token_stands_in_a_pair() -> None:
    seen = {name for pair in PAIRS for name in pair[:2]}
    # hairlines, the inner line of a plate and the edge of information are decoration: space, sign and word say it too
    assert set(_tokens("light")) - seen == {"line", "board-line", "halo", "sign-line", "info"}


def test_only_the_tokens_hold_colours() -> None:
    for sheet in SHEETS:
        if sheet.name == "tokens.css":
            continue
        screen = sheet.read_text().split("@media print")[0]
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[^{]*;)|\brgba?\(|\bhsla?\(|gradient\(", screen) == [], sheet.name


def test_style_sheets_use_only_tokens_that_exist() -> None:
    defined = set(re.findall(r"--([a-z0-9-]+):", "".join(sheet.read_text() for sheet in SHEETS)))
    for sheet in SHEETS:
        assert set(re.findall(r"var\(--([a-z0-9-]+)", sheet.read_text())) <= defined, sheet.name


def test_templates_name_only_icons_that_are_drawn() -> None:
    drawn = set(re.findall(r'<symbol id="([a-z-]+)"', (ROOT / "static" / "icons.svg").read_text()))
    for template in TEMPLATES:
        text = re.sub(r"\{#.*?#\}", "", template.read_text(), flags=re.S)
        assert set(re.findall(r"""\bicon\(["']([a-z-]+)["']""", text)) <= drawn, template.name


def _pages_and_scripts() -> str:
    """What is written on pages, notes to the reader left out, and in scripts."""
    pages = "".join(re.sub(r"\{#.*?#\}", "", template.read_text(), flags=re.S) for template in TEMPLATES)
    views = "".join(path.read_text() for room in ("ticketing", "boarding", "refunds", "oversight") for path in (ROOT / room).rglob("*.py"))
    return pages + views + "".join(script.read_text() for script in SCRIPTS)


def test_every_drawn_icon_is_used() -> None:
    drawn = set(re.findall(r'<symbol id="([a-z-]+)"', (ROOT / "static" / "icons.svg").read_text()))
    assert {name for name in drawn if not re.search(rf"""["']{name}["']""", _pages_and_scripts())} == set()


def test_every_token_is_used() -> None:
    css = "".join(sheet.read_text() for sheet in SHEETS)
    assert set(re.findall(r"(?<!\w)--([a-z0-9-]+):", css)) - set(re.findall(r"var\(--([a-z0-9-]+)", css)) == set()


def _beginning(name: str) -> str:
    """The fixed part of a class that a page completes with a state, such as `tag--`, `icon-`; else the whole."""
    return next((name[:name.index(joint) + len(joint)] for joint in ("--", "icon-", "paper-") if joint in name), name)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_every_class_of_a_style_sheet_stands_on_a_page(sheet: Path) -> None:
    written = _pages_and_scripts()
    rules = re.sub(r"\{[^{}]*\}", "{}", re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", sheet.read_text(), flags=re.S))
    unused = {name for name in re.findall(r"\.([a-z][a-z0-9-]*)", rules)
              if not re.search(rf"(?<![\w-])({name}(?![\w-])|{_beginning(name)}(?=['{{$ ]))", written)}
    assert unused == set()


def test_templates_carry_no_script_or_style_of_their_own() -> None:
    for template in TEMPLATES:
        text = re.sub(r"\{#.*?#\}", "", template.read_text(), flags=re.S)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=[\"']|<script(?![^>]*\bsrc=)", text), template.name
