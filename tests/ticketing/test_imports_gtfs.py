"""GTFS as it comes: what is read, what is refused and by which code, and that a trip never enters by halves."""

import zipfile
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from ticketing.imports.gtfs import read_gtfs
from ticketing.network.policy import runs_on

TABLES = {
    "agency.txt": "agency_id,agency_name,agency_timezone\nD,Viação Demonstração,America/Sao_Paulo\n",
    "stops.txt": "stop_id,stop_name,stop_lat,stop_lon\n"
                 "FLN,Florianópolis,-27.5945,-48.5477\nSJO,São José,-27.6136,-48.6366\n"
                 "LGS,Lages,-27.8160,-50.3260\nXAP,Chapecó,-27.1000,-52.6150\n",
    "routes.txt": "route_id,route_short_name,route_long_name,route_type\nR1,101,Florianópolis - Chapecó,3\n",
    "trips.txt": "route_id,service_id,trip_id\nR1,UTEIS,T1\nR1,UTEIS,T2\n",
    "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
                      "T1,06:30:00,06:30:00,FLN,1\nT1,06:50:00,06:55:00,SJO,2\nT1,10:40:00,11:00:00,LGS,4\n"
                      "T1,16:20:00,16:20:00,XAP,6\nT2,22:15:00,22:15:00,FLN,1\nT2,26:25:00,26:40:00,LGS,2\n",
    "calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
                    "UTEIS,1,1,1,1,1,0,0,20260101,20261231\n",
    "calendar_dates.txt": "service_id,date,exception_type\nUTEIS,20260218,2\n",
}


def runs(slot, day):
    return runs_on(day, valid_from=slot.valid_from, valid_until=slot.valid_until, weekdays=slot.weekdays,
                   exception=slot.exceptions.get(day))


def with_rows(**added):
    """The tables with rows added at the end: `trips="R1,..."` adds to trips.txt."""
    tables = dict(TABLES)
    for name, lines in added.items():
        tables[f"{name}.txt"] = tables.get(f"{name}.txt", "") + lines + "\n"
    return tables


def without(*names):
    return {name: table for name, table in TABLES.items() if name not in names}


def folder(where, tables):
    for name, table in tables.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(table if isinstance(table, bytes) else table.encode())
    return where


def zipped(where, tables, **kinds):
    with zipfile.ZipFile(where / "feed.zip", "w", zipfile.ZIP_DEFLATED, **kinds) as archive:
        for name, table in tables.items():
            archive.writestr(name, table)
    return where / "feed.zip"


def read(path):
    return read_gtfs(path, progress=lambda done, total: None)


def refusals(result):
    return [(refused.file, refused.line, refused.code) for refused in result.refused]


@pytest.fixture
def whole(tmp_path_factory):
    return read(folder(tmp_path_factory.mktemp("whole"), TABLES)).feed


def test_a_folder_gives_stops_lines_patterns_and_slots(tmp_path):
    result = read(folder(tmp_path, TABLES))
    feed = result.feed
    assert result.refused == ()
    assert feed.zone == "America/Sao_Paulo"
    assert [stop.name for stop in feed.stops] == ["Florianópolis", "São José", "Lages", "Chapecó"]
    assert feed.stops[0].lat == Decimal("-27.5945")
    assert [(line.code, line.name) for line in feed.lines] == [("R1", "101 Florianópolis - Chapecó")]
    assert [[call.stop for call in one.calls] for one in feed.patterns] == [["FLN", "SJO", "LGS", "XAP"], ["FLN", "LGS"]]
    assert all(call.estimated for one in feed.patterns for call in one.calls)
    assert [(slot.code, slot.weekdays, slot.valid_from, slot.valid_until) for slot in feed.slots] == [
        ("T1", 0b11111, date(2026, 1, 1), date(2026, 12, 31)), ("T2", 0b11111, date(2026, 1, 1), date(2026, 12, 31))]
    assert not runs(feed.slots[0], date(2026, 2, 18))


def test_progress_ends_with_every_byte_read(tmp_path):
    seen = []
    read_gtfs(folder(tmp_path, TABLES), progress=lambda done, total: seen.append((done, total)))
    size = sum(len(table.encode()) for table in TABLES.values())
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


@pytest.mark.parametrize("change", [
    lambda table: "\ufeff" + table,
    lambda table: table.replace("\n", "\r\n"),
    lambda table: table + "\n\n",
    lambda table: "\n".join('"' + line.replace(",", '","') + '"' for line in table.splitlines()),
    lambda table: "\n".join(" " + line.replace(",", " , ") for line in table.splitlines()),
])
def test_marks_line_ends_and_quotes_change_nothing(tmp_path, whole, change):
    result = read(zipped(tmp_path, {name: change(table) for name, table in TABLES.items()}))
    assert result.refused == ()
    assert result.feed == whole


