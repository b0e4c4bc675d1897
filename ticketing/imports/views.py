"""The office's page of imports: a file comes in, is read outside any transaction, and the report stands on the page."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue
from flask_login import current_user
from werkzeug.datastructures import FileStorage
from werkzeug.utils import secure_filename

from kernel.errors import DomainError, InvalidInput
from kernel.web import actor, form_page, guard, now, read, reading, transaction, wants_json
from ticketing.imports import intake
from ticketing.imports.changes import KINDS
from ticketing.imports.fares import Act
from ticketing.imports.policy import Refused
from ticketing.imports.schemas import ImportForm
from ticketing.imports.sections import ZONES
from ticketing.imports.service import Choice
from ticketing.network import settings

LARGEST_UPLOAD = 64 * 1024 * 1024
MOST_UNPACKED = 100_000_000  # what a request reads in seconds; more goes by command
MOST_SHOWN = 200
LONGEST_STEM = 60
TABLES = {"place": "Lugares", "stop": "Pontos", "line": "Linhas", "pattern": "Itinerários", "slot": "Partidas"}

blueprint = Blueprint("imports", __name__, url_prefix="/office")


@blueprint.url_value_preprocessor
def allow_a_file(_endpoint: str | None, _values: dict[str, Any] | None) -> None:
    """Let those who may import send a file, before anything reads the body; the house's limit holds for others."""
    if request.method == "POST" and current_user.is_authenticated and current_user.may("run_trips"):
        request.max_content_length = LARGEST_UPLOAD


@blueprint.get("/imports")
@guard("run_trips")
def page() -> ResponseReturnValue:
    return _page()


@blueprint.post("/imports")
@guard("run_trips")
def upload() -> ResponseReturnValue:
    taken = None
    try:
        form = read(ImportForm(), _filled(request.form))
        with _kept(request.files.get("file")) as path:
            name = path.name
            taken = intake.take(path, form["kind"] or intake.kind_of(path), state=form["state"] or None, zone=None,
                                progress=_unwatched, most_bytes=MOST_UNPACKED)
        choice = Choice(Path(name).stem, form["rehearsal"], form["state"] or None, form["vehicle"] or None,
                        form["carrier"] or None)
        act = Act(form["act"], form["starts_on"], form["line"] or None, form["both_ways"])
        with transaction() as session:
            brought = intake.bring(session, taken, choice, act, days=_days(form["days"]), now=now(), actor=actor())
    except DomainError as error:
        return _page(error, taken.refused if taken else ())
    if wants_json():
        return jsonify(intake.report(name, choice.rehearsal, taken.refused, brought))
    return _page(None, taken.refused, brought=brought, name=name)


def _page(problem: DomainError | None = None, refused: tuple[Refused, ...] = (), *,
          brought: intake.Brought | None = None, name: str = "") -> ResponseReturnValue:
    with reading() as session:
        return form_page(
            "office/imports.html", problem, typed=request.form if problem else {}, refused=refused, most=MOST_SHOWN,
            brought=brought, name=name, kinds=intake.KINDS, states=[(state, state) for state in ZONES],
            vehicles=[(code, code) for code in settings.vehicle_codes(session)],
            carriers=settings.carriers(session), tables=TABLES, what=KINDS)


@contextmanager
def _kept(upload: FileStorage | None) -> Iterator[Path]:
    """The upload as a file of its own name, gone when it has been read. Raises InvalidInput where none came."""
    if upload is None or not upload.filename:
        raise InvalidInput("file_missing", "Escolha o arquivo.", fields={"file": "Escolha o arquivo."})
    called = Path(secure_filename(upload.filename) or "arquivo")
    with tempfile.TemporaryDirectory(prefix="embarque-import-") as folder:
        path = Path(folder) / f"{called.stem[:LONGEST_STEM]}{called.suffix[:8]}"
        upload.save(path)
        yield path


def _filled(form: Any) -> dict[str, str]:
    return {name: value for name, value in form.items() if value.strip()}


def _days(text: str) -> int | None:
    return int(text) if text else None


def _unwatched(_done: int, _total: int) -> None:
    """Nobody sees a bar while a request is answered."""
