"""Third-party files, served to browsers or read by tests, are the published ones; each says under which licence."""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "static"
MANIFEST = json.loads((STATIC / "vendor.json").read_text(encoding="utf-8"))
FILES = MANIFEST["files"]
CODE_AND_FONTS = {".js", ".mjs", ".wasm", ".ttf", ".otf", ".woff", ".woff2"}


def test_every_vendored_file_has_the_checksum_of_the_manifest() -> None:
    for entry in FILES:
        found = hashlib.sha256((STATIC / entry["file"]).read_bytes()).hexdigest()
        assert found == entry["sha256"], entry["file"]


def test_every_vendored_file_names_its_version_source_and_licence_text() -> None:
    for entry in FILES:
        assert all(entry[field] for field in ("name", "version", "licence", "source")), entry["file"]
        assert (STATIC / entry["licence_file"]).stat().st_size > 500, entry["file"]


def test_no_code_and_no_font_is_vendored_without_an_entry() -> None:
    served = {path.relative_to(STATIC).as_posix() for folder in ("vendor", "fonts")
              for path in (STATIC / folder).rglob("*") if path.suffix in CODE_AND_FONTS}
    assert served == {entry["file"] for entry in FILES}


def test_what_tests_read_of_others_is_listed_with_its_checksum_and_licence() -> None:
    for entry in MANIFEST["test_files"]:
        assert hashlib.sha256((ROOT / entry["file"]).read_bytes()).hexdigest() == entry["sha256"], entry["file"]
        assert all(entry[field] for field in ("name", "version", "licence", "source")), entry["file"]
        assert (ROOT / entry["licence_file"]).stat().st_size > 500, entry["file"]
    kept = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/vendor").rglob("*") if path.is_file()}
    assert kept == {entry["file"] for entry in MANIFEST["test_files"]}
