"""A passenger's document as printed on it: what is accepted, how it is kept, how it is found again.

Every check walks its text once after a length limit; errors hold field names and counts, never what was typed.
"""

import unicodedata
from dataclasses import dataclass
from datetime import date

from validate_docbr import CPF, Certidao

from kernel.errors import InvalidInput, RuleViolation
from ticketing.network.laws import cite
from ticketing.sales.policy import ISSUERS_ASKED, LONGEST_TYPED, SC_11A_FROM, age_on, invalid, is_hidden, search_key

LONGEST_NUMBER = 60
LONGEST_ISSUER = 60
ADULT_AGE = 18
NUMBERED_CERTIFICATES_FROM = date(2010, 1, 1)
CERTIFICATE_DIGITS = 32
BIRTH_BOOKS = "17"  # fifteenth digit: 1 is the book of births, 7 the book E that takes births abroad

KINDS = {"RG": "RG", "CIN": "CIN", "CNH": "CNH", "PASSPORT": "Passaporte", "RNM": "RNM",
         "BIRTH_CERTIFICATE": "Certidão de nascimento"}
SAME_CARD = {"CPF": "CIN"}  # the national card's number is the CPF
ONE_ISSUER = {"CNH": "DETRAN", "RNM": "Polícia Federal"}  # kept when nobody typed another


@dataclass(frozen=True, slots=True)
class Document:
    """A document that passed. `number` and `issuer` are as typed, single-spaced; `normalised` is for look-up.

    `last4` holds up to four last digits of the number, letters left out.
    """

    kind: str
    number: str
    normalised: str
    issuer: str
    last4: str

    @property
    def lookup(self) -> str:
        """Kind, issuer and number in one text that does not change with dots, case or spaces.

        The issuer counts only where it tells two cards of one number apart: RG and passport.
        """
        issuer = _alphanumeric(search_key(self.issuer).upper()) if self.kind in ISSUERS_ASKED else ""
        return f"{self.kind}|{issuer}|{self.normalised}"


def read_document(kind: str, number: object, issuer: str | None) -> Document:
    """The document by its form alone, for look-up; `check_document` adds who may travel with it.

    "CPF" is read as "CIN". Raises InvalidInput (`document_kind`, `document_number`, `document_issuer`).
    """
    kind = SAME_CARD.get(kind, kind)
    if kind not in KINDS:
        raise invalid("document_kind_unknown", "document_kind", "Escolha o documento na lista.")
    typed = _typed_number(number)
    normalised = _READERS[kind](typed)
    digits = "".join(character for character in normalised if character.isdigit())
    return Document(kind, typed, normalised, _issuer(kind, issuer), digits[-4:])


def check_document(kind: str, number: object, issuer: str | None, birth_date: date | None, travel_day: date, *,
                   state: str) -> Document:
    """The document that a passenger travels with on that local date.

    A birth certificate serves only who is under 18 on the travel day: RuleViolation (T6, SC 11-A par. 3 on SC lines).
    It has 32 digits with check digits, or, for births before 2010, may have book, leaf and entry. Raises InvalidInput
    as `read_document` does, and for a birth date left out or impossible.
    """
    document = read_document(kind, number, issuer)
    age = age_on(birth_date, travel_day) if birth_date is not None else None
    if document.kind != "BIRTH_CERTIFICATE":
        return document
    if birth_date is None or age is None:
        raise invalid("birth_date_missing", "birth_date", "Informe a data de nascimento de quem usa certidão.")
    if age >= ADULT_AGE:
        sentence = "Peça outro documento: certidão de nascimento serve só a menores de 18 anos."
        raise RuleViolation("birth_certificate_is_for_minors", sentence, fields={"document_kind": sentence},
                            citation=cite("T6", state=state, day=travel_day, sc="art. 11-A, § 3º", sc_from=SC_11A_FROM))
    _check_certificate_year(document.normalised, birth_date)
    return document


def _check_certificate_year(normalised: str, birth_date: date) -> None:
    numbered = len(normalised) == CERTIFICATE_DIGITS and normalised.isdigit()
    if not numbered and birth_date >= NUMBERED_CERTIFICATES_FROM:
        raise _bad_number("certificate_needs_number", "Informe os 32 dígitos: toda certidão desde 2010 os tem.")
    if numbered and int(normalised[10:14]) < birth_date.year:
        raise _bad_number("certificate_before_birth", "Confira a certidão: o ano dela é anterior ao nascimento.")


