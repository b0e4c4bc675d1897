"""A person's name and document, through a whole life of a ticket: sealed while they are owed, nowhere afterwards.

Looked for in every table, in the bytes of the database's files, in logs, audit rows, cookies and addresses, in the
encodings that a copy could stand in; then, after the last day, in every page as well.
"""

import base64
import io
import logging
import re
import shutil
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from flask.sessions import TaggedJSONSerializer
from sqlalchemy import select, text, update

from boarding.doors.models import Roster, Scan
from kernel import web
from kernel.auth import SignIn, find_staff
from kernel.db import Base, Database
from kernel.logs import start_logging
from kernel.repeats import RepeatKey, forget_old
from kernel.vault import Erased, Vault
from oversight.retention import service as retention
from tests.instants import NOW, at
from tests.world import build
from ticketing.sales.identities import opened_or_none
from ticketing.sales.models import Identity, Ticket

NAME, WRONG_NAME, CPF = "Zzmarcador Teste", "Zzmarkador Teste", "000.000.012-44"
SENTINELS = ("Zzmarcador", "Zzmarkador", "ZZMARCADOR", "zzmarcador", CPF, "00000001244", "000000012", "90817263")
PERSON = {"document_kind": "CIN", "document_number": CPF, "document_issuer": "SSP/SC", "birth_date": "", "name": WRONG_NAME}
BOARDING, OVER = at("2026-03-03T09:20"), at("2027-03-04T12:00")


