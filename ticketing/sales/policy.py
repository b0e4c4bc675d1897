"""When a ticket carries the passenger's identity, names and ages, and how long a sale can be voided."""

import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from kernel.decisions import Citation, Decision
from kernel.errors import Conflict, InvalidInput, RuleViolation
from ticketing.network.laws import CARRIER

THRESHOLD_KM = Decimal(100)
ESTIMATE_THRESHOLD_KM = Decimal(80)  # an estimate may fall short of the road: it asks earlier
FULL_REFUND_WINDOW = timedelta(hours=12)
SC_11A_FROM = date(2016, 3, 18)  # Lei 16.898, published that day

LIVE = ("sold", "boarded")  # the states of a ticket that travels; the others gave its seat back

LONGEST_NAME = 120
LONGEST_TYPED = 480  # before spaces collapse and accents compose; more than this is no name and no document
OLDEST_AGE = 130

ISSUERS_ASKED = {"RG": "Informe o órgão emissor, como SSP/SC.", "PASSPORT": "Informe o país emissor do passaporte."}
MISSING = {
    "name": "Informe o nome do passageiro.",
    "document_kind": "Escolha o documento.",
    "document_number": "Informe o número do documento.",
    "birth_date": "Informe a data de nascimento.",
}

APOSTROPHES = "'\u2018\u2019\u201b\u02bc\u02b9\u2032\u00b4\u0060\uff07"
DASHES = "-\u2010\u2011\u2012\u2013\u2014"
UNMARKED = {"đ": "d", "ð": "d", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ħ": "h"}
JOINERS = "\u200c\u200d"  # some scripts need them inside a word
FOLDED = str.maketrans(dict.fromkeys(APOSTROPHES + JOINERS, "") | dict.fromkeys(DASHES, " "))
LETTERS_FOLDED = str.maketrans(UNMARKED)


def identity_requirement(*, course_km: Decimal, stretch_km: Decimal, estimated: bool, basis: str,
                         state: str) -> Decision:
    """Whether a ticket carries name, document and issuing body: "required" or "not_asked" (T5).

    From 100 km, 100.0 included; from 80 km where the distance is an estimate. `basis` is the carrier's setting:
    "course", the whole trip (SC 11-A caput and par. 5, the strict reading), or "stretch", the passenger's own.
    Raises TypeError for kilometres that are not exact decimals.
    """
    for km in (course_km, stretch_km):
        if not isinstance(km, Decimal) or not km.is_finite() or km < 0:
            raise TypeError("kilometres are exact decimals")
    km = stretch_km if basis == "stretch" else course_km
    threshold = ESTIMATE_THRESHOLD_KM if estimated else THRESHOLD_KM
    required = km >= threshold
    measured = "trecho do passageiro" if basis == "stretch" else "percurso da viagem"
    asks = "identificação exigida" if required else "identificação dispensada"
    guess = " (distância estimada)" if estimated else ""
    reason = f"O {measured} tem {_shown(km)} km{guess}; limite de {threshold} km: {asks}."
    by_caution = estimated and km < THRESHOLD_KM and required
    return Decision("required" if required else "not_asked", _citation(state, by_caution=by_caution), (reason,))


def required_fields(requirement: Decision, kind: str | None) -> tuple[str, ...]:
    """The fields to fill in for a requirement and a document kind (None: not chosen yet); none when not asked."""
    if requirement.outcome != "required":
        return ()
    fields = ["name", "document_kind", "document_number"]
    if kind in ISSUERS_ASKED:  # SC 11-A par. 1
        fields.append("document_issuer")
    if kind == "BIRTH_CERTIFICATE":
        fields.append("birth_date")
    return tuple(fields)


def check_filled(requirement: Decision, kind: str | None, values: Mapping[str, object]) -> None:
    """Lets through values that hold every required field. Raises RuleViolation (T5) with a sentence for each gap."""
    sentences = {**MISSING, "document_issuer": ISSUERS_ASKED.get(kind or "", "")}
    gaps = {field: sentences[field] for field in required_fields(requirement, kind)
            if values.get(field) is None or not str(values[field]).strip()}
    if gaps:
        raise RuleViolation("identity_required", "Complete a identificação: esta viagem exige nome e documento.",
                            citation=requirement.citation, fields=gaps)


def age_on(birth: date, day: date) -> int:
    """Complete years on a local date; who was born on 29 February turns a year older on 1 March of other years.

    Raises InvalidInput (`birth_date`) for a birth after the day or more than 130 years before it.
    """
    age = day.year - birth.year - ((day.month, day.day) < (birth.month, birth.day))
    if birth > day:
        raise invalid("birth_date_in_future", "birth_date", "A data de nascimento está no futuro: corrija o ano.")
    if age > OLDEST_AGE:
        raise invalid("birth_date_too_old", "birth_date", "Confira o ano de nascimento: são mais de 130 anos.")
    return age


def normalise_name(text: object) -> str:
    """The name as typed, in NFC and single-spaced: 1 to 120 characters with at least one letter.

    One word is a name; apostrophes, hyphens and case stay. Raises InvalidInput (`name`).
    """
    if not isinstance(text, str) or len(text) > LONGEST_TYPED:
        raise invalid("name_too_long", "name", "Escreva o nome em até 120 letras.")
    if any(is_hidden(character) for character in text):
        raise invalid("name_hidden_characters", "name", "Digite o nome de novo: há caracteres invisíveis nele.")
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not any(unicodedata.category(character).startswith("L") for character in name):
        raise invalid("name_blank", "name", "Escreva o nome do passageiro.")
    if len(name) > LONGEST_NAME:
        raise invalid("name_too_long", "name", "Escreva o nome em até 120 letras.")
    return name


def spaced_code(code: str) -> str:
    """A ticket's code as people read it out: `7K3M-Q2XD`."""
    return f"{code[:4]}-{code[4:]}"


def search_key(name: str) -> str:
    """The name for comparing: no case, accents or apostrophes, hyphens as spaces; cut at 480 characters."""
    plain = unicodedata.normalize("NFKD", name[:LONGEST_TYPED].translate(FOLDED)).casefold()
    bare = "".join(character for character in unicodedata.normalize("NFKD", plain)
                   if not unicodedata.category(character).startswith("M"))
    return " ".join(bare.translate(LETTERS_FOLDED).split())


def full_refund_until(departs_at: datetime) -> datetime:
    """The last instant, in UTC, of the whole price back, printed on the ticket: 12 h before the own boarding call.

    R1, MS 40 III c. A carrier's table may be kinder, never harder (refunds/windows/policy.py).
    """
    return departs_at.astimezone(UTC) - FULL_REFUND_WINDOW


def void_deadline(sold_at: datetime, minutes: int) -> datetime:
    """The last instant, in UTC, at which a mistaken sale can be voided."""
    return sold_at.astimezone(UTC) + timedelta(minutes=minutes)


def check_void(sold_at: datetime, now: datetime, minutes: int, status: str) -> None:
    """Lets a sale be voided until the deadline, that instant included.

    Raises Conflict for a ticket no longer "sold", RuleViolation (carrier's policy) after the deadline.
    """
    if status != "sold":
        raise Conflict("ticket_not_sold", "Esta passagem já foi usada, devolvida ou anulada: confira a situação dela.")
    if now > void_deadline(sold_at, minutes):
        raise RuleViolation("void_too_late", f"Passaram {minutes} minutos da venda: use a devolução.",
                            citation=Citation("R2", f"{CARRIER}: anulação até {minutes} minutos após a venda"))


def is_hidden(character: str) -> bool:
    """Control, format, private and unassigned characters; what people paste as white space and joiners pass."""
    return unicodedata.category(character).startswith("C") and character not in "\t\n\r" + JOINERS


def invalid(code: str, field: str, sentence: str) -> InvalidInput:
    """The refusal of one field; the sentence is the same beside the field and for the whole."""
    return InvalidInput(code, sentence, fields={field: sentence})


def _citation(state: str, *, by_caution: bool) -> Citation:
    if state != "SC":
        return Citation("T5", f"{CARRIER}: identificação a partir de 100 km")
    if by_caution:
        return Citation("T5", f"{CARRIER}: identificação a partir de 80 km estimados")
    return Citation("T5", "Lei SC 5.684/1980, art. 11-A, caput e §§ 1º e 5º", SC_11A_FROM)


def _shown(km: Decimal) -> str:
    return f"{km.normalize():f}".replace(".", ",")