def test_a_quoted_comma_stays_in_the_name(tmp_path):
    result = read(folder(tmp_path, with_rows(stops='RIT,"Florianópolis, Terminal ""Rita Maria""",-27.59,-48.55')))
    assert result.feed.stops[-1].name == 'Florianópolis, Terminal "Rita Maria"'
    assert result.feed.stops[-1].lon == Decimal("-48.55")


@pytest.mark.parametrize("inner", ["gtfs/", ""])
def test_an_inner_folder_and_what_a_mac_leaves_are_seen_through(tmp_path, whole, inner):
    tables = {inner + name: table for name, table in TABLES.items()}
    litter = {f"__MACOSX/{inner}._stops.txt": b"\0\5\x16\7", f"__MACOSX/{inner}stops.txt": b"\0",
              f"{inner}.DS_Store": b"\0", f"{inner}LICENSE.md": b"text"}
    result = read(zipped(tmp_path, tables | litter))
    assert (result.refused, result.feed) == ((), whole)
    assert read(folder(tmp_path / "unpacked", tables)).feed == whole


def test_a_latin1_file_is_read_so_as_a_whole(tmp_path, whole):
    result = read(folder(tmp_path, TABLES | {"stops.txt": TABLES["stops.txt"].encode("latin-1")}))
    assert (result.refused, result.feed) == ((), whole)


@pytest.mark.parametrize(("stops", "line"), [
    (TABLES["stops.txt"].encode() + "PNT,Estação,-27,-48\n".encode("latin-1"), 6),  # half one, half the other
    (TABLES["stops.txt"].encode("utf-16"), 1),
    (TABLES["stops.txt"].encode() + b"PNT,\x81,-27,-48\n", 6),
    (b"stop_id,stop_name,stop_lat,stop_lon\nA,a\0b,-27,-48\n", 2),
])
def test_a_file_of_no_single_encoding_is_refused_and_nothing_enters(tmp_path, stops, line):
    result = read(folder(tmp_path, TABLES | {"stops.txt": stops}))
    assert refusals(result) == [("stops.txt", line, "unreadable_encoding")]
    assert (result.feed.stops, result.feed.slots) == ((), ())


def test_times_past_midnight_belong_to_the_day_the_trip_began(tmp_path):
    slots = read(folder(tmp_path, with_rows(trips="R1,UTEIS,T10",
                                            stop_times="T10,24:10:00,24:10:00,FLN,1\nT10,33:45:00,33:45:00,XAP,2"))).feed.slots
    assert slots[1].times == ((80100, 80100), (95100, 96000))
    assert slots[2].times == ((87000, 87000), (121500, 121500))
    assert runs(slots[2], date(2026, 3, 6)) and not runs(slots[2], date(2026, 3, 7))


