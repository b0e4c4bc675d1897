"""Section tables as an authority prints them: lines that enter whole, and rows refused with their reason."""

from decimal import Decimal

import pytest

from ticketing.imports.sections import read_sections

GOOD = ("ano,prefixo,linha,origem,destino,km\n"
        "2020,32-1,CRICIUMA-FLORIANOPOLIS,CRICIUMA,TUBARAO,62\n"
        "2020,32-1,CRICIUMA-FLORIANOPOLIS,TUBARAO,FLORIANOPOLIS,142\n")


def read(where, table, name="secoes.csv"):
    (where / name).write_bytes(table if isinstance(table, bytes) else table.encode())
    return read_sections(where / name, progress=lambda done, total: None)


def refusals(result):
    return [(refused.line, refused.code) for refused in result.refused]


def courses(result):
    return [(one.line, [(call.stop, str(call.km)) for call in one.calls]) for one in result.feed.patterns]


def test_sections_become_a_line_with_measured_kilometres(tmp_path):
    result = read(tmp_path, GOOD)
    assert result.refused == ()
    assert courses(result) == [("32-1", [("CRICIUMA", "0"), ("TUBARAO", "62"), ("FLORIANOPOLIS", "204")])]
    assert not any(call.estimated for call in result.feed.patterns[0].calls)
    assert [(line.code, line.name) for line in result.feed.lines] == [("32-1", "CRICIUMA-FLORIANOPOLIS")]
    assert result.feed.slots == ()
    assert {stop.zone for stop in result.feed.stops} == {"America/Sao_Paulo"}


def test_the_pair_that_is_not_printed_is_filled_by_arithmetic(tmp_path):
    result = read(tmp_path, "prefixo,origem,destino,km\n32-3,CRICIUMA,IMBITUBA (ponto 1),127\n"
                            "32-3,CRICIUMA,IMBITUBA (ponto 2),143\n32-3,IMBITUBA (ponto 1),FLORIANOPOLIS,94\n", )
    assert result.refused == ()
    *_, second, last = result.feed.patterns[0].calls
    assert (second.stop, last.stop, last.km - second.km) == ("IMBITUBA-PONTO-2", "FLORIANOPOLIS", Decimal(78))


@pytest.mark.parametrize("table", [
    "\ufeff" + GOOD,
    GOOD.replace("\n", "\r\n"),
    GOOD.replace(",", ";"),
    GOOD.replace("prefixo,linha,origem,destino,km", "line_code,line_name,origin,destination,distance_km"),
    GOOD.replace("origem", "Origem").replace("km", "KM"),
    GOOD.replace(",142", ',"142,0"'),
    GOOD + GOOD.splitlines()[1] + "\n",  # the same pair of another year
    GOOD + "\n\n",
])
def test_other_spellings_of_the_same_table_give_the_same_network(tmp_path, table):
    result = read(tmp_path, table)
    assert result.refused == ()
    assert result.feed.patterns[0].key == read(tmp_path, GOOD, "good.csv").feed.patterns[0].key


def test_a_latin1_table_keeps_its_accents(tmp_path):
    result = read(tmp_path, "linha;origem;destino;km\nA;Criciúma;Tubarão;62,5\n".encode("latin-1"))
    assert [(stop.code, stop.name) for stop in result.feed.stops] == [("CRICIUMA", "Criciúma"), ("TUBARAO", "Tubarão")]
    assert result.feed.lines[0].code == "A"
    assert result.feed.patterns[0].calls[1].km == Decimal("62.5")


def test_each_direction_is_a_course_of_its_own_and_none_is_invented(tmp_path):
    result = read(tmp_path, "prefixo,sentido,origem,destino,km\nA,ida,X,Y,10\nA,volta,Y,X,10.4\n")
    assert courses(result) == [("A", [("X", "0"), ("Y", "10")]), ("A", [("Y", "0"), ("X", "10.4")])]
    assert len(read(tmp_path, "prefixo,origem,destino,km\nA,X,Y,10\n").feed.patterns) == 1


def test_a_stop_takes_the_zone_of_its_state(tmp_path):
    stops = read(tmp_path, "prefixo,uf,origem,destino,km\nA,MS,Bonito,Jardim,67\nB,SC,Bonito,Lages,9\n").feed.stops
    assert [(stop.code, stop.zone) for stop in stops if stop.name == "Bonito"] == [
        ("MS-BONITO", "America/Campo_Grande"), ("SC-BONITO", "America/Sao_Paulo")]


