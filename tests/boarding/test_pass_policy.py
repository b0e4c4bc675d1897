"""The signed fields from plain arguments, and the one layout of the ticket."""

from datetime import UTC, datetime, timedelta

import pytest

from boarding.passes.policy import (
    EPOCH,
    NO_DIGITS,
    NOT_IDENTIFIED,
    DocumentCode,
    Kind,
    PassFlag,
    document_code,
    instant_of,
    last_digits,
    minutes_of,
    pass_flags,
    pass_window,
    ticket_layout,
)
from tests.boarding.tickets import DEPARTS, facts


@pytest.mark.parametrize(("asked", "flags"), [
    ({"check_document": False}, 0),
    ({"check_document": True}, 1),
    ({"check_document": True, "check_discount": True}, 3),
    ({"check_document": True, "minor_alone": True}, 5),
    ({"check_document": True, "minor_alone": True, "lap_child": True}, 9),
    ({"check_document": False, "sold_on_board": True}, 16)])
def test_each_check_has_its_bit(asked, flags):
    assert pass_flags(**asked) == PassFlag(flags)


@pytest.mark.parametrize(("kind", "code"), [
    (None, DocumentCode.NONE), ("rg", DocumentCode.RG), ("birth_certificate", DocumentCode.BIRTH_CERTIFICATE),
    ("passport", DocumentCode.PASSPORT), ("a_new_kind", DocumentCode.OTHER)])
def test_a_document_kind_has_a_code_of_four_bits(kind, code):
    assert document_code(kind) is code
    assert all(0 <= member < 16 for member in DocumentCode)


@pytest.mark.parametrize(("number", "digits"), [
    ("4.321.098", 1098), ("12.345.678-X", 5678), ("000.000.012-44", 1244), ("FX400007", 7), ("123", NO_DIGITS),
    ("", NO_DIGITS), (None, NO_DIGITS), ("\u0661\u0662\u0663\u0664", NO_DIGITS)])
def test_only_the_last_four_digits_are_taken(number, digits):
    assert last_digits(number) == digits


def test_minutes_go_from_2025_to_2056_and_back():
    assert minutes_of(EPOCH) == 0
    assert instant_of(minutes_of(DEPARTS + timedelta(seconds=59))) == DEPARTS
    last = EPOCH + timedelta(minutes=2**24 - 1)
    assert minutes_of(last) == 2**24 - 1
    for outside in (EPOCH - timedelta(seconds=1), last + timedelta(minutes=1)):
        with pytest.raises(ValueError):
            minutes_of(outside)
    with pytest.raises(TypeError):
        minutes_of(datetime(2026, 1, 1))  # noqa: DTZ001 - a naive time is what is refused


@pytest.mark.parametrize(("ride", "quarters"), [
    (timedelta(hours=3), 28), (timedelta(hours=3, seconds=1), 29), (timedelta(hours=3, minutes=15), 29),
    (timedelta(days=5), 255)])
def test_the_window_opens_two_hours_before_and_closes_two_hours_after(ride, quarters):
    opens, length = pass_window(DEPARTS, DEPARTS + ride)
    assert instant_of(opens) == DEPARTS - timedelta(hours=2)
    assert length == quarters


def test_the_window_covers_a_departure_off_the_minute():
    departs = datetime(2026, 3, 12, 11, 0, 30, tzinfo=UTC)
    opens, length = pass_window(departs, departs)
    assert instant_of(opens) <= departs - timedelta(hours=2)
    assert instant_of(opens) + timedelta(minutes=15 * length) >= departs + timedelta(hours=2)


def test_the_door_and_the_refund_come_before_the_tear_line():
    keys = [block.key for block in ticket_layout(facts())]
    assert keys == ["journey", "qr", "seat", "boarding", "refund", "bring", "tear", "passenger", "document", "alighting",
                    "fare", "payment", "sale", "luggage", "identity_rule", "carrier", "link"]


@pytest.mark.parametrize(("seat", "platform", "rows"), [
    ("15", "7", (("Poltrona", "15"), ("Plataforma", "7"))),
    ("em pé 3", "", (("Lugar", "em pé 3"),)),
    (None, "7", (("Lugar", "sem poltrona"), ("Plataforma", "7")))])
def test_the_plates_say_seat_and_platform(seat, platform, rows):
    plates = next(block for block in ticket_layout(facts(seat=seat, platform=platform)) if block.kind is Kind.SEAT)
    assert plates.rows == rows


def test_what_is_not_known_leaves_no_empty_block_but_the_passenger_is_always_told():
    blocks = {block.key: block for block in ticket_layout(facts(
        passenger=None, document="", refund_until="", bring="", luggage="", identity_rule="", link="", agent=""))}
    assert blocks["passenger"].value == NOT_IDENTIFIED
    assert blocks["sale"].value == "10/03/2026 14:02, guichê"
    assert not {"document", "refund", "bring", "luggage", "identity_rule", "link"} & set(blocks)


def test_every_field_of_the_ticket_is_shown():
    text = repr(ticket_layout(facts()))
    for shown in ("Viação Serra e Mar", "00.000.000/0001-91", "7K3MQ2XD", "32-1", "Convencional", "08:00", "11:35",
                  "qui 12/03/2026", "horário de Brasília", "Criciúma, Terminal Rodoviário", "piso 1", "'7'", "'15'",
                  "Rita Maria", "Célia O", "RG 4.321.098 SSP/SC", "R$\\xa058,30", "R$\\xa04,12", "R$\\xa02,60",
                  "R$\\xa065,02", "Dinheiro", "10/03/2026 14:02, guichê, agente G2", "11/03/2026 20:00", "30 kg",
                  "art. 11-A", "embarque.invalid/b/7K3MQ2XD"):
        assert shown in text, shown