def test_a_loop_keeps_each_of_its_calls(tmp_path):
    loop = [("LGS", "08"), ("SJO", "09"), ("FLN", "10"), ("SJO", "11"), ("LGS", "12")]
    times = "\n".join(f"V,{hour}:00:00,{hour}:00:00,{stop},{place}" for place, (stop, hour) in enumerate(loop))
    feed = read(folder(tmp_path, with_rows(trips="R1,UTEIS,V", stop_times=times))).feed
    assert [call.stop for call in feed.patterns[-1].calls] == [stop for stop, _ in loop]
    assert [km.km for km in feed.patterns[-1].calls] == sorted({km.km for km in feed.patterns[-1].calls})
    assert [arrives // 3600 for arrives, _ in feed.slots[-1].times] == [8, 9, 10, 11, 12]


def test_without_a_calendar_exactly_the_listed_dates_run(tmp_path):
    tables = without("calendar.txt") | {"calendar_dates.txt": "service_id,date,exception_type\n"
                                        "UTEIS,20260310,1\nUTEIS,20260312,1\nUTEIS,20260315,1\n"}
    slot = read(folder(tmp_path, tables)).feed.slots[0]
    assert [day for day in range(1, 32) if runs(slot, date(2026, 3, day))] == [10, 12, 15]
    assert (slot.valid_from, slot.valid_until) == (date(2026, 3, 10), date(2026, 3, 15))


def test_calls_are_ordered_by_their_sequence_not_by_their_rows(tmp_path):
    head, *lines = TABLES["stop_times.txt"].splitlines()
    result = read(folder(tmp_path, TABLES | {"stop_times.txt": "\n".join([head, *reversed(lines)])}))
    assert [[call.stop for call in one.calls] for one in result.feed.patterns][0] == ["FLN", "SJO", "LGS", "XAP"]


def test_blank_times_are_filled_and_one_of_a_pair_stands_for_both(tmp_path):
    rows = "V,08:00:00,,FLN,1\nV,,,SJO,2\nV,,12:00:00,LGS,3"
    times = read(folder(tmp_path, with_rows(trips="R1,UTEIS,V", stop_times=rows))).feed.slots[-1].times
    assert times[0] == (28800, 28800) and times[2] == (43200, 43200)
    assert times[0] < times[1] < times[2] and times[1][0] % 60 == 0


def test_a_headway_becomes_departures_up_to_but_not_at_its_end(tmp_path):
    tables = with_rows(frequencies="trip_id,start_time,end_time,headway_secs\nT2,05:00:00,06:00:00,1800\nT2,23:50:00,24:20:00,1200")
    slots = read(folder(tmp_path, tables)).feed.slots
    assert [slot.code for slot in slots] == ["T1", "T2@05:00:00", "T2@05:30:00", "T2@23:50:00", "T2@24:10:00"]
    assert slots[1].times == ((18000, 18000), (33000, 33900))


def test_only_boarding_points_are_stops_and_each_keeps_its_own_zone(tmp_path):
    tables = TABLES | {"stops.txt": "stop_id,stop_name,stop_lat,stop_lon,location_type,stop_timezone,platform_code\n"
                       "EST,Rodoviária,-20.5,-54.6,1,,\nFLN,Box 3,-27.5,-48.5,0,,3\nLGS,Campo Grande,-20.5,-54.6,,America/Campo_Grande,\n"}
    tables["stop_times.txt"] = TABLES["stop_times.txt"].replace("FLN", "EST", 1)
    result = read(folder(tmp_path, tables))
    assert [(stop.code, stop.zone, stop.platform) for stop in result.feed.stops] == [
        ("FLN", "America/Sao_Paulo", "3"), ("LGS", "America/Campo_Grande", None)]
    assert ("stop_times.txt", 2, "not_a_boarding_stop") in refusals(result)
    assert [slot.code for slot in result.feed.slots] == ["T2"]


@pytest.mark.parametrize(("added", "code"), [
    ("V,08:00:00,08:00:00,FLN,1\nV,09:00:00,09:00:00,NADA,2", "unknown_stop"),
    ("V,08:00:00,08:00:00,FLN,1\nV,8h30,8h30,SJO,2", "bad_time"),
    ("V,08:00:00,08:00:00,FLN,1\nV,08:60:00,08:60:00,SJO,2", "bad_time"),
    ("V,08:00:00,08:00:00,FLN,1\nV,٠٩:00:00,09:00:00,SJO,2", "bad_time"),
    ("V,08:00:00,08:00:00,FLN,1\nV,169:00:00,169:00:00,SJO,2", "bad_time"),
    ("V,08:00:00,08:00:00,FLN,1\nV,07:59:59,08:30:00,SJO,2", "decreasing_times"),
    ("V,08:00:00,08:00:00,FLN,1\nV,09:00:00,08:59:59,SJO,2", "decreasing_times"),
    ("V,08:00:00,08:00:00,FLN,1\nV,09:00:00,09:00:00,SJO,1", "duplicate_sequence"),
    ("V,08:00:00,08:00:00,FLN,1\nV,09:00:00,09:00:00,SJO,-2", "bad_number"),
    ("V,08:00:00,08:00:00,FLN,1\nV,09:00:00,09:00:00,SJO,2,sobra", "too_many_columns"),
    ("V,08:00:00,08:00:00,FLN,1\nV,,,SJO,2", "untimed_ends"),
])
def test_one_bad_call_refuses_its_row_and_its_trip_and_no_other(tmp_path, whole, added, code):
    result = read(folder(tmp_path, with_rows(trips="R1,UTEIS,V", stop_times=added)))
    assert refusals(result) == [("stop_times.txt", 9, code), ("trips.txt", 4, "trip_has_refused_row")]
    assert result.feed == replace(whole, withheld=frozenset({"V"}))


@pytest.mark.parametrize("added", [
    "V,08:00:00,08:00:00,FLN,1\nV,08:00:00,08:00:00,SJO,2",
    "V,08:00:00,08:00:00,FLN,1\nV,168:59:59,168:59:59,SJO,2",
    "V,8:00:00,8:00:00,FLN,0\nV,09:00:00,09:00:00,SJO,400,,",
])
def test_a_call_just_inside_the_rules_is_taken(tmp_path, added):
    result = read(folder(tmp_path, with_rows(trips="R1,UTEIS,V", stop_times=added)))
    assert result.refused == ()
    assert result.feed.slots[-1].code == "V"


@pytest.mark.parametrize(("file", "row", "line", "code"), [
    ("stops", "FLN,Outra,-27.0,-48.0", 6, "duplicate_id"),
    ("stops", ",Sem código,-27.0,-48.0", 6, "missing_value"),
    ("stops", "A,,-27.0,-48.0", 6, "missing_value"),
    ("stops", "A" * 65 + ",B,-27.0,-48.0", 6, "too_long"),
    ("stops", "A," + "b" * 161 + ",-27.0,-48.0", 6, "too_long"),
    ("routes", "R2," + "1" * 80 + "," + "a" * 80 + ",3", 3, "too_long"),
    ("stops", "A,Longe,-90.1,-48.0", 6, "bad_coordinates"),
    ("stops", "A,Longe,-27.0,180.1", 6, "bad_coordinates"),
    ("stops", "A,Golfo,0,0.0", 6, "bad_coordinates"),
    ("stops", 'A,Vírgula,"-27,5",-48.0', 6, "bad_coordinates"),
    ("stops", "A,B,-27.5,-48.0,x", 6, "too_many_columns"),
    ("routes", "R1,1,Outra,3", 3, "duplicate_id"),
    ("routes", "R2,,,3", 3, "missing_value"),
    ("trips", "R1,UTEIS,T1", 4, "duplicate_id"),
    ("trips", "R9,UTEIS,T9", 4, "unknown_line"),
    ("trips", "R1,NADA,T9", 4, "unknown_service"),
    ("trips", "R1,UTEIS,T9", 4, "too_few_calls"),
    ("calendar", "FDS,0,0,0,0,0,1,1,20260102,20260101", 3, "end_before_start"),
    ("calendar", "FDS,0,0,0,0,0,1,sim,20260101,20260102", 3, "bad_weekday"),
    ("calendar", "FDS,0,0,0,0,0,1,1,20260230,20261231", 3, "bad_date"),
    ("calendar", "FDS,0,0,0,0,0,1,1,2026-02-03,20261231", 3, "bad_date"),
    ("calendar_dates", "FDS,20260101,3", 3, "bad_exception"),
    ("stop_times", "T7,08:00:00,08:00:00,FLN,1", 8, "unknown_trip"),
    ("stops", "\nA,B,-27.5,-48.0", 6, "blank_line"),
])
def test_a_refused_row_says_where_and_why_and_leaves_the_rest(tmp_path, whole, file, row, line, code):
    result = read(folder(tmp_path, with_rows(**{file: row})))
    assert refusals(result) == [(f"{file}.txt", line, code)]
    assert result.refused[0].reason
    assert result.feed.slots == whole.slots
    assert set(whole.stops) <= set(result.feed.stops)


@pytest.mark.parametrize(("tables", "expected"), [
    (with_rows(calendar_dates="UTEIS,20260218,1"),
     [("calendar_dates.txt", 3, "duplicate_id"), ("trips.txt", 2, "service_refused"), ("trips.txt", 3, "service_refused")]),
    (with_rows(calendar="FDS,0,0,0,0,0,0,0,20260101,20260102", trips="R1,FDS,V", stop_times="V,08:00:00,08:00:00,FLN,1"),
     [("trips.txt", 4, "service_never_runs")]),
    (with_rows(frequencies="trip_id,start_time,end_time,headway_secs\nT2,05:00:00,06:00:00,59"),
     [("frequencies.txt", 2, "headway_too_short"), ("trips.txt", 3, "trip_has_refused_row")]),
    (with_rows(frequencies="trip_id,start_time,end_time,headway_secs\nT2,05:00:00,05:00:00,60"),
     [("frequencies.txt", 2, "end_before_start"), ("trips.txt", 3, "trip_has_refused_row")]),
])
def test_what_a_trip_rests_on_takes_it_along(tmp_path, tables, expected):
    assert refusals(read(folder(tmp_path, tables))) == expected


@pytest.mark.parametrize(("tables", "expected"), [
    (without("stops.txt", "trips.txt"), [("stops.txt", 0, "missing_file"), ("trips.txt", 0, "missing_file")]),
    (without("calendar.txt", "calendar_dates.txt"), [("calendar.txt", 0, "missing_file")]),
    (TABLES | {"stops.txt": "stop_id,stop_name,stop_lat\nFLN,Florianópolis,-27\n"}, [("stops.txt", 1, "missing_columns")]),
    (TABLES | {"stops.txt": "stop_id,stop_id,stop_name,stop_lat,stop_lon\n"}, [("stops.txt", 1, "duplicate_column")]),
    (TABLES | {"trips.txt": ""}, [("trips.txt", 1, "empty_file")]),
    (TABLES | {"trips.txt": TABLES["trips.txt"] + 'R1,UTEIS,"T3\n'}, [("trips.txt", 4, "malformed_csv")]),
    (TABLES | {"agency.txt": "agency_name,agency_timezone\nD,Brasília\n"}, [("agency.txt", 2, "unknown_zone")]),
    (with_rows(agency="E,Outra,America/Campo_Grande"), [("agency.txt", 3, "mixed_zones")]),
    (TABLES | {"agency.txt": "agency_name,agency_timezone\n"}, [("agency.txt", 1, "missing_agency")]),
    (TABLES | {"agency.txt": "agency_name\nViação\n"}, [("agency.txt", 1, "missing_agency")]),
    (without("agency.txt"), [("agency.txt", 0, "missing_agency")]),
])
def test_a_file_that_cannot_be_taken_leaves_nothing_of_the_feed(tmp_path, tables, expected):
    result = read(folder(tmp_path, tables))
    assert refusals(result) == expected
    assert (result.feed.stops, result.feed.lines, result.feed.slots) == ((), (), ())


@pytest.mark.parametrize(("members", "code"), [
    ({"../stops.txt": ""}, "unsafe_member"), ({"a/../../b": ""}, "unsafe_member"), ({"..\\b": ""}, "unsafe_member"),
    ({"/etc/b": ""}, "unsafe_member"), ({"C:\\b": ""}, "unsafe_member"),
    ({"b.txt": "0" * 1_100_000}, "archive_too_large"),
    ({"outra/stops.txt": TABLES["stops.txt"]}, "ambiguous_folder"),
])
def test_an_archive_that_is_not_safe_to_open_is_refused_whole(tmp_path, members, code):
    result = read(zipped(tmp_path, TABLES | members))
    assert refusals(result) == [("feed.zip", 0, code)]
    assert result.feed.stops == ()


@pytest.mark.parametrize("members", [{"a..b/c.txt": ""}, {"b.txt": "0" * 900_000}])
def test_an_odd_but_harmless_archive_is_read(tmp_path, whole, members):
    assert read(zipped(tmp_path, TABLES | members)).feed == whole


def test_the_same_name_twice_in_an_archive_is_refused(tmp_path):
    path = zipped(tmp_path, TABLES)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning):
        archive.writestr("stops.txt", "")
    assert refusals(read(path)) == [("feed.zip", 0, "duplicate_member")]


