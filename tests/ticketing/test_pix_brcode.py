"""BR Codes: the central bank's own examples, what is refused, and a QR that another reader understands."""

import io

import pytest
import qrcode
import zxingcpp
from hypothesis import given
from hypothesis import strategies as some
from PIL import Image

from kernel.money import Money
from ticketing.payments import brcode

# the two examples of the central bank's manual of PIX initiation
STATIC = ("00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal"
          "6008BRASILIA62070503***63041D3D")
DYNAMIC = ("00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR"
           "5913Fulano de Tal6008BRASILIA62070503***630464E4")
KEY = "123e4567-e12b-12d1-a456-426655440000"
letters = some.text("ABCabc019", min_size=1)


def static(**changes):
    return brcode.build_static(**{"key": KEY, "name": "Viação de Teste", "city": "Criciúma", "amount": Money(8559),
                                  "txid": "A" * 25, **changes})


def read_back(text: str) -> str:
    """What zxing sees in a QR of the text."""
    picture = io.BytesIO()
    qrcode.make(text).save(picture)
    seen, = zxingcpp.read_barcodes(Image.open(picture).convert("L"))
    return seen.text


def test_the_central_banks_static_example_is_read():
    told = brcode.parse(STATIC)
    assert (told.key, told.url, told.amount, told.txid, told.once) == (KEY, None, None, "***", False)
    assert (told.name, told.city) == ("Fulano de Tal", "BRASILIA")


def test_the_central_banks_dynamic_example_is_built_to_the_letter_and_read():
    url = "pix.example.com/8b3da2f39a4140d1a91abd93113bd441"
    assert brcode.build_dynamic(url=f"https://{url}", name="Fulano de Tal", city="BRASILIA") == DYNAMIC
    told = brcode.parse(DYNAMIC)
    assert (told.key, told.url, told.txid, told.once) == (None, url, "***", True)


def test_a_static_code_is_the_central_banks_example_with_amount_and_txid_put_in():
    body = STATIC[:-4].replace("5802BR", "540585.595802BR").replace("62070503***", "62290525" + "A" * 25)
    built = static(name="Fulano de Tal", city="BRASILIA")
    assert built[:-4] == body
    assert brcode.parse(built).txid == "A" * 25


@pytest.mark.parametrize("text", [static(), DYNAMIC, static(amount=Money(1)), static(amount=Money(10**9))])
def test_a_qr_of_the_code_is_read_back_by_another_decoder(text):
    assert brcode.parse(read_back(text)) == brcode.parse(text)
    assert read_back(text) == text


@given(cents=some.integers(1, 10**9), txid=letters.filter(lambda text: len(text) <= 25), name=some.text(max_size=90))
def test_what_was_built_says_what_was_put_in(cents, txid, name):
    text = static(amount=Money(cents), txid=txid, name="V" + name)
    told = brcode.parse(text)
    assert (told.amount, told.txid, told.key) == (Money(cents), txid, KEY)
    assert told.name == brcode.plain("V" + name, 25)
    assert text[-4:].upper() == text[-4:] and len(text) < 512


@pytest.mark.parametrize(("text", "plain"), [
    ("Viação São José", "Viacao Sao Jose"), ("  Dois   espaços ", "Dois espacos"), ("日本", ""), ("a\tb", "ab"),
    ("Empresa de Transporte Catarinense", "Empresa de Transporte Cat")])
def test_names_lose_accents_and_what_is_over(text, plain):
    assert brcode.plain(text, 25) == plain


@given(place=some.integers(0, len(STATIC) - 1), other=some.characters(min_codepoint=32, max_codepoint=126))
def test_one_changed_letter_is_noticed(place, other):
    changed = STATIC[:place] + other + STATIC[place + 1:]
    if changed[:-4] == STATIC[:-4] and changed.upper() == STATIC.upper():  # the checksum's own letters have no case
        assert brcode.parse(changed) == brcode.parse(STATIC)
        return
    with pytest.raises(ValueError, match="."):
        brcode.parse(changed)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_cut_code_is_refused(cut):
    with pytest.raises(ValueError, match="."):
        brcode.parse(STATIC[:-cut])


def sealed(body: str) -> str:
    return brcode._sealed(body)


@pytest.mark.parametrize("body", [
    DYNAMIC[:-8].replace("5303986", "5303840"), DYNAMIC[:-8].replace("5802BR", "5802PT"),
    STATIC[:-8].replace("br.gov.bcb.pix", "br.gov.bcb.pux"), "000201" + STATIC[:-8], STATIC[:-8] + "54041,00",
    STATIC[:-8] + "99", "", "000201520400005303986" + "5802BR"])
def test_a_code_of_something_else_is_refused_though_its_checksum_fits(body):
    with pytest.raises(ValueError, match="."):
        brcode.parse(sealed(body))


@pytest.mark.parametrize("changes", [
    {"key": ""}, {"key": "k" * 78}, {"key": "çã"}, {"txid": ""}, {"txid": "A" * 26}, {"txid": "a-b"}, {"txid": "***"},
    {"amount": Money(0)}, {"amount": Money(-1)}, {"name": "日本"}, {"city": " "}])
def test_what_no_code_can_hold_is_refused(changes):
    with pytest.raises(ValueError, match="."):
        static(**changes)


@pytest.mark.parametrize("url", ["", "x" * 78, "a b", "é.com"])
def test_a_location_that_no_code_can_hold_is_refused(url):
    with pytest.raises(ValueError, match="."):
        brcode.build_dynamic(url=url, name="Fulano", city="BRASILIA")
