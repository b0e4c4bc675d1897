"""What the command and the office's page do alike: read a file by its kind, bring it in, tell what became of it."""

import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from kernel.clock import local_date
from kernel.errors import InvalidInput
from ticketing.imports.archives import MOST_BYTES
from ticketing.imports.changes import Change
from ticketing.imports.fares import Act, Priced, bring_in_fares
from ticketing.imports.gtfs import read_gtfs
from ticketing.imports.matrix import FareTable, read_fares
from ticketing.imports.policy import Feed, Refused, period
from ticketing.imports.sections import ZONES, read_sections
from ticketing.imports.service import Choice, Loaded, bring_in
from ticketing.imports.tables import MOST_LINE_BYTES, Progress
from ticketing.network.service import open_trips

KINDS = {"gtfs": "GTFS (zip)", "sections": "Tabela de seções (CSV)", "fares": "Matriz de tarifas (CSV)"}


@dataclass(frozen=True, slots=True)
class Taken:
    """What a file gave: a network or fare tables, and every row refused."""

    feed: Feed
    tables: tuple[FareTable, ...]
    refused: tuple[Refused, ...]

    @property
    def anything(self) -> bool:
        return bool(self.feed.patterns or self.tables)


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import wrote; `opened` is None where no trips were asked for, `ended` a past timetable's last day."""

    loaded: Loaded | None
    priced: tuple[Priced, ...]
    opened: int | None
    ended: date | None

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.loaded.changes if self.loaded else ()


def kind_of(path: Path) -> str:
    """The kind that the file's name and title line speak for. Raises InvalidInput."""
    if path.suffix.lower() in (".csv", ".txt"):
        return "fares" if path.is_file() and b"tarifa" in _titles(path) else "sections"
    if not path.exists() or path.is_dir() or path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        return "gtfs"
    raise InvalidInput("unknown_format", "Não é pasta, zip nem CSV. Diga o formato: gtfs, sections ou fares.",
                       fields={"kind": "Escolha o formato do arquivo."})


def _titles(path: Path) -> bytes:
    with path.open("rb") as raw:
        return raw.readline(MOST_LINE_BYTES).lower()


def take(path: Path, kind: str, *, state: str | None, zone: str | None, progress: Progress,
         most_bytes: int = MOST_BYTES) -> Taken:
    """Read a file; long work that no transaction waits for. A file that is refused whole gives an empty result."""
    zone = zone or ZONES.get(state or "")
    if kind == "fares":
        found = read_fares(path, progress=progress)
        return Taken(Feed(""), found.tables, found.refused)
    if kind == "gtfs":
        result = read_gtfs(path, zone=zone, progress=progress, most_bytes=most_bytes)
    else:
        result = read_sections(path, zone=zone or ZONES["SC"], progress=progress)
    return Taken(result.feed, (), result.refused)


def bring(session: Session, taken: Taken, choice: Choice, act: Act, *, days: int | None, now: datetime,
          actor: str) -> Brought:
    """Write all of it in the caller's transaction. Raises InvalidInput `nothing_imported`, and what the parts raise."""
    if not taken.anything:
        raise InvalidInput("nothing_imported", "Nada foi importado.")
    loaded: Loaded | None = None
    priced: tuple[Priced, ...] = ()
    if taken.tables:
        priced = bring_in_fares(session, taken.tables, choice, act, now=now, actor=actor)
    else:
        loaded = bring_in(session, taken.feed, choice, now=now, actor=actor)
    opened = open_trips(session, days=days, now=now, actor=actor) if days is not None else None
    bounds = period(taken.feed)
    past = bounds and not choice.rehearsal and bounds[1] < local_date(now, taken.feed.zone)
    return Brought(loaded, priced, opened, bounds[1] if bounds and past else None)


def report(file: str, rehearsal: bool, refused: Sequence[Refused], brought: Brought | None) -> dict[str, Any]:
    """The result as plain JSON values: counts, refused rows, changes by departure with trips and ticket codes."""
    loaded = brought.loaded if brought else None
    return {
        "file": file, "rehearsal": rehearsal, "imported": loaded.new if loaded else {},
        "changed": loaded.changed if loaded else {}, "trips_opened": brought.opened if brought else None,
        "fares": [asdict(priced) for priced in brought.priced] if brought else [],
        "changes": [{
            "line": change.line, "departure": change.slot, "what": list(change.what), "trips_changed": change.retimed,
            "trips_withdrawn": change.withdrawn, "trips_kept": [
                {"trip": kept.trip, "day": kept.day.isoformat(), "tickets": list(kept.tickets)}
                for kept in change.kept]} for change in (brought.changes if brought else ())],
        "refused": [asdict(row) for row in refused],
    }
