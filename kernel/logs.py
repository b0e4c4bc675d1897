"""Structured logs: one JSON object a line on standard error. They carry route names, codes and ids, never a body,
a query string or a path, since a path may hold a pass's link token."""

import logging
import sys

from pythonjsonlogger.json import JsonFormatter

from kernel.clock import utc_parts


class _NoValues(JsonFormatter):
    """Exceptions are logged by type and place: their message may quote a bound SQL value."""

    def formatException(self, ei):  # type: ignore[no-untyped-def]  # noqa: N802
        kind, _error, trace = ei
        places = []
        while trace is not None:
            code = trace.tb_frame.f_code
            places.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
            trace = trace.tb_next
        return f"{kind.__name__} at " + " < ".join(reversed(places[-8:]))


def start_logging(level: str) -> None:
    """Send every logger to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = _NoValues("{asctime}{levelname}{name}{message}", style="{", rename_fields={
        "asctime": "at", "levelname": "level", "name": "logger"}, datefmt="%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = utc_parts
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("werkzeug").setLevel("WARNING")
