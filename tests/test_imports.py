"""The import contracts of pyproject.toml: the tree keeps each, and each catches an import made to break it."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]

VIOLATIONS = [  # contract, the files that a careless change would add, with the import that breaks it
    ("rooms", {"kernel/probe.py": "import ticketing.network"}),
    ("rooms", {"ticketing/network/probe.py": "import refunds.windows"}),
    ("rooms", {"boarding/probe/probe.py": "import refunds.windows"}),
    ("rooms", {"refunds/probe/probe.py": "import boarding.doors"}),
    ("rooms", {"boarding/probe/probe.py": "import oversight.retention"}),
    ("rooms", {"oversight/probe/probe.py": "import demo"}),
    ("app", {"kernel/probe.py": "def late():\n    import app"}),
    ("app", {"oversight/probe/commands.py": "from app import create_app"}),
    ("ticketing", {"ticketing/network/probe.py": "import ticketing.tariffs"}),
    ("ticketing", {"ticketing/seats/probe.py": "import ticketing.payments"}),
    ("ticketing", {"ticketing/sales/probe.py": "import ticketing.imports"}),
    ("ticketing", {"ticketing/newcomer/policy.py": "'''a leaf without a place in the picture'''"}),
    ("leaves", {"boarding/probe/views.py": "import boarding.probe.api", "boarding/probe/api.py": ""}),
    ("leaves", {"boarding/probe/schemas.py": "import boarding.probe.service", "boarding/probe/service.py": ""}),
    ("leaves", {"refunds/probe/policy.py": "import refunds.probe.models", "refunds/probe/models.py": ""}),
    ("leaves", {"refunds/probe/models.py": "import refunds.probe.service", "refunds/probe/service.py": ""}),
    ("leaves", {"refunds/probe/documents.py": "import refunds.probe.models", "refunds/probe/models.py": ""}),
    ("policy", {"refunds/probe/policy.py": "from sqlalchemy import select"}),
    ("policy", {"refunds/probe/policy.py": "import refunds.other", "refunds/other/__init__.py": "import PIL.Image"}),
    ("use-cases", {"refunds/probe/service.py": "from flask import request"}),
    ("use-cases", {"boarding/probe/models.py": "from marshmallow import Schema"}),
    ("views", {"oversight/probe/views.py": "from sqlalchemy import select"}),
    ("cycles", {"boarding/one/probe.py": "import boarding.two", "boarding/two/probe.py": "import boarding.one"}),
    ("cycles", {"kernel/one.py": "import kernel.two", "kernel/two.py": "import kernel.one"}),
]


def broken_contracts(tree: Path) -> list[str]:
    """The ids of the contracts that a tree breaks."""
    done = subprocess.run([sys.executable, "-c", "import importlinter.cli; importlinter.cli.lint_imports_command()",
                           "--no-cache", "--no-logo"], cwd=tree, capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": "400", "PYTHONDONTWRITEBYTECODE": "1"})
    assert "Contracts:" in done.stdout, done.stdout + done.stderr
    ids = {contract["name"]: contract["id"] for contract in OPTIONS["contracts"]}
    return [ids[line.removesuffix(" BROKEN")] for line in done.stdout.splitlines() if line.endswith(" BROKEN")]


@pytest.fixture
def tree(tmp_path):
    """The house with its rooms and leaves but nothing in them, so that a breach is the only one."""
    for room in OPTIONS["root_packages"]:
        for file in (ROOT / room).rglob("__init__.py"):
            copy = tmp_path / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_an_empty_house_keeps_every_import_contract(tree):
    assert broken_contracts(tree) == []


def test_the_tree_keeps_every_import_contract():
    assert broken_contracts(ROOT) == []


def test_every_import_contract_has_a_violation():
    assert {contract for contract, _files in VIOLATIONS} == {contract["id"] for contract in OPTIONS["contracts"]}


@pytest.mark.parametrize(("contract", "files"), VIOLATIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_forbidden_import_breaks_its_contract_and_no_other(tree, contract, files):
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")
        (path.parent / "__init__.py").touch()

    assert broken_contracts(tree) == [contract]
