"""The house rules that imports cannot say. Each check takes the root of a tree, or a list, and returns its breaches
as sentences, so that `test_architecture.py` can show each rule a tree that breaks it."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOMS = ("ticketing", "boarding", "refunds", "oversight")
PYTHON = ("kernel", *ROOMS, "demo", "migrations", "benchmarks", "tests")
TOP_LEVEL = {
    "app.py", *PYTHON, "templates", "static", "docs", ".ci", "README.md", "Makefile", "Procfile", "pyproject.toml",
    "requirements.txt", "requirements-dev.txt", "requirements-postgres.txt", "constraints.txt", ".gitignore", "LICENSE", "NOTICE",
}
KERNEL = {"__init__", "audit", "auth", "clock", "commands", "config", "db", "decisions", "errors", "filters", "jobs", "login", "logs",
          "money", "outbox", "openapi", "partners", "api", "repeats", "spreadsheets", "vault", "web", "webhooks"}
LEAF_FILES = {"__init__", "policy", "models", "service", "schemas", "views", "api", "commands"}
NAMED_FILES = {  # a module named for what it is, where a leaf has a thing of its own
    "ticketing/network": {"laws", "settings"},
    "ticketing/imports": {"gtfs", "sections", "matrix", "courses", "tables", "cells", "archives", "rows", "fares", "intake", "changes"},
    "ticketing/sales": {"corrections", "documents", "identities"},
    "ticketing/payments": {"brcode", "port", "bankapi", "providers", "charges", "payouts", "desk"},
    "ticketing/online": {"search", "purchases"},
    "boarding/passes": {"signing", "drawing", "paper", "typesetting"},
    "boarding/doors": {"manifest"},
    "boarding/devices": {"enrolment", "sealed"},
    "oversight/inspection": {"listings"},
}
LONGEST_FILE = 300
LONGEST_TEST = 400  # tables of cases are long and still read at one go
MONEY_PATHS = ("kernel/money.py", "ticketing", "refunds")
GREAT_CIRCLE = {"ticketing/imports/policy.py"}  # degrees of the globe are no money; its km come out as Decimal
CLOCK_READERS = {"now", "utcnow", "today", "time", "time_ns", "monotonic", "localtime", "gmtime"}
CLOCK_OWNERS = {"datetime", "date", "time"}
USERS = {"passenger", "counter", "driver", "office", "inspector"}
OUTSIDE_THE_USERS = {"login", "logout", "password", "health", "static"}  # everybody's doors, and the watchman's
UNFINISHED = ("TODO", "FIXME", "XXX")


def python_files(root: Path, *parts: str) -> Iterator[tuple[str, Path]]:
    """Every Python file under the parts of the tree, with its name relative to the root."""
    for part in parts:
        path = root / part
        found = [path] if path.is_file() else sorted(path.rglob("*.py"))
        yield from ((file.relative_to(root).as_posix(), file) for file in found)


def top_level(names: Iterable[str]) -> list[str]:
    """Top-level names outside the list that the owner fixed."""
    return [f"{name}: not a top-level name of this house" for name in sorted({n.split("/")[0] for n in names} - TOP_LEVEL)]


def kernel_names(root: Path) -> list[str]:
    """Modules of the kernel outside its closed list."""
    return [f"{name}: the kernel's list is closed" for name, file in python_files(root, "kernel")
            if file.stem not in KERNEL or file.parent.name != "kernel"]


def leaf_names(root: Path) -> list[str]:
    """Files of a leaf with a name that no leaf has, and files beside the leaves."""
    breaches = []
    for name, file in python_files(root, *ROOMS):
        leaf = name.rpartition("/")[0]
        allowed = LEAF_FILES | NAMED_FILES.get(leaf, set()) if "/" in leaf else {"__init__"}
        if file.stem not in allowed or leaf.count("/") > 1:
            breaches.append(f"{name}: not a file of a leaf")
    return breaches


def file_sizes(root: Path) -> list[str]:
    """Files longer than a person reads at one go. A migration is one step of a record, however long."""
    breaches = []
    for name, file in python_files(root, *PYTHON, "app.py"):
        lines = len(file.read_text().splitlines())
        limit = LONGEST_TEST if name.startswith("tests/") else LONGEST_FILE
        if lines > limit and not name.startswith("migrations/versions/"):
            breaches.append(f"{name}: {lines} lines, {limit} at most")
    return breaches


def floats(root: Path) -> list[str]:
    """Places in the money's path where a float could come in."""
    return [f"{name}:{node.lineno}: a float in money's path" for name, file in python_files(root, *MONEY_PATHS)
            if name not in GREAT_CIRCLE for node in ast.walk(ast.parse(file.read_text())) if _is_float(node)]


