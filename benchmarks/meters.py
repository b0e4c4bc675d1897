"""What a run costs: processor time of the server's workers and of the database, from /proc, without the clients'."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICK = 1000 / os.sysconf("SC_CLK_TCK")  # milliseconds


@dataclass(frozen=True)
class Cost:
    """One kind of request, measured: milliseconds a request, requests a second."""

    server_ms: float
    database_ms: float
    rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float

    @property
    def total_ms(self) -> float:
        return self.server_ms + self.database_ms


def children(process: int) -> list[int]:
    """The processes that a process started and that run now."""
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def spent(processes: Iterable[int]) -> float:
    """Milliseconds of processor time of these processes so far, user and system, ended children included."""
    return sum(sum(map(int, _fields(process)[11:15])) for process in processes) * TICK


def idle_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    """The share of the machine that nobody used between two calls of `machine`."""
    return (after[1] - before[1]) / max(after[0] - before[0], 1)


def machine() -> tuple[int, int]:
    """Ticks of all processors so far, and those of them spent idle."""
    ticks = [int(part) for part in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _fields(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
