"""The project's commands on a machine that lacks something: one sentence each, with the command that brings it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("sh", "test", "touch", "ls", "sed", "echo")


@pytest.fixture
def machine(tmp_path):
    """A folder with the Makefile alone, and a PATH with hardly anything on it."""
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "requirements-postgres.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return tmp_path


def python(machine: Path, answers: str) -> None:
    """A python3 that answers each question by its exit code: `case` branches over the question's text."""
    program = machine / "bin" / "python3"
    program.write_text(f'#!/bin/sh\ncase "$2" in {answers} esac\n')
    program.chmod(0o755)


def make(machine: Path, target: str) -> subprocess.CompletedProcess:
    env = {"PATH": str(machine / "bin"), "HOME": os.environ.get("HOME", "/")}
    return subprocess.run([shutil.which("make"), target], cwd=machine, env=env, capture_output=True, text=True, check=False)


def test_a_machine_without_python_is_told_so(machine):
    done = make(machine, "run")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == "Python 3.11 or later is missing. Run: apt-get install python3"


def test_an_old_python_is_told_so(machine):
    python(machine, "*version_info*) exit 1;;")
    assert make(machine, "venv").stderr.splitlines()[0].startswith("Python 3.11 or later is missing.")


def test_a_python_that_cannot_make_an_environment_is_told_so(machine):
    python(machine, "*ensurepip*) exit 1;;")
    told = make(machine, "venv").stderr.splitlines()[0]
    assert told == "Python cannot make a virtual environment. Run: apt-get install python3-venv"


def test_a_machine_without_a_browser_is_told_so_before_the_tests(machine):
    (machine / ".venv").mkdir()
    (machine / ".venv" / "installed").touch()
    told = make(machine, "test").stderr.splitlines()[0]
    assert told == "The browser for the page tests is missing. Run: apt-get install chromium"


@pytest.mark.parametrize("command", ["run", "test", "test-all", "bench", "lint", "venv"])
def test_make_alone_names_every_command(command):
    told = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"make {command} " in told
