"""Third-party files served to browsers are the published ones, and each says under which licence."""

import hashlib
import json
from pathlib import Path

VENDOR = Path(__file__).resolve().parents[2] / "static" / "vendor"
MANIFEST = json.loads((VENDOR / "manifest.json").read_text(encoding="utf-8"))


def test_every_vendored_file_has_the_checksum_of_the_manifest() -> None:
    for entry in MANIFEST["files"]:
        found = hashlib.sha256((VENDOR / entry["file"]).read_bytes()).hexdigest()
        assert found == entry["sha256"], entry["file"]


def test_every_vendored_file_names_its_version_source_and_licence_text() -> None:
    for entry in MANIFEST["files"]:
        assert all(entry[field] for field in ("name", "version", "licence", "source")), entry["file"]
        assert (VENDOR / entry["licence_file"]).stat().st_size > 500, entry["file"]


def test_no_code_is_vendored_without_an_entry() -> None:
    listed = {entry["file"] for entry in MANIFEST["files"]}
    served = {p.relative_to(VENDOR).as_posix() for p in VENDOR.rglob("*") if p.suffix in {".js", ".mjs", ".wasm"}}
    assert served <= listed
