"""The passenger of a ticket: read from a form, sealed into the identity table, opened again. Nowhere else."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date

from sqlalchemy.orm import Session

from kernel.decisions import Decision
from kernel.errors import InvalidInput
from kernel.vault import Erased, Vault
from ticketing.sales.documents import ADULT_AGE, KINDS, Document, check_document
from ticketing.sales.models import Identity, Ticket
from ticketing.sales.policy import age_on, check_filled, normalise_name

FIELDS = ("name", "document_kind", "document_number", "document_issuer", "birth_date")


@dataclass(frozen=True, slots=True)
class Passenger:
    """Who travels, in clear. Lives in memory only; `lookup` is the text that the row's tag is made of."""

    name: str
    kind: str
    number: str
    issuer: str
    lookup: str
    last4: str
    birth_date: str | None
    minor: bool

    @property
    def document(self) -> str:
        """As a person reads it: `RG 4.321.098 SSP/SC`."""
        return " ".join(part for part in (KINDS[self.kind], self.number, self.issuer) if part)

    def renamed(self, name: str) -> "Passenger":
        """The same person with the name as it should be. Raises InvalidInput."""
        return replace(self, name=normalise_name(name))

    @classmethod
    def opened(cls, row: Identity, code: str, vault: Vault) -> "Passenger":
        """The passenger of an identity row. Raises Erased after its last day."""
        if row.legal_hold:
            raw = vault.open_held(row.legal_hold, row.sealed, code.encode())
        else:
            raw = vault.open(row.keep_until, row.sealed, code.encode())
        return cls(**json.loads(raw))


def read_passenger(requirement: Decision, form: Mapping[str, str], *, travel_day: date,
                   state: str) -> Passenger | None:
    """The passenger of a form; None where identity is not asked and nothing was filled in (T5).

    Whoever fills in a part fills in the whole. Raises InvalidInput and RuleViolation (T5, T6) by field.
    """
    values = {field: form.get(field, "").strip() if isinstance(form.get(field, ""), str) else form[field]
              for field in FIELDS}
    given = any(values[field] for field in ("name", "document_number"))
    if requirement.outcome != "required" and not given:
        return None
    check_filled(replace(requirement, outcome="required"), values["document_kind"] or None, values)
    born = _birth_date(values["birth_date"])
    document = check_document(values["document_kind"], values["document_number"], values["document_issuer"] or None,
                              born, travel_day, state=state)
    return _passenger(normalise_name(values["name"]), document, born, travel_day)


def seal_row(row: Identity, code: str, passenger: Passenger, vault: Vault) -> None:
    """Put a passenger into a row, under its legal hold's key or else its last day's."""
    raw, context = json.dumps(asdict(passenger)).encode(), code.encode()
    if row.legal_hold:
        row.sealed = vault.seal_held(row.legal_hold, raw, context)
        row.tag = vault.tag_held(row.legal_hold, passenger.lookup)
    else:
        row.sealed = vault.seal(row.keep_until, raw, context)
        row.tag = vault.tag(row.keep_until, passenger.lookup)


def opened_or_none(row: Identity | None, code: str, vault: Vault) -> Passenger | None:
    """The passenger, or None where none was taken or the last day has passed."""
    if row is None:
        return None
    try:
        return Passenger.opened(row, code, vault)
    except Erased:
        return None


def of_ticket(session: Session, ticket: Ticket, vault: Vault) -> Passenger | None:
    """The passenger of a ticket, or None where none was taken or the last day has passed."""
    return opened_or_none(session.get(Identity, ticket.id), ticket.code, vault)


def _passenger(name: str, document: Document, born: date | None, travel_day: date) -> Passenger:
    minor = born is not None and age_on(born, travel_day) < ADULT_AGE
    return Passenger(name, document.kind, document.number, document.issuer, document.lookup, document.last4,
                     born.isoformat() if born else None, minor)


def _birth_date(text: str) -> date | None:
    if not text:
        return None
    day, slash, rest = text.partition("/")
    try:
        if slash:
            month, _, year = rest.partition("/")
            return date(int(year), int(month), int(day))
        return date.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        sentence = "Digite a data como dd/mm/aaaa."
        raise InvalidInput("bad_birth_date", sentence, fields={"birth_date": sentence}) from error
