"""The logs: JSON, one line a record, and no exception's own words, which may quote a person."""

import io
import json
import logging
import sys

import pytest

from kernel.logs import start_logging


@pytest.fixture
def lines(monkeypatch):
    """What is logged, as parsed lines; the loggers are put back afterwards."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr(sys, "stderr", stream)

    def start(level: str = "INFO") -> None:
        monkeypatch.setattr(sys, "stderr", stream)  # pytest puts its own back between set-up and call
        start_logging(level)

    start()
    yield lambda *level: start(*level) if level else [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_record_is_one_line_of_json(lines):
    logging.getLogger("embarque.web").info("request", extra={"route": "/counter\nfake", "status": 200})
    line, = lines()
    assert (line["level"], line["logger"], line["message"], line["route"], line["status"]) == (
        "INFO", "embarque.web", "request", "/counter\nfake", 200)
    assert "at" in line


def test_an_exception_is_told_by_type_and_place_alone(lines):
    try:
        raise ValueError("Zzmarcador Teste 000.000.012-44")
    except ValueError:
        logging.getLogger("embarque.web").exception("unexpected error")
    line, = lines()
    assert line["exc_info"].startswith("ValueError at ")
    assert f"{__file__}:" in line["exc_info"]
    assert "Zzmarcador" not in json.dumps(line)
    assert "000.000.012-44" not in json.dumps(line)


def test_a_chained_exception_says_no_more(lines):
    try:
        try:
            raise KeyError("Zzmarcador Teste")
        except KeyError as error:
            raise RuntimeError("Zzmarcador Teste") from error
    except RuntimeError:
        logging.getLogger("embarque.jobs").error("job failed", exc_info=sys.exc_info())
    assert "Zzmarcador" not in json.dumps(lines())


@pytest.mark.parametrize(("level", "kept"), [("DEBUG", 3), ("INFO", 2), ("ERROR", 0)])
def test_the_level_is_the_setting_s(lines, level, kept):
    lines(level)
    for severity in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger("embarque").log(severity, "told")
    assert len(lines()) == kept


def test_statements_are_not_echoed_at_any_level(lines, database):
    lines("DEBUG")
    with database.reading() as session:
        session.connection().exec_driver_sql("SELECT 'Zzmarcador'")
    assert "Zzmarcador" not in json.dumps(lines())
