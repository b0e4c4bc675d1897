"""The product as it runs for people: gunicorn on a free port, on its own copy of the demonstration's data."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parent.parent
PASS_KEYS = "1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Server:
    """A running server. `env` is what its commands need too: `flask(server.env, "trips", "open")`."""

    url: str
    env: dict[str, str]
    vault_file: Path
    log: Path
    pid: int

    @property
    def database_url(self) -> str:
        return self.env["DATABASE_URL"]


def environment(database_url: str, vault_file: Path) -> dict[str, str]:
    """The settings of a demonstration, and nothing of the developer's own."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {**kept, "SECRET_KEY": "a secret for the tests alone, 32+", "PASS_KEYS": PASS_KEYS, "DEMO": "1",
            "VAULT_FILE": str(vault_file), "DATABASE_URL": database_url, "LOG_LEVEL": "WARNING"}


def flask(env: dict[str, str], *arguments: str) -> str:
    """Run one of the product's commands; its output. Fails with what it said when it does not end with 0."""
    done = subprocess.run([str(BIN / "flask"), "--app", "app", *arguments], cwd=ROOT, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, f"flask {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout


@contextlib.contextmanager
def demonstration(templates, dialect: str) -> Iterator[dict[str, str]]:
    """The environment of a fresh copy of the seeded demonstration: database and vault."""
    seeded_vault = templates.folder / f"seeded-{dialect}.vault"

    def seed(url: str) -> None:
        env = environment(url, seeded_vault)
        flask(env, "database", "upgrade")
        flask(env, "demo", "seed")

    with templates.copied(dialect, "seeded", seed) as url:
        vault_folder = templates.folder / f"vault-{url.rsplit('/', 1)[-1]}"
        vault_folder.mkdir()
        vault_file = vault_folder / "embarque.vault"
        shutil.copyfile(seeded_vault, vault_file)
        yield environment(url, vault_file)


@contextlib.contextmanager
def serving(env: dict[str, str], *, workers: int = 2) -> Iterator[Server]:
    """A server on that environment, stopped after; it answers /health before this returns."""
    vault_file = Path(env["VAULT_FILE"])
    log = vault_file.with_name("gunicorn.log")
    # listening before gunicorn starts: no port is lost to another program, and the first request simply waits
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener, log.open("ab") as output:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = subprocess.Popen(
            [str(BIN / "gunicorn"), "-w", str(workers), "-b", f"fd://{listener.fileno()}", "--timeout", "60", "--preload",
             "--no-control-socket", "app:serve()"],
            cwd=ROOT, env=env, pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True)
    try:
        try:
            healthy = httpx.get(f"{url}/health", timeout=60).is_success
        except httpx.HTTPError:
            healthy = False
        assert healthy, f"the server does not answer /health:\n{log.read_text()[-4000:]}"
        yield Server(url, env, vault_file, log, process.pid)
    finally:
        _end(process)


def _end(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
