"""docs/rules.md says the truth: its functions and tests exist, and each obligation stands in one row."""

import ast
import importlib
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.architecture import ROOMS, python_files

ROOT = Path(__file__).parent.parent
IDS = {*(f"T{n}" for n in range(1, 16)), *(f"B{n}" for n in range(1, 8)), *(f"R{n}" for n in range(1, 5)),
       *(f"O{n}" for n in range(1, 6))}
FUNCTION = re.compile(r"`([a-z_.]+):([A-Za-z_.]+)`")
TEST = re.compile(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of docs/rules.md, without its two head lines."""
    text = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    lines = text.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return table[2:]


BUILT, UNBUILT = rows("Built"), rows("Not built yet")
FUNCTIONS = sorted({found for row in BUILT + UNBUILT for cell in row for found in FUNCTION.findall(cell)})
TESTS = sorted({found for row in BUILT for cell in row for found in TEST.findall(cell)})


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def rules_cited() -> set[str]:
    """The rule of every citation that the code makes: the first word given to `cite` and `Citation`."""
    cited = set()
    for _name, file in python_files(ROOT, *ROOMS):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cite", "Citation") \
                    and node.args and isinstance(node.args[0], ast.Constant):
                cited |= set(node.args[0].value.split("-"))
    return cited


def test_every_obligation_stands_in_one_row():
    assert Counter(row[0] for row in BUILT + UNBUILT) == Counter(IDS)


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row[0])
def test_a_built_row_names_its_source_its_functions_its_tests_and_how_far_it_goes(row):
    assert len(row) == 6 and all(row)
    assert FUNCTION.search(row[3]) and not FUNCTION.sub("", row[3]).strip()
    assert TEST.search(row[4]) and not TEST.sub("", row[4]).strip()
    assert row[5] == "Whole" or row[5].startswith("In part: ")


@pytest.mark.parametrize("row", UNBUILT, ids=lambda row: row[0])
def test_a_row_that_is_not_built_says_what_is_there_now(row):
    assert len(row) == 4 and all(row)


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=":".join)
def test_every_function_named_can_be_called(module, name):
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)


@pytest.mark.parametrize(("file", "name"), TESTS, ids="::".join)
def test_every_test_named_exists(file, name):
    assert name in names_in(file)


def test_every_rule_that_the_code_cites_has_its_row():
    assert rules_cited() and rules_cited() <= IDS
