"""A door whose answers a test decides: serves the real scan page and scripts under the real security policy.

It stands for the server so that lost answers, expired sign-ins and rare verdicts can be had at will.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask, Response, jsonify, render_template, request
from jinja2 import StrictUndefined
from werkzeug.serving import make_server

from kernel.filters import start_filters
from kernel.web import CONTENT_SECURITY_POLICY

ROOT = Path(__file__).resolve().parents[2]
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
TRIP = {"id": 7, "line_code": "32-1", "line_name": "Criciúma - Florianópolis", "departure": "06:30", "current_stop": 0,
        "stop_options": [(0, "Criciúma"), (1, "Tubarão"), (2, "Laguna"), (3, "Florianópolis")]}


def answer(result: str = "OK", tone: str = "ok", word: str = "pode embarcar", **more: Any) -> dict[str, Any]:
    """An answer as the server gives it; `do_`, because `do` is the contract's word, not a good Python one."""
    return {"result": result, "tone": tone, "word": word, "seat": None, "do": more.pop("do_", []), "passenger": None,
            "checks": [], "detail": None, "count": {"aboard": 34, "capacity": 46}} | more


ASKS = answer(seat="12", do_=["confira o RG: final 4821", "desce em Tubarão"], checks=["document"],
              passenger={"name": "Maria Aparecida D’Ávila", "document": "RG", "last4": "4821"})
BOARDED = answer(seat="12", do_=["desce em Tubarão"], count={"aboard": 35, "capacity": 46})
TWICE = answer("ALREADY_BOARDED", "stop", "já embarcou", seat="12", do_=["confira o RG: final 4821"],
               detail="Embarcou em Criciúma às 06:31, neste celular")
FISCAL = answer("FISCAL_QR", "info", "QR fiscal", do_=["peça o outro código do bilhete"])
STRANGE = answer("NOT_A_PASS", "info", "não é bilhete", do_=["peça o código do bilhete"])
UNKNOWN = answer("UNKNOWN_CODE", "stop", "código desconhecido", do_=["confira as letras ou embarque por nome"])


class StubDoor:
    """What was posted to it, and what it answers next."""

    def __init__(self) -> None:
        self.url = ""
        self.posts: list[dict[str, Any]] = []
        self.by_text: dict[str, dict[str, Any]] = {}
        self.after_question = {"confirmed": BOARDED, "refused": answer("OK", "stop", "não embarca", seat="12")}
        self.refusal: tuple[int, dict[str, Any]] | None = None
        self.token = "token-1"

    def scans(self) -> list[dict[str, Any]]:
        """The distinct scans, first post of each id."""
        return list({post["id"]: post for post in reversed(self.posts) if "id" in post}.values())[::-1]

    def reply(self, body: dict[str, Any], default: dict[str, Any]) -> Response:
        self.posts.append(body)
        if self.refusal:
            status, problem = self.refusal
            return Response(jsonify(problem).get_data(), status, content_type="application/problem+json")
        if request.headers.get("X-CSRFToken") != self.token:
            return Response(jsonify(code="form_expired", title="Atualize").get_data(), 400)
        return jsonify({"id": body.get("id")} | default)


def build(door: StubDoor) -> Flask:
    app = Flask("stub", template_folder=str(ROOT / "templates"), static_folder=str(ROOT / "static"))
    app.jinja_env.undefined = StrictUndefined
    start_filters(app)
    app.jinja_env.globals["csrf_token"] = lambda: door.token

    @app.get("/driver/trips/<int:trip_id>/scan")
    def page(trip_id: int) -> str:
        return render_template("driver/scan.html", trip=TRIP, count={"aboard": 33, "capacity": 46},
                               manifest_url="/driver/trips/7/manifest", board_by_name_url="/driver/trips/7/by-name",
                               trips_url="/driver/trips")

    @app.post("/driver/trips/<int:trip_id>/scans")
    def scans(trip_id: int) -> Response:
        body = request.get_json()
        return door.reply(body, door.by_text.get(body["text"], UNKNOWN if body["kind"] == "code" else STRANGE))

    @app.post("/driver/trips/<int:trip_id>/scans/<scan_id>/answer")
    def answers(trip_id: int, scan_id: str) -> Response:
        body = request.get_json()
        return door.reply({"answers": scan_id, **body}, door.after_question[body["outcome"]])

    @app.get("/driver/scanner/worker.js")
    def worker() -> Response:
        response = app.send_static_file("driver/worker.js")
        response.headers["Content-Security-Policy"] = WORKER_POLICY
        return response

    @app.after_request
    def strict(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    return app


@contextmanager
def serving_stub() -> Iterator[StubDoor]:
    """The door on a free port of this machine."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    door = StubDoor()
    server = make_server("127.0.0.1", 0, build(door), threaded=True)
    door.url = f"http://127.0.0.1:{server.server_port}/driver/trips/7/scan"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield door
    server.shutdown()
    thread.join()