@pytest.mark.parametrize(("row", "code"), [
    ("A,X,Y,", "missing_value"), ("A,,Y,10", "missing_value"),
    ("A,X,Y,dez", "bad_km"), ("A,X,Y,1e2", "bad_km"), ("A,X,Y,NaN", "bad_km"), ("A,X,Y,-10", "bad_km"),
    ('A,X,Y,"1.234,5"', "bad_km"), ("A,X,Y,100000", "bad_km"),
    ("A,X,Y,0", "km_not_positive"), ("A,X,Y,0.000", "km_not_positive"),
    ("A,X,Y,10.0001", "km_too_precise"),
    ("A,X,x,10", "same_ends"), ("A,Ímã,Ima,10", "same_ends"),
    ("A,X,Y,10,5", "too_many_columns"),
    ("A,B,C,31", "duplicate_pair"), ("A,C,B,30", "unordered_pair"),
    ("A,X,Y,10", "disconnected_pair"),
])
def test_a_bad_section_refuses_its_row_and_its_line_and_no_other(tmp_path, row, code):
    result = read(tmp_path, f"prefixo,origem,destino,km\nA,B,C,30\nZ,B,C,30\n{row}\n")
    assert refusals(result) == [(4, code), (2, "line_has_refused_row")]
    assert courses(result) == [("Z", [("B", "0"), ("C", "30")])]
    assert [line.code for line in result.feed.lines] == ["Z"]
    assert all(refused.file == "secoes.csv" and refused.reason for refused in result.refused)


@pytest.mark.parametrize("km", ["0.001", "10.123", "10.1230", "99999"])
def test_a_distance_just_inside_the_rules_is_taken(tmp_path, km):
    assert read(tmp_path, f"prefixo,origem,destino,km\nA,B,C,{km}\n").feed.patterns[0].calls[1].km == Decimal(km)


def test_sections_that_do_not_add_up_are_named_with_what_the_others_say(tmp_path):
    result = read(tmp_path, "prefixo,origem,destino,km\nA,B,C,33.3\nA,B,D,100\nA,C,D,66.8\n")
    assert refusals(result) == [(4, "inconsistent_km"), (2, "line_has_refused_row")]
    assert "66.7" in result.refused[0].reason
    assert result.feed.patterns == () and result.feed.stops == ()


def test_rows_of_no_line_and_blank_lines_are_refused_alone(tmp_path):
    result = read(tmp_path, GOOD + "2019,,LAGES-CURITIBANOS,LAGES,CURITIBANOS,\n\n2020,9-9,X-Y,X,Y,5\n")
    assert refusals(result) == [(4, "missing_value"), (5, "blank_line")]
    assert [line.code for line in result.feed.lines] == ["32-1", "9-9"]


@pytest.mark.parametrize(("table", "code"), [
    ("origem,destino,km\nA,B,1\n", "missing_columns"), ("prefixo,origem,destino\nA,B,C\n", "missing_columns"),
    ("", "empty_file"), ("prefixo,origem,origin,destino,km\n", "duplicate_column"),
])
def test_a_table_without_its_columns_gives_nothing(tmp_path, table, code):
    result = read(tmp_path, table)
    assert refusals(result) == [(1, code)]
    assert result.feed.lines == ()


@pytest.mark.parametrize("state", ["Santa Catarina", "S", "SCX", "S1", "ßC", "=1", "São"])
def test_a_state_is_two_letters_or_is_refused_with_its_line(tmp_path, state):
    result = read(tmp_path, f"prefixo,uf,origem,destino,km\n32-1,SC,CRICIUMA,TUBARAO,62\n32-1,{state},TUBARAO,LAGES,142\n")
    assert refusals(result) == [(3, "bad_state"), (2, "line_has_refused_row")]
    assert result.feed.lines == ()


def test_a_state_is_read_whatever_its_case(tmp_path):
    assert read(tmp_path, "prefixo,uf,origem,destino,km\n32-1,sc,CRICIUMA,TUBARAO,62\n").feed.lines[0].state == "SC"
