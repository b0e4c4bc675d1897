"""The house keeps its rules, and each rule catches a tree that was made to break it."""

import importlib
import subprocess
from pathlib import Path

import pytest
from flask import Flask

from kernel.api import operation
from kernel.auth import ROLE_ACTIONS
from kernel.openapi import ProblemOut
from kernel.web import guard, public
from tests import architecture as rules

ROOT = Path(__file__).parent.parent
USER_OF_ROLE = {"agent": "counter", "supervisor": "counter", "driver": "driver", "office": "office", "admin": "office",
                "inspector": "inspector"}
OPEN_TO_EVERYBODY = {
    "/", "/login", "/logout", "/health", "/passes", "/passes/sw.js", "/passes/<code>/<link>", "/passes/<code>/<link>/image.png",
    "/api/v1/openapi.json", "/api/v1/devices", "/passes/<code>/<link>/print", "/passes/<code>/<link>/ticket.pdf", "/driver/scanner/worker.js",
    "/departures", "/bookings", "/bookings/new", *(f"/bookings/<code>/<link>{step}" for step in (
        "", "/state", "/passengers", "/payment", "/check", "/extension", "/cancellation", "/demonstration")),
    "/trips/<code>/<link>", "/trips/<code>/<link>/tickets/<ticket>/refund", "/hooks/pix",
}
USERS_OF_ACTION = {action: {USER_OF_ROLE[role] for role in roles} for action, roles in ROLE_ACTIONS.items()}

BROKEN_TREES = [  # rule, file, what a careless change would write there, what stays allowed beside it
    (rules.kernel_names, "kernel/helpers.py", ""),
    (rules.kernel_names, "kernel/more/money.py", ""),
    (rules.leaf_names, "boarding/doors/utils.py", ""),
    (rules.leaf_names, "boarding/passes/gtfs.py", ""),
    (rules.leaf_names, "boarding/service.py", ""),
    (rules.leaf_names, "boarding/doors/deeper/service.py", ""),
    (rules.file_sizes, "refunds/windows/service.py", "x = 1\n" * 301),
    (rules.file_sizes, "tests/refunds/test_windows.py", "x = 1\n" * 401),
    (rules.floats, "ticketing/tariffs/policy.py", "RATE = 0.1"),
    (rules.floats, "kernel/money.py", "def of(cents: float): ..."),
    (rules.floats, "refunds/windows/policy.py", "paid = float('1')"),
    (rules.floats, "ticketing/payments/models.py", "from sqlalchemy import Numeric\nfare = Numeric(10)"),
    (rules.floats, "ticketing/payments/models.py", "import sqlalchemy as sa\nfare = sa.Float()"),
    (rules.clock_readings, "boarding/doors/views.py", "from datetime import datetime\nseen = datetime.now()"),
    (rules.clock_readings, "boarding/doors/views.py", "import datetime\nseen = datetime.datetime.utcnow()"),
    (rules.clock_readings, "kernel/audit.py", "import time\nseen = time.time()"),
    (rules.clock_readings, "kernel/audit.py", "from time import monotonic"),
    (rules.clock_readings, "refunds/windows/models.py", "from sqlalchemy import func\nseen = func.now()"),
    (rules.clock_readings, "app.py", "from datetime import date\nday = date.today()"),
    (rules.untruths, "kernel/money.py", "cents = 1  # TO" + "DO: round"),
    (rules.untruths, "tests/kernel/test_money.py", "import pytest\npytest.skip('later')"),
    (rules.untruths, "tests/kernel/test_money.py", "import pytest\n@pytest.mark.xfail\ndef test(): ..."),
    (rules.untruths, "tests/kernel/test_money.py", "import time\ntime.sleep(1)"),
    (rules.untruths, "tests/web/test_sale.py", "def test(page): page.wait_for_timeout(100)"),
    (rules.unknown_templates, "boarding/doors/views.py", "shown = 'anybody/sale.html'"),
    (rules.unknown_templates, "boarding/doors/views.py", "shown = 'missing.html'"),
    (rules.pages_of_others, "templates/counter/sale.html", "{{ url_for('static', filename='driver/scan.js') }}"),
    (rules.pages_of_others, "templates/counter/sale.html", '{% extends "office/shell.html" %}'),
]
ALLOWED = {
    "kernel/clock.py": "from datetime import UTC, datetime\nseen = datetime.now(UTC)",
    "kernel/money.py": "from decimal import Decimal\nRATE = Decimal('0.1')",
    "ticketing/imports/policy.py": "EARTH = 6371.0",
    "ticketing/imports/gtfs.py": "def times(moments, now): return moments.time, now",
    "boarding/doors/views.py": "shown = 'driver/scan.html'",
    "templates/driver/scan.html": "{{ url_for('static', filename='driver/scan.js') }}<a href='/counter/sales'></a>",
    "templates/counter/sale.html": "",
    "tests/kernel/test_money.py": "def test_a_sentence(): assert 'xfail'",
    "app.py": "import kernel.clock",
}
TREE_RULES = sorted({rule for rule, _file, _text in BROKEN_TREES}, key=lambda rule: rule.__name__)


@pytest.fixture
def tree(tmp_path):
    """A small house that keeps every rule."""
    for name, text in ALLOWED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    return tmp_path


@pytest.mark.parametrize("rule", TREE_RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule):
    assert rule(ROOT) == []


