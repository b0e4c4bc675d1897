"""A demonstration makes its own secrets once; what the environment says counts for more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo.settings import fresh_settings, settings_of
from kernel.config import read_settings

ROOT = Path(__file__).parent.parent.parent
SHOW = [sys.executable, "-c", "import os; print(os.environ['DATABASE_URL'], os.environ['DEMO'])"]


def test_the_product_starts_on_fresh_settings():
    settings = read_settings(fresh_settings())
    assert settings.demo
    assert settings.vault_files == (Path("embarque.vault"),)


def test_no_two_demonstrations_share_a_secret():
    one, other = fresh_settings(), fresh_settings()
    assert one["SECRET_KEY"] != other["SECRET_KEY"]
    assert one["PASS_KEYS"] != other["PASS_KEYS"]


def test_the_settings_are_made_once_and_are_their_owners_alone(tmp_path):
    file = tmp_path / "var" / "demo.env"
    made = settings_of(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert settings_of(file) == made


@pytest.mark.parametrize(("given", "used"), [
    ({}, "sqlite:///var/embarque.db 1"),
    ({"DATABASE_URL": "postgresql://here/embarque"}, "postgresql://here/embarque 1"),
    ({"DEMO": "0"}, "sqlite:///var/embarque.db 0"),
])
def test_the_environment_counts_for_more_than_the_file(tmp_path, given, used):
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **given}
    done = subprocess.run([sys.executable, "-m", "demo.settings", *SHOW], cwd=tmp_path, env=env, capture_output=True,
                          text=True, check=True)
    assert done.stdout.strip() == used
