"""Files that a spreadsheet opens: nothing in them runs, and nothing of what was typed is lost."""

import csv
import io
from decimal import Decimal

import pytest

from kernel.money import Money
from kernel.spreadsheets import guarded, table


@pytest.mark.parametrize(("typed", "written"), [
    ("=1+1", "'=1+1"), ('=HYPERLINK("http://exemplo.invalid","x")', '\'=HYPERLINK("http://exemplo.invalid","x")'),
    ("@SUM(A1)", "'@SUM(A1)"), ("-2+3", "'-2+3"), ("+55 48 90000-0000 Ana", "'+55 48 90000-0000 Ana"),
    ("\t=1+1", "'\t=1+1"), ("\r=1+1", "'\r=1+1"), ("\n=1+1", "'\n=1+1"), ("  =1+1", "'  =1+1"), ("＝1+1", "'＝1+1"),
    ("\u00a0=1+1", "'\u00a0=1+1")])
def test_a_text_that_would_run_is_kept_from_it_and_stays_whole(typed, written):
    assert guarded(typed) == written
    assert written.endswith(typed)


@pytest.mark.parametrize("text", [
    "Ana D'Ávila Sant'Anna", "Zoë Müller-Krieger", "000.000.012-44", "Terminal \"Rita Maria\"", "a=b", "48 90000-0000", ""])
def test_every_other_text_is_written_as_it_is(text):
    assert guarded(text) == text


def test_the_file_opens_in_a_brazilian_spreadsheet():
    made = table([("nome", "valor"), ("São José; \"Rita\"", Money(-123450)), ("duas\nlinhas", 12), ("=x", Decimal("204.5")), (None, "007")])
    assert made == ("\ufeffnome;valor\r\n\"São José; \"\"Rita\"\"\";-1234,50\r\n\"duas\nlinhas\";12\r\n'=x;204,5\r\n"
                    ";007\r\n").encode()
    read = list(csv.reader(io.StringIO(made.decode("utf-8-sig"), newline=""), delimiter=";"))
    assert read[1:3] == [['São José; "Rita"', "-1234,50"], ["duas\nlinhas", "12"]]


def test_amounts_below_zero_stay_numbers():
    assert table([(Money(-5), -5, Decimal("-0.5"))]) == "\ufeff-0,05;-5;-0,5\r\n".encode()