@pytest.mark.parametrize("rule", TREE_RULES, ids=lambda rule: rule.__name__)
def test_a_house_in_order_breaks_no_rule(tree, rule):
    assert rule(tree) == []


@pytest.mark.parametrize(("rule", "file", "text"), BROKEN_TREES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_breach_is_caught_and_named(tree, rule, file, text):
    (tree / file).parent.mkdir(parents=True, exist_ok=True)
    (tree / file).write_text(text + "\n")

    breaches = rule(tree)

    assert len(breaches) == 1
    assert breaches[0].startswith(file)


def test_the_top_level_has_only_the_names_that_the_owner_fixed():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert listed
    assert rules.top_level(listed.splitlines()) == []


def test_a_new_top_level_name_is_caught():
    assert rules.top_level(["kernel/money.py", "utils/money.py", "setup.py"]) == [
        "setup.py: not a top-level name of this house", "utils: not a top-level name of this house"]


@pytest.fixture
def database_url(templates):
    """One dialect is enough: the routes are the same on both."""
    with templates.copied("sqlite") as url:
        yield url


def test_every_route_is_guarded_or_marked_public(app):
    assert rules.unmarked_routes(app) == []


def test_only_the_listed_pages_are_open_to_everybody(app):
    public = {rule.rule for rule in app.url_map.iter_rules() if hasattr(app.view_functions[rule.endpoint], "is_public")}
    assert public == OPEN_TO_EVERYBODY


def test_every_route_is_named_by_the_user_it_lets_in(app):
    assert rules.unnamed_routes(app, USERS_OF_ACTION) == []


def test_tokens_open_the_interface_and_sign_ins_the_pages(app):
    assert rules.misguarded_interface(app) == []


def test_a_token_that_opens_a_page_and_a_sign_in_that_opens_the_interface_are_caught(house):
    house.add_url_rule("/api/v1/sales", "signed", guard("sell")(lambda: ""))
    house.add_url_rule("/counter/api", "token", operation("Vender", scope="sell", gives=ProblemOut())(dict))
    assert rules.misguarded_interface(house) == ["/api/v1/sales: opened by a sign-in", "/counter/api: opened by a token"]


def test_every_page_is_in_the_folder_of_the_user_in_its_address(app):
    assert rules.misplaced_templates(app) == []


def test_every_action_of_the_table_guards_a_route(app):
    guarded = {getattr(view, "guard_action", None) for view in app.view_functions.values()} - {None}
    assert guarded == set(ROLE_ACTIONS)


@pytest.fixture
def house():
    """An application with one page of each kind that is in order."""
    app = Flask("house", static_folder=None)
    pages = {"/": public(lambda: "search"), "/login": public(lambda: "sign in"), "/driver/sw.js": public(lambda: "script"),
             "/counter/sales": guard("sell")(lambda: "sale"), "/driver/trips": guard("board")(lambda: "trips")}
    for address, view in pages.items():
        app.add_url_rule(address, address, view)
    return app


def test_a_house_with_guarded_and_public_pages_is_in_order(house):
    assert rules.unmarked_routes(house) + rules.unnamed_routes(house, USERS_OF_ACTION) == []


def test_a_route_that_nobody_guards_is_caught(house):
    house.add_url_rule("/counter/refunds", "forgotten", lambda: "money")
    assert rules.unmarked_routes(house) == ["/counter/refunds: neither guarded nor marked public"]


def test_a_route_that_is_guarded_and_public_is_caught(house):
    house.add_url_rule("/counter/refunds", "torn", public(guard("refund")(lambda: "money")))
    assert rules.unmarked_routes(house) == ["/counter/refunds: guarded and public"]


@pytest.mark.parametrize(("address", "view", "told"), [
    ("/driver/refunds", guard("refund")(lambda: ""), "/driver/refunds: guarded by refund, which is not driver's"),
    ("/refunds", guard("refund")(lambda: ""), "/refunds: guarded by refund, which is not refunds's"),
    ("/office/trips", public(lambda: ""), "/office/trips: open to everybody under office"),
])
def test_a_route_under_another_users_name_is_caught(house, address, view, told):
    house.add_url_rule(address, "misplaced", view)
    assert rules.unnamed_routes(house, USERS_OF_ACTION) == [told]


VIEWS = """
SALE = "counter/sale.html"
def own(): return "driver/trips.html"
def shared(): return "error.html"
def foreign(): return shown(lost)
def shown(what): return what(SALE)
def lost(page): return page
"""


def test_a_page_of_another_users_folder_is_caught_through_the_functions_beside_it(house, tmp_path, monkeypatch):
    (tmp_path / "views_of_a_room.py").write_text(VIEWS)
    monkeypatch.syspath_prepend(tmp_path)
    views = importlib.import_module("views_of_a_room")
    house.add_url_rule("/driver/trips/<code>", "own", guard("board")(views.own))
    house.add_url_rule("/office/lines", "shared", guard("run_trips")(views.shared))
    house.add_url_rule("/counter/sale", "counter", guard("sell")(views.foreign))
    assert rules.misplaced_templates(house) == []

    house.add_url_rule("/driver/sale", "foreign", guard("board")(views.foreign))
    assert rules.misplaced_templates(house) == ["/driver/sale: shows counter/sale.html"]