def test_a_locked_archive_is_refused(tmp_path):
    path = zipped(tmp_path, TABLES)
    locked = bytearray(path.read_bytes())
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(locked)
    assert refusals(read(path)) == [("feed.zip", 0, "encrypted_member")]


def test_codes_and_names_of_the_greatest_length_are_taken(tmp_path):
    result = read(folder(tmp_path, with_rows(stops="A" * 64 + "," + "b" * 160 + ",-27.0,-48.0",
                                             routes="R2," + "1" * 80 + "," + "a" * 79 + ",3")))
    assert result.refused == ()


def test_a_broken_archive_or_no_archive_is_refused(tmp_path):
    path = zipped(tmp_path, TABLES)
    spoilt = bytearray(path.read_bytes())
    start = spoilt.index(b"stops.txt") + len("stops.txt")
    spoilt[start:start + 40] = bytes(40)
    (tmp_path / "spoilt.zip").write_bytes(spoilt)
    (tmp_path / "text.zip").write_text("no archive")
    assert refusals(read(tmp_path / "spoilt.zip")) == [("spoilt.zip", 0, "unknown_format")]
    assert refusals(read(tmp_path / "text.zip")) == [("text.zip", 0, "unknown_format")]
    assert refusals(read(tmp_path / "none.zip")) == [("none.zip", 0, "missing_file")]


def test_a_refusal_repeats_nothing_that_moves_a_terminal(tmp_path):
    hostile = "\x1b]0;owned\x07\x1b[2J\u202eR9"
    refused, *_ = read(folder(tmp_path, with_rows(trips=f"{hostile},UTEIS,T3"))).refused
    assert refused.code == "unknown_line"
    assert refused.reason.isprintable() and "R9" in refused.reason