def shapes(word: str) -> list[bytes]:
    """A word as it may stand in a file: UTF-8, UTF-16, hexadecimal, and base64 at each of its three offsets."""
    raw = word.encode()
    inner = [base64.b64encode(b"\0" * n + raw)[-(-n * 8 // 6):-4 or None] for n in range(3)]
    url = [part.translate(bytes.maketrans(b"+/", b"-_")) for part in inner]
    return [raw, word.encode("utf-16-le"), word.encode("utf-16-be"), raw.hex().encode(), *inner, *url]


SHAPES = [shape for word in SENTINELS for shape in shapes(word)]


def found(raw: bytes) -> list[bytes]:
    return [shape for shape in SHAPES if shape in raw]


def tables(database: Database) -> bytes:
    """Every value of every table, also the parts of JSON and binary columns."""
    parts: list[bytes] = []
    with database.reading() as session:
        for table in Base.metadata.sorted_tables:
            for row in session.connection().execute(select(text("*")).select_from(table)):
                parts += [bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode() for value in row]
    return b"\n".join(parts)


def files(database: Database, *folders: Path) -> bytes:
    """The bytes of the database's own files (SQLite: with its write-ahead log) and of the folders."""
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    if database.engine.dialect.name == "sqlite":
        whole = Path(database.engine.url.database)
        paths += [path for path in whole.parent.glob(whole.name + "*") if path.is_file()]
    return b"\n".join(path.read_bytes() for path in paths)


@dataclass
class Life:
    """The people of the journey, and all that left the application on its way to logs, browsers and addresses."""

    app: object
    database: Database
    vault: Vault
    world: object
    people: dict
    log: io.StringIO
    outside: list[str] = field(default_factory=list)

    def clock(self, instant) -> None:
        self.app.extensions["clock"] = lambda: instant

    def ask(self, role: str, method: str, address: str, *, status: int | tuple[int, ...], **sent):
        answer = self.people[role].open(address, method=method, **sent)
        allowed = status if isinstance(status, tuple) else (status,)
        assert answer.status_code in allowed, (address, answer.status_code, answer.text[-1500:])
        self.outside.append(answer.headers.get("Location", ""))
        for cookie in answer.headers.getlist("Set-Cookie"):
            self.outside += [cookie, *opened_cookie(self.app, cookie)]
        return answer

    def told(self) -> bytes:
        return "\n".join([self.log.getvalue(), *self.outside]).encode()


def opened_cookie(app, cookie: str) -> list[str]:
    match = re.match(r"session=([^;]+)", cookie)
    if not match or not match[1].strip('"'):
        return []
    serializer = app.session_interface.get_signing_serializer(app)
    assert isinstance(serializer.serializer, TaggedJSONSerializer)
    return [str(serializer.loads(match[1]))]


@pytest.fixture
def life(app, database, vault, signed_in, monkeypatch):
    with database.transaction() as session:
        world = build(session)
    people = {role: signed_in(role, stop_id=world.stops[0] if role == "agent" else None)
              for role in ("agent", "supervisor", "driver", "inspector", "office")}
    people["stranger"] = app.test_client()
    with database.transaction() as session:
        driver = find_staff(session, people["driver"].login)
        session.add(Roster(trip_id=world.long_trip, staff_id=driver.id))
        session.execute(update(SignIn).values(expires_at=OVER + timedelta(days=365)))
    app.config["PROPAGATE_EXCEPTIONS"] = False
    root, log = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr(sys, "stderr", log)
    start_logging("DEBUG")

    def probe():
        with web.transaction() as session:
            session.execute(text("SELECT * FROM nothing WHERE name = :name").bindparams(name=web.request.form["name"]))
        return ""
    app.add_url_rule("/probe", view_func=web.public(probe), methods=["POST"])
    yield Life(app, database, vault, world, people, log)
    root.handlers[:] = handlers
    root.setLevel(level)


def sale(life: Life, **changes) -> dict[str, object]:
    return {**PERSON, "trip": life.world.long_trip, "board": 0, "alight": 1, "day": life.world.day.isoformat(), "to": "", "seat": "5",
            "hold": "", "method": "cash", "reference": "", "received": "50,00", "idempotency_key": f"key-{uuid4()}", **changes}


def codes(life: Life) -> list[str]:
    with life.database.reading() as session:
        return list(session.scalars(select(Ticket.code).order_by(Ticket.id)))


def live_through_it(life: Life) -> list[str]:
    """Sell, refuse, fail, correct, void, refund, board and inspect; the codes of the tickets."""
    ask = life.ask
    ask("agent", "POST", "/counter/shift/open", data={"stop_id": life.world.stops[0], "opening_float": "300,00"}, status=303)
    first = sale(life)
    ask("agent", "POST", "/counter/sales", data=first, status=303)
    ask("agent", "POST", "/counter/sales", data=first, status=303)
    ask("agent", "POST", "/counter/sales", data={**first, "name": NAME}, status=409)
    for seat in (6, 7, 8):
        ask("agent", "POST", "/counter/sales", data=sale(life, seat=seat, name=NAME), status=303)
    refusals = ({"document_issuer": "", "document_kind": "RG"}, {"document_number": "000.000.012-45"}, {"birth_date": CPF}, {"seat": "5"},
                {"document_kind": NAME}, {"method": NAME}, {"received": CPF}, {"idempotency_key": NAME}, {"trip": NAME}, {"name": NAME * 50},
                {"document_kind": "BIRTH_CERTIFICATE", "document_number": "90817263"})
    for wrong in refusals:
        ask("agent", "POST", "/counter/sales", data=sale(life, **{"seat": "9", "name": NAME, **wrong}), status=(409, 422))
    tickets = codes(life)
    assert len(tickets) == 4
    kept, corrected, voided, refunded = tickets
    ask("agent", "GET", "/counter", status=200)
    ask("agent", "GET", "/counter/tickets", query_string={"code": CPF}, status=404)
    for page in (f"/counter/tickets/{kept}", f"/counter/tickets/{kept}/print", f"/counter/tickets/{kept}/refund"):
        ask("agent", "GET", page, status=200)
    ask("agent", "POST", f"/counter/tickets/{kept}/name", data={"name": NAME}, status=303)
    ask("agent", "POST", f"/counter/tickets/{kept}/name", data={"name": NAME * 50}, status=422)
    ask("agent", "POST", f"/counter/tickets/{voided}/void", data={"method": "cash", "reference": "", "reason": f"engano de {NAME}"}, status=303)
    ask("agent", "POST", f"/counter/tickets/{refunded}/refund", data={
        "method": "cash", "reference": "", "shown": "", "idempotency_key": f"key-{uuid4()}"}, status=303)
    ask("agent", "POST", f"/counter/tickets/{kept}/refund", data={
        "method": "card", "reference": NAME, "shown": CPF, "idempotency_key": NAME}, status=422)
    ask("stranger", "POST", "/login", data={"login": NAME, "password": CPF}, status=401)
    ask("stranger", "POST", "/passes", data={"code": NAME, "link": CPF}, status=(404, 422))
    ask("stranger", "POST", "/probe", data={"name": NAME}, status=(500, 503))
    board(life, corrected)
    ask("inspector", "GET", f"/inspector/trips/{life.world.long_trip}", status=200)
    page = ask("inspector", "POST", "/inspector/documents", data=PERSON, status=200)
    assert kept in page.text
    assert NAME in page.text
    ask("inspector", "POST", "/inspector/documents", data={**PERSON, "document_number": "90817263"}, status=422)
    ask("office", "POST", f"/office/trips/{life.world.short_trip}/cancel", data={"reason": f"{NAME} {CPF}"}, status=(303, 409, 422))
    return tickets


def board(life: Life, code: str) -> None:
    life.clock(BOARDING)
    door, ask = f"/driver/trips/{life.world.long_trip}", life.ask
    for typed, client_id in ((NAME, uuid4()), (f"EMB1.{CPF}", uuid4()), (code, uuid4())):
        told = ask("driver", "POST", f"{door}/scans", status=200, json={
            "id": str(client_id), "kind": "code", "text": typed, "stop_seq": 0, "at": BOARDING.isoformat()})
    assert NAME in told.text, "the driver sees who should be standing there"
    ask("driver", "POST", f"{door}/scans/{client_id}/answer", json={"outcome": "confirmed"}, status=200)
    ask("driver", "POST", f"{door}/scans/{client_id}/answer", json={"outcome": "refused", "reason": NAME}, status=(409, 422))
    for page in (f"{door}/passengers", f"{door}/manifest", f"{door}/passengers/{client_id}"):
        ask("driver", "GET", page, status=200)
    ask("driver", "POST", f"{door}/passengers/search", data={"q": NAME}, status=200)


def test_the_search_finds_a_marker_in_every_shape():
    for raw in (f"x{NAME}y".encode(), NAME.encode("utf-16-le"), base64.b64encode(b"a" + NAME.encode() + b"bc"),
                base64.b64encode(b"ab" + NAME.encode() + b"bc"), base64.urlsafe_b64encode(CPF.encode() + b"??"), NAME.encode().hex().encode()):
        assert found(raw), raw


def test_a_person_stands_in_the_vault_s_ciphertext_alone_and_then_nowhere(life, tmp_path, vault_file):
    tickets = live_through_it(life)
    assert found(tables(life.database)) == []
    assert found(files(life.database, tmp_path)) == []
    assert found(life.told()) == []
    assert '"route": "/counter/sales"' in life.log.getvalue(), "nothing was logged at all"
    with life.database.reading() as session:
        assert session.scalars(select(RepeatKey)).all(), "no key was kept at all"
        assert session.scalars(select(Scan)).all(), "no scan was kept at all"
        copies = [(row.keep_until, row.sealed, opened_or_none(row, code, life.vault)) for row, code in session.execute(
            select(Identity, Ticket.code).join(Ticket, Ticket.id == Identity.ticket_id))]
    assert {passenger.name for *_, passenger in copies} == {NAME}
    forget_the_person(life, tmp_path)
    for keep_until, sealed, _ in copies:
        with pytest.raises(Erased):
            Vault([vault_file]).open(keep_until, sealed, tickets[0].encode())
    assert found(tables(life.database)) == []
    life.database.engine.dispose()
    life.app.extensions["database"].engine.dispose()
    assert found(files(life.database, tmp_path)) == []
    assert found(life.told()) == []
    assert_no_key_opens([sealed for _, sealed, _ in copies], tickets, vault_file, life.database)
    assert_no_page_shows_it(life, tickets)


def forget_the_person(life: Life, tmp_path: Path) -> None:
    """What the worker does over the year, and a legal hold with a careless reason in between."""
    hold = retention.place_hold(life.database, life.vault, life.world.short_trip, f"processo de {NAME}", OVER.date(), now=NOW, actor="tests")
    retention.release_hold(life.database, life.vault, hold, now=NOW, actor="tests")
    for week in range(1, 53):
        retention.run(life.database, life.vault, now=NOW + timedelta(days=7 * week), actor="worker")
    retention.run(life.database, life.vault, now=OVER, actor="worker")
    with life.database.transaction() as session:
        forget_old(session, now=OVER)
        assert session.scalars(select(Identity)).all() == []
        assert session.scalars(select(RepeatKey)).all() == []


def assert_no_key_opens(blobs: list[bytes], tickets: list[str], vault_file: Path, database: Database) -> None:
    """No 32 bytes of the vault file or of the database's files are a key to what a copy still holds."""
    raw = vault_file.read_bytes()
    material = [raw, *(base64.b64decode(part) for part in re.findall(rb"[A-Za-z0-9+/]{43}=", raw))]
    if database.engine.dialect.name == "sqlite":
        material.append(Path(database.engine.url.database).read_bytes())
    blob, context = blobs[0], tickets[0].encode()
    nonce, body = blob[:12], blob[12:]
    for window in {one[n:n + 32] for one in material for n in range(len(one) - 31)}:
        try:
            AESGCM(window).decrypt(nonce, body, context)
        except InvalidTag:
            continue
        pytest.fail("a key was left behind")


def assert_no_page_shows_it(life: Life, tickets: list[str]) -> None:
    life.clock(OVER)
    trip = life.world.long_trip
    pages = [("inspector", "GET", f"/inspector/trips/{trip}", {}), ("inspector", "POST", "/inspector/documents", {"data": PERSON}),
             ("driver", "GET", f"/driver/trips/{trip}/passengers", {}), ("driver", "GET", f"/driver/trips/{trip}/manifest", {}),
             *(("agent", "GET", f"/counter/tickets/{code}", {}) for code in tickets),
             *(("agent", "GET", f"/counter/tickets/{code}/print", {}) for code in tickets)]
    for role, method, address, sent in pages:
        page = life.ask(role, method, address, status=(200, 404, 409), **sent).text
        lead = page.replace(CPF, "", 1) if address == "/inspector/documents" else page  # what was just typed
        assert found(lead.encode()) == [], address


def test_a_copy_of_the_whole_database_of_day_0_stays_shut(life, tmp_path, vault_file):
    tickets = live_through_it(life)
    with life.database.reading() as session:
        rows = [(row.ticket_id, row.keep_until, row.tag, row.sealed) for row in session.scalars(select(Identity))]
    copy = None
    if life.database.engine.dialect.name == "sqlite":
        with life.database.reading() as session:
            session.connection().exec_driver_sql("SELECT 1")
        copy = tmp_path / "yesterday.sqlite"
        source = Path(life.database.engine.url.database)
        for suffix in ("", "-wal", "-shm"):
            if Path(f"{source}{suffix}").exists():
                shutil.copyfile(f"{source}{suffix}", f"{copy}{suffix}")
    retention.run(life.database, life.vault, days_limit=400, now=OVER, actor="tests")
    vault = Vault([vault_file])
    for _, keep_until, tag, sealed in rows:
        assert opened_or_none(Identity(keep_until=keep_until, legal_hold=None, tag=tag, sealed=sealed), tickets[0], vault) is None
    if copy is not None:
        old = Database(f"sqlite:///{copy}")
        with old.reading() as session:
            restored = session.execute(select(Identity, Ticket.code).join(Ticket, Ticket.id == Identity.ticket_id)).all()
            assert len(restored) == len(tickets)
            assert [opened_or_none(row, code, vault) for row, code in restored] == [None] * len(tickets)
        retention.check_vault(old, vault)
        assert retention.run(old, vault, now=OVER, actor="tests").identities == len(tickets)
        old.engine.dispose()


def test_no_server_is_started_with_a_log_of_addresses():
    assert "access" not in (Path(__file__).parents[2] / "Procfile").read_text()
