import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import DomainError, InvalidInput, RuleViolation
from ticketing.sales.documents import KINDS, check_document, read_document

TRAVEL = date(2026, 3, 2)
ISSUER = {"RG": "SSP/SC", "PASSPORT": "Portugal"}
NEW = "99999901552019100045012003456789"


def checked(kind, number, *, issuer=None, birth=None, day=TRAVEL, state="SC"):
    return check_document(kind, number, issuer or ISSUER.get(kind), birth, day, state=state)


@pytest.mark.parametrize(("kind", "typed", "normalised", "last4"), [
    ("CPF", "000.000.012-44", "00000001244", "1244"),
    ("CIN", "000.000.012-44", "00000001244", "1244"),
    ("CIN", "00100200397", "00100200397", "0397"),
    ("RG", "12.000.107-X", "12000107X", "0107"),
    ("RG", "12000107x", "12000107X", "0107"),
    ("RG", "MG-12.345.678", "MG12345678", "5678"),
    ("RG", "4.321.098", "4321098", "1098"),
    ("RG", "1234", "1234", "1234"),
    ("RG", "MG123456789012", "MG123456789012", "9012"),
    ("CNH", "012 345 678 90", "01234567890", "7890"),
    ("PASSPORT", "fx123456", "FX123456", "3456"),
    ("PASSPORT", "A1234", "A1234", "1234"),
    ("PASSPORT", "C01X00T47AB1234", "C01X00T47AB1234", "1234"),
    ("RNM", "V123456-7", "V1234567", "4567"),
    ("RNM", "F654321Z", "F654321Z", "4321"),
])
def test_a_document_is_kept_as_printed_and_found_by_its_plain_number(kind, typed, normalised, last4):
    """Zeros, X, state letters and 7 digits stay."""
    document = checked(kind, typed)
    assert (document.number, document.normalised, document.last4) == (typed, normalised, last4)


@pytest.mark.parametrize(("kind", "typed", "code", "sentence"), [
    ("CIN", "1234567890", "document_number_length", "Falta um dígito: o CPF tem 11."),
    ("CIN", "123456789", "document_number_length", "Faltam 2 dígitos: o CPF tem 11."),
    ("CIN", "012345678911", "document_number_length", "Sobra um dígito: o CPF tem 11."),
    ("CIN", 908070659, "document_number_not_text", None),
    ("CIN", 90807065900, "document_number_not_text", None),
    ("CIN", None, "document_number_not_text", None),
    ("CIN", True, "document_number_not_text", None),
    ("CIN", "01234567891", "cpf_check_digits", None),
    ("CIN", "111.111.111-11", "cpf_check_digits", None),
    ("CIN", "0000000124X", "document_number_not_digits", None),
    ("CIN", "٠٠٠٠٠٠٠١٢٤٤", "document_number_not_digits", None),
    ("CIN", "", "document_number_missing", None),
    ("CIN", " \t ", "document_number_missing", None),
    ("RG", "123", "document_number_malformed", None),
    ("RG", "MG1234567890123", "document_number_malformed", None),
    ("RG", "SSP-SC", "document_number_malformed", None),
    ("RG", "4.321.098;", "document_number_malformed", None),
    ("RG", "４３２１０９８", "document_number_malformed", None),
    ("RG", "4321\u202e098", "document_number_unreadable", None),
    ("CNH", "0123456789", "document_number_length", "Falta um dígito: a CNH tem 11."),
    ("CNH", "00000000000", "cnh_repeated_digit", None),
    ("PASSPORT", "AB12", "document_number_malformed", None),
    ("PASSPORT", "ABCDE", "document_number_malformed", None),
    ("PASSPORT", "A123456789012345", "document_number_malformed", None),
    ("RNM", "1234567", "document_number_malformed", None),
    ("RNM", "V12345", "document_number_malformed", None),
])
def test_a_number_that_is_not_the_documents_is_refused_with_what_to_do(kind, typed, code, sentence):
    with pytest.raises(InvalidInput) as refusal:
        checked(kind, typed)
    assert (refusal.value.code, set(refusal.value.fields)) == (code, {"document_number"})
    if sentence:
        assert refusal.value.fields["document_number"] == sentence


@pytest.mark.parametrize(("kind", "issuer", "kept"), [
    ("RG", " SSP/SC ", "SSP/SC"), ("PASSPORT", "Portugal", "Portugal"), ("CIN", None, ""), ("CIN", "PCI/SC", "PCI/SC"),
    ("CNH", None, "DETRAN"), ("CNH", "DETRAN/MS", "DETRAN/MS"), ("RNM", "", "Polícia Federal"),
])
def test_the_issuing_body_is_kept(kind, issuer, kept):
    numbers = {"RG": "4321098", "PASSPORT": "FX123456", "CIN": "00100200397", "CNH": "01234567890", "RNM": "V1234567"}
    assert read_document(kind, numbers[kind], issuer).issuer == kept


@pytest.mark.parametrize(("kind", "issuer", "code"), [
    ("RG", None, "document_issuer_missing"), ("RG", "  ", "document_issuer_missing"),
    ("RG", "1", "document_issuer_missing"), ("PASSPORT", "", "document_issuer_missing"),
    ("RG", "S" * 61, "document_issuer_unreadable"), ("RG", "SSP\u202e/SC", "document_issuer_unreadable"),
])
def test_an_rg_without_its_body_and_a_passport_without_its_country_are_refused(kind, issuer, code):
    with pytest.raises(InvalidInput) as refusal:
        read_document(kind, "FX123456", issuer)
    assert (refusal.value.code, set(refusal.value.fields)) == (code, {"document_issuer"})


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidInput) as refusal:
        checked("LIBRARY_CARD", "1234")
    assert set(refusal.value.fields) == {"document_kind"}