def _typed_number(number: object) -> str:
    if not isinstance(number, str):
        raise _bad_number("document_number_not_text", "Envie o número como texto, com os zeros à esquerda.")
    if len(number) > LONGEST_NUMBER:
        raise _bad_number("document_number_too_long", "Escreva o número em até 60 caracteres.")
    typed = " ".join(number.split())
    if not typed:
        raise _bad_number("document_number_missing", "Informe o número do documento.")
    if any(is_hidden(character) for character in number):
        raise _bad_number("document_number_unreadable", "Digite o número de novo: há caracteres invisíveis nele.")
    return unicodedata.normalize("NFC", typed)


def _issuer(kind: str, issuer: str | None) -> str:
    typed = " ".join((issuer or "")[:LONGEST_TYPED].split())
    if len(typed) > LONGEST_ISSUER or any(is_hidden(character) for character in typed):
        raise invalid("document_issuer_unreadable", "document_issuer", "Escreva o órgão emissor em até 60 letras.")
    if kind in ISSUERS_ASKED and sum(character.isalpha() for character in typed) < 2:
        raise invalid("document_issuer_missing", "document_issuer", ISSUERS_ASKED[kind])
    return unicodedata.normalize("NFC", typed) or ONE_ISSUER.get(kind, "")


def _cpf(typed: str) -> str:
    digits = _digits(typed, 11, "o CPF")
    if not CPF().validate(digits):  # asked only with 11 digits: it would pad a shorter number with zeros
        raise _bad_number("cpf_check_digits", "O CPF não confere: leia de novo os 11 dígitos.")
    return digits


def _cnh(typed: str) -> str:
    digits = _digits(typed, 11, "a CNH")
    if len(set(digits)) == 1:
        raise _bad_number("cnh_repeated_digit", "A CNH não confere: leia de novo os 11 dígitos do registro.")
    return digits


def _rg(typed: str) -> str:
    return _card(typed, 4, 14, "Escreva o RG como impresso, com 4 a 14 letras e números.")


def _passport(typed: str) -> str:
    return _card(typed, 5, 15, "Escreva o passaporte como impresso, com 5 a 15 letras e números.")


def _rnm(typed: str) -> str:
    sentence = "Escreva o RNM como impresso: uma letra, 6 ou 7 números e o final."
    number = _card(typed, 7, 10, sentence)
    if not number[0].isalpha() or sum(character.isdigit() for character in number) < 6:
        raise _bad_number("document_number_malformed", sentence)
    return number


def _certificate(typed: str) -> str:
    number = _alphanumeric(search_key(typed).upper())
    found = sum(character.isdigit() for character in number)
    if not found:
        raise _bad_number("certificate_unreadable", "Informe os 32 dígitos, ou livro, folha e termo.")
    if found < CERTIFICATE_DIGITS // 2:  # book, leaf and entry never come near
        return number
    digits = _digits(typed, CERTIFICATE_DIGITS, "a certidão")
    if not Certidao().validate(digits):
        raise _bad_number("certificate_check_digits", "A certidão não confere: leia de novo os 32 dígitos.")
    if digits[14] not in BIRTH_BOOKS:
        raise _bad_number("certificate_of_another_kind", "Peça a certidão de nascimento: este número é de outra.")
    return digits


_READERS = {"RG": _rg, "CIN": _cpf, "CNH": _cnh, "PASSPORT": _passport, "RNM": _rnm, "BIRTH_CERTIFICATE": _certificate}


def _card(typed: str, fewest: int, most: int, sentence: str) -> str:
    number = _alphanumeric(typed.upper())
    plain = all(character in " .-/" or (character.isascii() and character.isalnum()) for character in typed)
    if not plain or not fewest <= len(number) <= most or not any(character.isdigit() for character in number):
        raise _bad_number("document_number_malformed", sentence)
    return number


def _digits(typed: str, length: int, what: str) -> str:
    digits = "".join(character for character in typed if character not in " .-/")
    if not (digits.isascii() and digits.isdigit()):
        raise _bad_number("document_number_not_digits", f"Use só números: {what} tem {length} dígitos.")
    if len(digits) != length:
        raise _bad_number("document_number_length", f"{_difference(len(digits) - length)}: {what} tem {length}.")
    return digits


def _difference(extra: int) -> str:
    if extra in (-1, 1):
        return "Falta um dígito" if extra < 0 else "Sobra um dígito"
    return f"{'Faltam' if extra < 0 else 'Sobram'} {abs(extra)} dígitos"


def _alphanumeric(text: str) -> str:
    return "".join(character for character in text if character.isascii() and character.isalnum())


def _bad_number(code: str, sentence: str) -> InvalidInput:
    return invalid(code, "document_number", sentence)
