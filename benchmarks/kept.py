"""The measured data set, built once a week and kept in var/bench: each run works on a copy of its own."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from time import perf_counter

from benchmarks.bulk import bulk
from benchmarks.country import build_country
from benchmarks.crowd import crowd, sample_sale
from kernel.clock import LEGAL_ZONE, local_date, utc_now
from tests import postgres
from tests.races.counters import Person, database_of, first_stop, hire, trips_of
from tests.server import ROOT, environment, flask, serving

KEPT = ROOT / "var" / "bench"
TICKETS, LINES = 500_000, 200
AGENTS, DRIVERS = 16, 4
SHAPE = ("benchmarks/country.py", "benchmarks/crowd.py", "demo/timetable.json")


def furnish(dialect: str, folder: Path, tickets: int) -> dict[str, str]:
    """The environment of a database with so many tickets in a folder under /tmp; PostgreSQL runs when this returns."""
    kept = KEPT / f"{dialect}-{tickets}-{_fingerprint()}"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        for older in KEPT.glob(f"{dialect}-{tickets}-*"):
            shutil.rmtree(older)
        began = perf_counter()
        _build(dialect, folder, tickets)
        print(f"{dialect}: {tickets} tickets built in {perf_counter() - began:.0f} s", flush=True)
        _copy(folder, kept.with_suffix(".part"))
        kept.with_suffix(".part").rename(kept)
    else:
        _copy(kept, folder)
    url = _start_again(folder / "postgres") if dialect == "postgresql" else _sqlite(folder)
    flask(_environment(folder, url), "database", "upgrade")  # what is kept may be older than the newest migration
    return _environment(folder, url)


def logins() -> tuple[list[str], list[str]]:
    """The agents and the drivers that a kept house employs."""
    return [f"agent-{n}" for n in range(AGENTS)], [f"driver-{n}" for n in range(DRIVERS)]


def _build(dialect: str, folder: Path, tickets: int) -> None:
    home = folder / "postgres"
    url = _sqlite(folder)
    if dialect == "postgresql":
        server = postgres.administration(postgres.start(home, os.getpid(), postgres.DURABLE))
        url = postgres.create(server, "embarque")
    env = _environment(folder, url)
    flask(env, "database", "upgrade")
    flask(env, "demo", "seed")
    hire(env, "agent", AGENTS + 1)  # the last one made the sales that the others find
    hire(env, "driver", DRIVERS)
    _sell_one(env)
    with database_of(env) as database, bulk(url) as writer:
        runs = build_country(database, writer, max(LINES * tickets // TICKETS, 4))
        crowd(writer, sample_sale(url), runs, tickets)
    if dialect == "postgresql":
        postgres.stop_in(home)


def _sell_one(env: dict[str, str]) -> None:
    url = env["DATABASE_URL"]
    trip = trips_of(url, "32-1")[-1]
    with serving(env, workers=1) as server:
        seller = Person(server.url, f"agent-{AGENTS}", 1)
        seller.open_till(first_stop(url, trip))
        assert seller.sell(trip, 1, alight=3).status_code == 303


def _environment(folder: Path, url: str) -> dict[str, str]:
    return environment(url, folder / "embarque.vault") | {"PROXY_HOPS": "1"}


def _sqlite(folder: Path) -> str:
    return f"sqlite:///{folder / 'embarque.db'}"


def _start_again(home: Path) -> str:
    """Start a copied cluster on a free port; it ends with this process."""
    port, options = postgres._free_port(), home / "data" / "postmaster.opts"
    told = re.sub(r'/tmp/embarque-bench-\w+/postgres', str(home), options.read_text())
    options.write_text(re.sub(r'"-p" "\d+"', f'"-p" "{port}"', told))
    (home / "data" / "postmaster.pid").unlink(missing_ok=True)
    postgres.start_again(home)
    subprocess.Popen(["sh", "-c", postgres.WATCH, "watch", str(os.getpid()), str(home / "data" / "postmaster.pid"),
                      str(home.parent)], start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"postgresql+psycopg://{postgres.OWNER}@127.0.0.1:{port}/embarque"


def _copy(there: Path, here: Path) -> None:
    here.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", f"{there}/.", str(here)], check=True)  # the owner stays PostgreSQL's


def _fingerprint() -> str:
    """What the kept data follow from: the generator, and the week, since trips are sold ahead."""
    week = local_date(utc_now(), LEGAL_ZONE).isocalendar()
    text = b"".join(path.read_bytes() for shape in SHAPE for path in sorted(ROOT.glob(shape)))
    return f"{week.year}w{week.week:02}-{hashlib.sha256(text).hexdigest()[:12]}"