@pytest.mark.parametrize(("typed", "birth"), [
    (NEW, date(2019, 5, 1)),
    ("999999 01 55 2019 1 00045 012 0034567 89", date(2019, 5, 1)),
    ("999999.01.55.2019.1.00045.012.0034567-89", date(2012, 5, 1)),  # registered years after the birth
    ("99999901552021100078003000000919", date(2021, 1, 2)),  # first remainder 10 is written 1
    ("99999901552021100078003000000651", date(2021, 1, 2)),  # second remainder 10 is written 1
    ("99999901552021100078003000002611", date(2021, 1, 2)),  # both
    ("Livro A-12, fls. 045v, termo 3321", date(2009, 12, 31)),
    ("A-12 45v 3321", date(2008, 3, 3)),
    ("12 45 3321", date(2008, 3, 3)),
    (NEW, date(2009, 6, 1)),
])
def test_a_child_travels_with_either_kind_of_certificate(typed, birth):
    document = checked("BIRTH_CERTIFICATE", typed, birth=birth)
    assert document.number == typed


@pytest.mark.parametrize(("typed", "birth", "code"), [
    ("99999901552019100045012003456782", date(2019, 5, 1), "certificate_check_digits"),
    ("9999990155201910004501200345678", date(2019, 5, 1), "document_number_length"),
    ("999999015520191000450120034567890", date(2019, 5, 1), "document_number_length"),
    ("9999990155201910004501200345678X", date(2009, 5, 1), "document_number_not_digits"),
    ("Livro A-12, fls. 045v, termo 3321", date(2010, 1, 1), "certificate_needs_number"),
    ("Livro A", date(2009, 1, 1), "certificate_unreadable"),
    (NEW, date(2020, 1, 1), "certificate_before_birth"),
    ("10453901552013200012021000012376", date(2013, 1, 1), "certificate_of_another_kind"),
])
def test_a_certificate_that_cannot_be_this_childs_is_refused(typed, birth, code):
    with pytest.raises(InvalidInput) as refusal:
        checked("BIRTH_CERTIFICATE", typed, birth=birth)
    assert (refusal.value.code, set(refusal.value.fields)) == (code, {"document_number"})


@pytest.mark.parametrize(("state", "article"), [
    ("SC", "Lei SC 5.684/1980, art. 11-A, § 3º"), ("MS", "política da transportadora")])
def test_nobody_of_18_travels_with_a_birth_certificate(state, article):
    old = "Livro A-12, fls. 045v, termo 3321"
    assert checked("BIRTH_CERTIFICATE", old, birth=date(2008, 3, 3), state=state)
    with pytest.raises(RuleViolation) as refusal:
        checked("BIRTH_CERTIFICATE", old, birth=date(2008, 3, 2), state=state)
    assert (refusal.value.code, refusal.value.citation.rule) == ("birth_certificate_is_for_minors", "T6")
    assert refusal.value.citation.article == article
    assert set(refusal.value.fields) == {"document_kind"}


def test_a_certificate_without_a_birth_date_asks_for_it():
    with pytest.raises(InvalidInput) as refusal:
        checked("BIRTH_CERTIFICATE", NEW)
    assert set(refusal.value.fields) == {"birth_date"}


def test_an_inspector_finds_a_certificate_without_a_birth_date():
    assert read_document("BIRTH_CERTIFICATE", "999999 01 55 2019 1 00045 012 0034567 89", None).lookup == (
        read_document("BIRTH_CERTIFICATE", NEW, "").lookup)


@pytest.mark.parametrize(("one", "other", "same"), [
    (("RG", "12.000.107-X", "SSP/SP"), ("RG", "12000107x", "ssp-sp"), True),
    (("RG", "4.321.098", "SSP/SC"), ("RG", "4321098", "SSP/MS"), False),
    (("CPF", "000.000.012-44", None), ("CIN", "00000001244", "PCI/SC"), True),
    (("PASSPORT", "FX123456", "México"), ("PASSPORT", "fx 123456", "MEXICO"), True),
    (("CNH", "00100200397", None), ("CIN", "00100200397", None), False),
])
def test_a_document_is_looked_up_by_kind_body_and_plain_number(one, other, same):
    assert (read_document(*one).lookup == read_document(*other).lookup) is same


HOSTILE = ["1" * 100_000 + "x", "1" * 100_000, '"' + "a" * 50_000, "+" + "(1" * 5_000, "%" + "_%" * 5_000,
           "A" + " " * 50_000 + "!", "1.-/ " * 20_000, "\x00" * 1_000, "9" * 60]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_hostile_number_is_refused_at_once(kind, text):
    started = time.process_time()
    with pytest.raises(DomainError):
        checked(kind, text, birth=date(2009, 1, 1))
    assert time.process_time() - started < 20  # linear: a pattern that backtracks would not end


@given(st.sampled_from(sorted(KINDS)), st.text(max_size=70), st.text(max_size=70))
def test_any_text_is_taken_or_refused_and_never_repeated_in_the_refusal(kind, number, issuer):
    try:
        document = read_document(kind, number, issuer)
    except InvalidInput as refusal:
        assert refusal.sentence in refusal.fields.values()
        assert len(number) < 12 or number not in refusal.sentence
    else:
        assert document.normalised.isascii()
        assert document.normalised.isalnum()
