"""Everything that the requirement files install is pinned to one version, and that version is what is installed."""

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FILES = ("requirements.txt", "requirements-dev.txt", "constraints.txt")  # PostgreSQL's wheel is not on every machine


def lines(file: str) -> list[Requirement]:
    """The file's own requirements, without comments and what it reads from other files."""
    told = (ROOT / file).read_text().splitlines()
    return [Requirement(line) for line in told if line and not line.startswith(("#", "-"))]


def brought_along(chosen: list[Requirement]) -> set[str]:
    """The names of what is installed because of the chosen ones, themselves included, on this machine."""
    found, waiting = set(), [(one.name, extra) for one in chosen for extra in ("", *one.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (key := (canonicalize_name(name), extra)) in found:
            continue
        found.add(key)
        for needed in map(Requirement, metadata.requires(name) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed.name, wanted) for wanted in ("", *needed.extras)]
    return {name for name, _extra in found}


@pytest.mark.parametrize("file", [*FILES, "requirements-postgres.txt"])
def test_every_line_pins_one_exact_version(file):
    assert [str(line) for line in lines(file) if not re.fullmatch(r"==[0-9a-z.]+", str(line.specifier))] == []


def test_what_the_requirements_bring_along_is_pinned_too():
    pinned = {canonicalize_name(line.name) for file in FILES for line in lines(file)}
    assert brought_along([*lines("requirements.txt"), *lines("requirements-dev.txt")]) - pinned == set()


def test_nothing_is_pinned_twice():
    names = [canonicalize_name(line.name) for file in [*FILES, "requirements-postgres.txt"] for line in lines(file)]
    assert sorted(names) == sorted(set(names))


def test_the_pinned_versions_are_the_ones_the_tests_run_on():
    installed = {canonicalize_name(one.name): one.version for one in metadata.distributions()}
    pinned = {canonicalize_name(line.name): str(line.specifier).removeprefix("==")
              for file in ("requirements.txt", "requirements-dev.txt") for line in lines(file)}
    along = {canonicalize_name(line.name): str(line.specifier).removeprefix("==") for line in lines("constraints.txt")}
    assert {name: version for name, version in pinned.items() if installed.get(name) != version} == {}
    assert {name: version for name, version in along.items() if installed.get(name, version) != version} == {}


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-postgres.txt"])
def test_the_requirement_files_read_the_constraints_themselves(file):
    assert "-c constraints.txt" in (ROOT / file).read_text().splitlines()