def _is_float(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    return (isinstance(node, ast.Name) and node.id in ("float", "Float", "Numeric")
            or isinstance(node, ast.Attribute) and node.attr in ("Float", "REAL", "Double"))


def clock_readings(root: Path) -> list[str]:
    """Places outside kernel/clock.py that ask the machine what time it is."""
    return [f"{name}:{node.lineno}: reads the clock" for name, file in python_files(root, "kernel", *ROOMS, "demo", "app.py")
            if name != "kernel/clock.py" for node in ast.walk(ast.parse(file.read_text())) if _reads_clock(node)]


def _reads_clock(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "time" and any(alias.name in CLOCK_READERS for alias in node.names)
    if not isinstance(node, ast.Attribute):
        return False
    if isinstance(node.value, ast.Attribute):  # datetime.datetime.now
        return node.attr in CLOCK_READERS and node.value.attr in CLOCK_OWNERS
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    return node.attr in CLOCK_READERS and owner in CLOCK_OWNERS or node.attr in ("CURRENT_TIMESTAMP", "current_timestamp") \
        or owner == "func" and node.attr == "now"


def untruths(root: Path) -> list[str]:
    """Unfinished work in the code, and tests that look away or wait by sleeping."""
    breaches = []
    for name, file in python_files(root, *PYTHON, "app.py"):
        text = file.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            comment = line.partition("#")[2]
            if any(f"{word}" in comment for word in UNFINISHED):
                breaches.append(f"{name}:{number}: unfinished")
        if name.startswith("tests/"):
            breaches += [f"{name}:{node.lineno}: a test that looks away or sleeps" for node in ast.walk(ast.parse(text))
                         if _looks_away(node)]
    return breaches


def _looks_away(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "time" and any(alias.name == "sleep" for alias in node.names)
    if not isinstance(node, ast.Attribute):
        return False
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    return (node.attr in ("skip", "skipif", "xfail", "importorskip") and owner in ("pytest", "mark", "unittest")
            or node.attr == "sleep" and owner in ("time", "asyncio") or node.attr == "wait_for_timeout")


def unmarked_routes(app) -> list[str]:
    """Routes that are neither guarded nor marked public, or both."""
    breaches = []
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        guarded = hasattr(view, "guard_action") or hasattr(view, "guard_scope")
        public = getattr(view, "is_public", False)
        if rule.endpoint != "static" and guarded == public:
            breaches.append(f"{rule.rule}: {'guarded and public' if guarded else 'neither guarded nor marked public'}")
    return sorted(breaches)


def unnamed_routes(app, users_of_action: dict[str, set[str]]) -> list[str]:
    """Routes whose first segment is not the user whom their guard lets in.

    A public route outside the shared doors is the passenger's, served at `/`; JSON is under api/v1, call-backs of
    banks under hooks.
    """
    breaches = []
    for rule in app.url_map.iter_rules():
        first = rule.rule.split("/")[1]
        action = getattr(app.view_functions[rule.endpoint], "guard_action", None)
        if first in OUTSIDE_THE_USERS or rule.rule.startswith(("/api/v1/", "/hooks/")):
            continue
        if action is None and first in USERS - {"passenger", "driver"}:
            breaches.append(f"{rule.rule}: open to everybody under {first}")
        if action is not None and first not in users_of_action[action]:
            breaches.append(f"{rule.rule}: guarded by {action}, which is not {first or 'passenger'}'s")
    return sorted(breaches)


def misguarded_interface(app) -> list[str]:
    """Routes of the JSON interface that a sign-in opens, and pages that a token opens."""
    breaches = []
    for rule in app.url_map.iter_rules():
        view, inside = app.view_functions[rule.endpoint], rule.rule.startswith("/api/")
        if inside and hasattr(view, "guard_action"):
            breaches.append(f"{rule.rule}: opened by a sign-in")
        if not inside and hasattr(view, "guard_scope"):
            breaches.append(f"{rule.rule}: opened by a token")
    return sorted(breaches)


def unknown_templates(root: Path) -> list[str]:
    """Templates that the code names and that are not there, or lie in a folder that is no user's."""
    breaches = []
    for name, file in python_files(root, "kernel", *ROOMS):
        for node in ast.walk(ast.parse(file.read_text())):
            folder, slash, _page = (template := _template(node)).partition("/")
            if slash and folder not in USERS | {"macros"}:
                breaches.append(f"{name}:{node.lineno}: {folder} is not a user")
            elif template and not (root / "templates" / template).exists():
                breaches.append(f"{name}:{node.lineno}: there is no {template}")
    return breaches


def pages_of_others(root: Path) -> list[str]:
    """Pages that load or extend something from another user's folder."""
    return [f"{page.relative_to(root).as_posix()}: uses what is {user}'s"
            for page in sorted((root / "templates").rglob("*.html"))
            for user in re.findall(rf"""['"]({'|'.join(sorted(USERS))})/""", page.read_text())
            if user != page.relative_to(root / "templates").parts[0]]


def misplaced_templates(app) -> list[str]:
    """Routes whose view, or a function beside it that the view calls, shows the template of another user."""
    breaches = set()
    for rule in app.url_map.iter_rules():
        view = inspect.unwrap(app.view_functions[rule.endpoint])
        first = rule.rule.split("/")[1]
        user = first if first in USERS else "passenger"
        for template in _shown_by(Path(view.__code__.co_filename), view.__name__):
            folder, slash, _page = template.partition("/")
            if slash and folder in USERS and folder != user:
                breaches.add(f"{rule.rule}: shows {template}")
    return sorted(breaches)


def _shown_by(file: Path, function: str) -> set[str]:
    """Templates named by a function of the file and, in turn, by what it uses of that file."""
    parts = {name: node for node in ast.parse(file.read_text()).body for name in _defines(node)}
    reached, waiting = set(), [function]
    while waiting:
        name = waiting.pop()
        if name in parts and name not in reached:
            reached.add(name)
            waiting += [node.id for node in ast.walk(parts[name]) if isinstance(node, ast.Name)]
    return {_template(node) for name in reached for node in ast.walk(parts[name])} - {""}


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]


def _template(node: ast.AST) -> str:
    """The template's name where the node is one, else nothing."""
    named = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if named and re.fullmatch(r"[a-z_/]+\.html", node.value) else ""
