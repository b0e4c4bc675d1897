"""A trip's list as a phone takes it along: whoever finds the phone reads no name until a pass is scanned."""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import datetime

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import select
from sqlalchemy.orm import Session

from boarding.passes.models import Pass
from boarding.passes.service import ensure_pass
from kernel import audit
from kernel.vault import Vault
from ticketing.network.service import Journey, load_journey
from ticketing.sales.identities import Passenger, opened_or_none
from ticketing.sales.models import Identity, Ticket


@dataclass(frozen=True, slots=True)
class Listed:
    """A ticket of the list. `sealed` is base64 of nonce and AES-256-GCM under the pass's id; None without a name."""

    code: str
    pass_hash: str
    revision: int
    seat: int
    board_seq: int
    alight_seq: int
    status: str
    document_asked: bool
    boarded_at: datetime | None
    sealed: str | None


def sealed_list(session: Session, trip_id: int, *, vault: Vault, now: datetime,
                actor: str) -> tuple[Journey, list[Listed]]:
    """The trip and all its tickets, those paid back too: the list is what revokes a pass. Audited. Raises NotFound."""
    journey = load_journey(session, trip_id)
    rows = session.execute(select(Ticket, Pass, Identity).outerjoin(
        Pass, (Pass.ticket_id == Ticket.id) & (Pass.revision == Ticket.revision)).outerjoin(
        Identity, Identity.ticket_id == Ticket.id).where(Ticket.trip_id == trip_id).order_by(Ticket.seat, Ticket.id))
    listed = []
    for ticket, made, identity in rows.all():
        boarding_pass = made or ensure_pass(session, ticket.id, ticket.revision, ticket.sold_at)
        listed.append(_listed(ticket, boarding_pass.id, opened_or_none(identity, ticket.code, vault)))
    audit.record(session, "list_taken", subject=f"trip {trip_id}", details={"listed": len(listed)}, now=now,
                 actor=actor)
    return journey, listed


def _listed(ticket: Ticket, pass_id: bytes, passenger: Passenger | None) -> Listed:
    travels = ticket.status in ("sold", "boarded")
    return Listed(ticket.code, hashlib.sha256(pass_id).hexdigest(), ticket.revision, ticket.seat, ticket.board_seq,
                  ticket.alight_seq, ticket.status, ticket.identity_required, ticket.boarded_at,
                  _seal(pass_id, ticket.code, passenger) if passenger and travels else None)


def _seal(pass_id: bytes, code: str, passenger: Passenger) -> str:
    told = json.dumps({"name": passenger.name, "document": passenger.kind, "last4": passenger.last4}).encode()
    nonce = secrets.token_bytes(12)
    return base64.b64encode(nonce + AESGCM(list_key(pass_id)).encrypt(nonce, told, code.encode())).decode()


def list_key(pass_id: bytes) -> bytes:
    """The 32 bytes that open one ticket's line, from the id that stands only in its QR code."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"embarque list").derive(pass_id)
