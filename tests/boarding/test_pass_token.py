"""The token: fixed vectors, nothing personal in it, and no text that is not a pass gets through as one."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import base45
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boarding.passes.policy import NO_DIGITS
from boarding.passes.signing import (
    PREFIX,
    SIGNED_CONTEXT,
    KeyRing,
    Outcome,
    PassBody,
    decode,
    encode,
    pack,
    unpack,
    verify,
)
from tests.boarding.tickets import BODY, DEPARTS, RING, TOKEN

VECTORS = json.loads((Path(__file__).parent / "pass_vectors.json").read_text(encoding="utf-8"))
KEYS = RING.public_keys
RAW = base45.b45decode(TOKEN[4:])
bodies = st.builds(
    PassBody, kid=st.integers(0, 31), pass_id=st.binary(min_size=16, max_size=16), trip_id=st.integers(0, 2**32 - 1),
    valid_from=st.integers(0, 2**24 - 1), issued=st.integers(0, 2**24 - 1), document=st.integers(0, 15),
    discount=st.integers(0, 15), last_digits=st.integers(0, 0xFFFF),
    **dict.fromkeys(("revision", "seat", "board", "alight", "window", "flags"), st.integers(0, 255)))


def token_of(raw: bytes) -> str:
    return PREFIX + base45.b45encode(raw).decode()


@pytest.mark.parametrize("vector", VECTORS["texts"], ids=lambda vector: vector["name"])
def test_a_recorded_text_gets_the_recorded_answer(vector):
    keys = KeyRing.parse(VECTORS["keys"]).public_keys
    assert verify(vector["text"], keys).outcome == vector["outcome"]


def test_the_same_facts_and_key_make_the_recorded_text():
    signed = next(vector for vector in VECTORS["texts"] if vector["name"] == "signed")
    assert signed["text"] == TOKEN
    assert pack(BODY).hex() == VECTORS["body"]


def test_each_field_stands_at_its_place():
    raw = pack(BODY)
    assert raw[0] == 1 << 5 | 3
    assert raw[1:17] == BODY.pass_id
    assert (raw[17:21], raw[21], raw[22], raw[23], raw[24]) == ((4711).to_bytes(4, "big"), 1, 15, 2, 5)
    assert (raw[25:28], raw[28]) == (BODY.valid_from.to_bytes(3, "big"), BODY.window)
    assert (raw[29:32], raw[32], raw[33], raw[34:36]) == (BODY.issued.to_bytes(3, "big"), 1, 0x10, (1098).to_bytes(2, "big"))


@given(bodies)
def test_a_body_comes_back_from_its_36_bytes_and_its_text(body):
    assert len(pack(body)) == 36
    assert unpack(pack(body)) == body
    text = encode(body, RING.signing_key)
    assert len(text) == 154
    assert decode(text)[0] == body


@pytest.mark.parametrize(("field", "value"), [
    ("kid", 32), ("trip_id", 2**32), ("seat", 256), ("valid_from", 2**24), ("document", 16), ("discount", -1),
    ("last_digits", 65536), ("pass_id", b"short")])
def test_a_value_that_does_not_fit_is_refused(field, value):
    with pytest.raises(ValueError):
        replace(BODY, **{field: value})


def test_times_and_digits_read_as_a_person_needs_them():
    assert BODY.opens_at < DEPARTS < BODY.closes_at
    assert BODY.last_four == "1098"
    assert replace(BODY, last_digits=7).last_four == "0007"
    assert replace(BODY, last_digits=NO_DIGITS).last_four is None


def test_a_good_pass_is_read_with_blanks_around_it():
    for text in (TOKEN, TOKEN + "\r\n", "  \t" + TOKEN + " "):
        assert verify(text, KEYS).body == BODY


def test_every_flipped_byte_is_refused():
    for place in range(100):
        for flip in (0x01, 0x80, 0xFF):
            raw = bytearray(RAW)
            raw[place] ^= flip
            reading = verify(token_of(bytes(raw)), KEYS)
            assert reading.outcome is not Outcome.OK and reading.body is None, place


def test_every_changed_character_is_refused():
    for place, char in enumerate(TOKEN):
        other = "0" if char != "0" else "1"
        assert verify(TOKEN[:place] + other + TOKEN[place + 1:], KEYS).outcome is not Outcome.OK, place


def test_a_signature_without_its_context_or_by_another_key_is_bad():
    bare = RING.signing_key.sign(pack(BODY))
    assert verify(token_of(pack(BODY) + bare), KEYS).outcome is Outcome.BAD_SIGNATURE
    stranger = KeyRing.parse("3:" + base64.b64encode(bytes(32)).decode())
    assert verify(encode(BODY, stranger.signing_key), KEYS).outcome is Outcome.BAD_SIGNATURE


def test_a_signed_body_of_another_version_is_no_pass():
    raw = bytes([2 << 5 | 3]) + pack(BODY)[1:]
    assert verify(token_of(raw + RING.signing_key.sign(SIGNED_CONTEXT + raw)), KEYS).outcome is Outcome.NOT_A_PASS


def test_a_key_the_phone_does_not_have_is_named_so():
    assert verify(TOKEN, {}).outcome is Outcome.UNKNOWN_KEY
    assert verify(TOKEN, {4: KEYS[3]}).outcome is Outcome.UNKNOWN_KEY


@pytest.mark.parametrize("text", [
    "", "BP1:", TOKEN.lower(), TOKEN[:-1], TOKEN + "0", TOKEN[:-1] + "\n", TOKEN[4:], "BM1:" + TOKEN[4:],
    "BP1:" + "Z" * 150, "BP1:" + "é" * 150, "BP1:" + "\ud800" * 150, "BP1:" + "\u0661" * 150, "\ufeff" + TOKEN[:-1],
    "\u00a0" + TOKEN, TOKEN.replace(":", "\uff1a", 1), "A" * 100_000, " " * 100_000, "\x00" * 154, TOKEN + TOKEN,
    "https://embarque.invalid/b/7K3MQ2XD", "00020126580014br.gov.bcb.pix"])
def test_any_other_text_is_no_pass(text):
    assert verify(text, KEYS).outcome is Outcome.NOT_A_PASS


@given(st.text())
def test_no_text_makes_the_check_fail(text):
    assert verify(text, KEYS).outcome is not Outcome.OK


@given(st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:", min_size=150, max_size=150))
def test_no_text_in_the_shape_of_a_pass_is_taken_for_one(text):
    assert verify("BP1:" + text, KEYS).outcome is not Outcome.OK


@pytest.mark.parametrize(("text", "fiscal"), [
    ("https://dfe-portal.example/bpe/qrCode?chBPe=" + "4" * 44 + "&tpAmb=1", True),
    ("HTTP://DFE.EXAMPLE/?CHBPE=" + "4" * 44, True),
    (" https://dfe.example/q?tpAmb=2&chBPe=1\n", True),
    ("chBPe=" + "4" * 44, False),
    ("https://dfe.example/q?p=" + "4" * 44, False)])
def test_the_fiscal_code_is_told_from_a_pass(text, fiscal):
    assert (verify(text, KEYS).outcome is Outcome.FISCAL_QR) == fiscal


def test_no_name_and_no_more_than_four_digits_stand_in_the_token():
    other = replace(BODY, last_digits=NO_DIGITS)
    assert [a == b for a, b in zip(pack(BODY), pack(other), strict=True)] == [True] * 34 + [False] * 2
    assert set(PassBody.__dataclass_fields__) == {
        "kid", "pass_id", "trip_id", "revision", "seat", "board", "alight", "valid_from", "window", "issued", "flags",
        "document", "discount", "last_digits"}
    assert "pass_id" not in repr(BODY)


SEED = base64.b64encode(bytes(32)).decode()


def test_the_last_key_signs_unless_told_and_all_of_them_verify():
    ring = KeyRing.parse(f"1:{SEED}, 2:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    assert ring.signing_kid == 2
    assert set(ring.public_keys) == {1, 2}
    assert KeyRing.parse(f"1:{SEED}", signing_kid=1).signing_kid == 1
    assert base64.b64decode(ring.published()[1]) == ring.public_keys[1].public_bytes_raw()


@pytest.mark.parametrize("text", [
    "", ",", "1", "1:", f"x:{SEED}", f"16:{SEED}", f"-1:{SEED}", f"\u0661:{SEED}", f"1:{SEED},1:{SEED}", f"1:{SEED},",
    f"1:{SEED[:-4]}", f"1:{SEED}AAAA", f"1:{SEED[:-1]}é", f"001:{SEED}", "1:not base64 at all"])
def test_a_malformed_ring_stops_with_a_sentence_that_keeps_the_seed(text):
    with pytest.raises(ValueError, match=r"^Pass key .*\.$") as refusal:
        KeyRing.parse(text)
    assert SEED[:16] not in str(refusal.value)


def test_a_signing_key_outside_the_ring_is_refused():
    with pytest.raises(ValueError, match="should sign"):
        KeyRing.parse(f"1:{SEED}", signing_kid=2)


def test_a_ring_does_not_show_its_keys_when_printed():
    assert "PrivateKey" not in repr(RING)
