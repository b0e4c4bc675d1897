"""Fare matrices as an authority prints them: a line's prices enter whole, and what is not sold stays unsold."""

from decimal import Decimal

import pytest

from kernel.money import Money
from ticketing.imports.matrix import FareTable, as_feed, guessed_km, read_fares

TITLES = "linha,ordem_origem,origem,ordem_destino,destino,tarifa_brl,vendavel\n"
GOOD = TITLES + ("T-1,1,Criciúma,2,Tubarão,17.40,1\nT-1,1,Criciúma,3,Trevo,,0\nT-1,2,Tubarão,3,Trevo,*******,0\n"
                 "T-1,1,Criciúma,4,Florianópolis,57.10,1\nT-1,2,Tubarão,4,Florianópolis,39.80,1\nT-1,3,Trevo,4,Florianópolis,,0\n")


def read(where, table, name="tarifas.csv"):
    (where / name).write_bytes(table if isinstance(table, bytes) else table.encode())
    return read_fares(where / name, progress=lambda done, total: None)


def refusals(result):
    return [(row.line, row.code) for row in result.refused]


def test_a_matrix_gives_places_in_order_and_a_price_or_nothing_for_each_pair(tmp_path):
    result = read(tmp_path, GOOD)
    assert result.refused == ()
    table, = result.tables
    assert (table.line, table.places) == ("T-1", ("Criciúma", "Tubarão", "Trevo", "Florianópolis"))
    assert table.fares == {(0, 1): Money(1740), (0, 2): None, (1, 2): None, (0, 3): Money(5710), (1, 3): Money(3980),
                           (2, 3): None}
    assert table.missing == 0


@pytest.mark.parametrize("table", [
    "\ufeff" + GOOD, GOOD.replace("\n", "\r\n"), GOOD.replace(",", ";"), GOOD.replace("17.40", '"17,40"'),
    GOOD.encode("latin-1"), TITLES + "".join(f"{row}\n" for row in reversed(GOOD.splitlines()[1:])),
    GOOD + GOOD.splitlines()[1] + "\n\n", GOOD.replace("T-1,1,Criciúma,3", "T-1,1,CRICIUMA,3"),
    GOOD.replace("linha,", "prefixo,"), GOOD.replace(",4,Flo", ",10,Flo"),
])
def test_other_spellings_of_the_same_matrix_give_the_same_prices(tmp_path, table):
    result = read(tmp_path, table)
    assert result.refused == ()
    assert result.tables[0].fares == read(tmp_path, GOOD, "good.csv").tables[0].fares


@pytest.mark.parametrize(("row", "code"), [
    ("A,1,X,2,Y,dez,1", "bad_fare"), ("A,1,X,2,Y,,1", "bad_fare"), ("A,1,X,2,Y,0,1", "bad_fare"),
    ("A,1,X,2,Y,-3,1", "bad_fare"), ("A,1,X,2,Y,1.234,1", "bad_fare"), ("A,1,X,2,Y,NaN,1", "bad_fare"),
    ("A,1,X,2,Y,1e3,1", "bad_fare"), ("A,1,X,2,Y,100000,1", "bad_fare"),
    ("A,1,X,2,Y,5,sim", "bad_sold"), ("A,1,X,2,Y,5,", "bad_sold"), ("A,1,X,2,Y,5,0", "fare_of_unsold"),
    ("A,2,Y,1,X,5,1", "unordered_fare"), ("A,1,X,1,X,5,1", "unordered_fare"),
    ("A,um,X,2,Y,5,1", "bad_number"), ("A,1,,2,Y,5,1", "missing_value"),
    ("A,1,Z,2,Y,5,1", "order_of_another"), ("A,1,B,3,b,5,1", "repeated_place"),
    ("A,1,B,2,C,31,1", "duplicate_fare"), ("A,1,B,2,C,,0", "duplicate_fare"), ("A,1,B,2,C,30,1,x", "too_many_columns"),
])
def test_a_bad_row_refuses_its_line_and_no_other(tmp_path, row, code):
    result = read(tmp_path, TITLES + f"A,1,B,2,C,30,1\nZ,1,B,2,C,30,1\n{row}\n")
    assert code in [found for _, found in refusals(result)] or (4, "order_of_another") in refusals(result)
    assert refusals(result)[-1] == (2, "line_has_refused_row")
    assert [table.line for table in result.tables] == ["Z"]
    assert all(one.file == "tarifas.csv" and one.reason for one in result.refused)


@pytest.mark.parametrize("fare", ["0.01", "0,5", "99999.99", "7"])
def test_a_price_just_inside_the_rules_is_taken(tmp_path, fare):
    result = read(tmp_path, TITLES.replace(",", ";") + f"A;1;B;2;C;{fare};1\n")
    assert result.refused == () and result.tables[0].fares[0, 1].cents == int(Decimal(fare.replace(",", ".")) * 100)


def test_a_line_that_sells_nothing_is_refused(tmp_path):
    assert refusals(read(tmp_path, TITLES + "A,1,B,2,C,,0\n")) == [(2, "nothing_sold"), (2, "line_has_refused_row")]


def test_pairs_that_nobody_printed_are_counted(tmp_path):
    assert read(tmp_path, TITLES + "A,1,B,2,C,3,1\nA,2,C,3,D,3,1\n").tables[0].missing == 1


@pytest.mark.parametrize(("table", "code"), [
    ("linha,origem,destino,tarifa_brl,vendavel\n", "missing_columns"), ("", "empty_file"),
    (TITLES.replace("destino,tarifa", "destino,origem,tarifa"), "duplicate_column"),
])
def test_a_file_without_its_columns_gives_nothing(tmp_path, table, code):
    result = read(tmp_path, table)
    assert (refusals(result), result.tables) == ([(1, code)], ())


def test_km_guessed_from_prices_rise_from_place_to_place():
    fares = {(0, 1): Money(2800), (0, 2): None, (1, 2): None, (0, 3): Money(2500), (1, 3): Money(100), (0, 4): None,
             (3, 4): Money(280)}
    table = FareTable("A", ("a", "b", "c", "d", "e"), fares)
    assert guessed_km(table, Decimal("0.28")) == (0, 100, Decimal("100.1"), Decimal("100.2"), Decimal("110.2"))
    feed = as_feed(table, zone="America/Bahia", reais_per_km=Decimal("0.28"))
    assert all(call.estimated for call in feed.patterns[0].calls) and feed.slots == ()
