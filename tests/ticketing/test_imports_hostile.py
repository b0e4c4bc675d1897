"""Feeds that mean harm, or that a careless tool made: refused whole with a code, and never unpacked to find out."""

import io
import struct
import zipfile

import pytest

from tests.ticketing.test_imports_gtfs import TABLES, folder, read, refusals, without, zipped
from ticketing.imports import archives, gtfs, tables
from ticketing.imports.gtfs import read_gtfs
from ticketing.imports.sections import read_sections


def refused_archive(path):
    result = read(path)
    assert (result.feed.stops, result.feed.lines, result.feed.slots) == ((), (), ())
    return refusals(result)


@pytest.fixture
def whole(tmp_path):
    (tmp_path / "whole").mkdir()
    return read(folder(tmp_path / "whole", TABLES)).feed


def quiet(done, total):
    """Progress that nobody watches."""


@pytest.mark.parametrize("name", ["more.zip", "inner/More.ZIP", "stops.txt.gz", "all.tar", "x.7z"])
def test_an_archive_within_an_archive_is_refused(tmp_path, name):
    assert refused_archive(zipped(tmp_path, TABLES | {name: b"PK"})) == [("feed.zip", 0, "nested_archive")]


def test_a_link_in_a_zip_is_refused(tmp_path):
    path = zipped(tmp_path, without("stops.txt"))
    link = zipfile.ZipInfo("stops.txt")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert refused_archive(path) == [("feed.zip", 0, "unsafe_member")]


def test_a_link_in_a_folder_is_refused_where_a_table_should_be(tmp_path, whole):
    (tmp_path / "secret").write_text(TABLES["stops.txt"])
    feed = folder(tmp_path / "feed", without("stops.txt"))
    (feed / "stops.txt").symlink_to(tmp_path / "secret")
    assert refused_archive(feed) == [("feed", 0, "unsafe_member")]
    (feed / "stops.txt").unlink()
    (feed / "stops.txt").write_text(TABLES["stops.txt"])
    (feed / "LICENSE.md").symlink_to(tmp_path / "secret")
    assert read(feed).feed == whole


@pytest.mark.parametrize("twin", ["STOPS.TXT", "Stops.txt"])
def test_two_names_that_differ_in_case_alone_are_one_name_twice(tmp_path, twin):
    assert refused_archive(zipped(tmp_path, TABLES | {twin: TABLES["stops.txt"]})) == [("feed.zip", 0, "duplicate_member")]
    assert refused_archive(folder(tmp_path / "f", TABLES | {twin: TABLES["stops.txt"]})) == [("f", 0, "duplicate_member")]


def test_names_in_capitals_and_backslashes_of_another_system_are_read(tmp_path, whole):
    assert read(zipped(tmp_path, {name.upper(): table for name, table in TABLES.items()})).feed == whole
    assert read(zipped(tmp_path, {f"gtfs\\{name}": table for name, table in TABLES.items()})).feed == whole


def test_a_name_cut_by_a_zero_byte_is_refused(tmp_path):
    path = zipped(tmp_path, TABLES | {"stopsXtxt.exe": "x"})
    path.write_bytes(path.read_bytes().replace(b"stopsXtxt.exe", b"stops\0txt.exe"))
    assert refused_archive(path) == [("feed.zip", 0, "unsafe_member")]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_unpacks_without_measure_is_refused(tmp_path, method):
    path = zipped(tmp_path, without("stops.txt"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("stops.txt", TABLES["stops.txt"], compress_type=method)
    assert refused_archive(path) == [("feed.zip", 0, "unknown_compression")]


@pytest.mark.parametrize("members", [{"shapes.txt": "0" * 5_000_000}, {f"{n}.txt": "0" * 900_000 for n in range(9)}])
def test_a_bomb_is_known_by_its_ratio_or_its_sum_before_a_byte_of_it_is_read(tmp_path, monkeypatch, members):
    bomb = zipped(tmp_path, TABLES | members)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a member was opened"))
    assert refusals(read_gtfs(bomb, progress=quiet, most_bytes=8_000_000)) == [("feed.zip", 0, "archive_too_large")]


def test_just_under_the_sum_is_no_bomb(tmp_path, whole):
    path = zipped(tmp_path, TABLES)
    size = sum(len(table.encode()) for table in TABLES.values())
    assert read_gtfs(path, progress=quiet, most_bytes=size).feed == whole
    assert refusals(read_gtfs(path, progress=quiet, most_bytes=size - 1)) == [("feed.zip", 0, "archive_too_large")]


def test_a_member_that_lies_about_its_size_is_not_unpacked_past_it(tmp_path):
    path = zipped(tmp_path, TABLES | {"stops.txt": TABLES["stops.txt"] + "\n" * 3_000_000})
    raw = bytearray(path.read_bytes())
    size = struct.pack("<I", len(TABLES["stops.txt"].encode()) + 3_000_000)
    while (at := raw.find(size)) >= 0:
        raw[at:at + 4] = struct.pack("<I", 100)
    path.write_bytes(raw)
    assert refused_archive(path) == [("feed.zip", 0, "unknown_format")]


def test_more_members_than_a_network_has_are_refused_before_they_are_listed(tmp_path, monkeypatch, whole):
    full = zipped(tmp_path, TABLES | {f"{n}": "" for n in range(archives.MOST_MEMBERS - len(TABLES))})
    assert read(full).feed == whole
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("the list was read"))
    buffer = io.BytesIO(full.read_bytes())
    end = buffer.getvalue().rfind(b"PK\5\6")
    raw = bytearray(buffer.getvalue())
    raw[end + 10:end + 12] = struct.pack("<H", archives.MOST_MEMBERS + 1)
    full.write_bytes(raw)
    assert refused_archive(full) == [("feed.zip", 0, "too_many_members")]
    raw[end + 10:end + 16] = struct.pack("<HI", 7, archives.MOST_DIRECTORY_BYTES + 1)
    full.write_bytes(raw)
    assert refused_archive(full) == [("feed.zip", 0, "too_many_members")]


def test_a_list_that_says_it_lies_elsewhere_is_refused(tmp_path):
    path = zipped(tmp_path, TABLES)
    raw = path.read_bytes()
    end = raw.rfind(b"PK\5\6")
    path.write_bytes(raw[:end] + b"PK\6\7" + bytes(16) + raw[end:])
    assert refused_archive(path) == [("feed.zip", 0, "too_many_members")]


@pytest.mark.parametrize("cut", [1, 22, 60, 400])
def test_an_upload_that_broke_off_is_refused(tmp_path, cut):
    path = zipped(tmp_path, TABLES)
    path.write_bytes(path.read_bytes()[:-cut])
    assert refused_archive(path) == [("feed.zip", 0, "unknown_format")]


def test_what_stands_before_a_zip_changes_nothing(tmp_path, whole):
    path = zipped(tmp_path, TABLES)
    path.write_bytes(b"#!/bin/sh\nexit\n" + path.read_bytes())
    assert read(path).feed == whole


@pytest.mark.parametrize(("stops", "code"), [
    ("stop_id,stop_name,stop_lat,stop_lon\nA," + "x" * 1_000_001, "long_line"),
    ("stop_id,stop_name,stop_lat,stop_lon" + "".join(f",c{n}" for n in range(200)) + "\n", "too_many_titles"),
    ("stop_id,stop_name,stop_lat,stop_lon\nA," + '"a\n",' * 1100 + "x\n", "malformed_csv"),
    ('stop_id,stop_name,stop_lat,stop_lon\nA,"' + "a" * 140_000 + '",-27,-48\n', "malformed_csv"),
])
def test_a_table_without_measure_is_refused(tmp_path, stops, code):
    assert [row[2] for row in refused_archive(folder(tmp_path, TABLES | {"stops.txt": stops}))] == [code]


def test_a_text_over_several_lines_is_still_one_row(tmp_path):
    stops = TABLES["stops.txt"] + 'RIO,"Rio\ndo\nSul",-27.2,-49.6\nLTS,Laguna,-28.4,-48.7\n'
    result = read(folder(tmp_path, TABLES | {"stops.txt": stops}))
    assert result.refused == () and [stop.name for stop in result.feed.stops[-2:]] == ["Rio do Sul", "Laguna"]


def test_refusals_end_when_nobody_would_read_on(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_REFUSED", 3)
    bad = TABLES["stops.txt"] + "".join(f"X{n},Nada,99,0\n" for n in range(5))
    codes = [code for _, _, code in refused_archive(folder(tmp_path, TABLES | {"stops.txt": bad}))]
    assert codes == ["bad_coordinates"] * 3 + ["too_many_refused"]
    (tmp_path / "s.csv").write_text("prefixo,origem,destino,km\n" + "A,B,C,x\n" * 5)
    assert len(read_sections(tmp_path / "s.csv", progress=quiet).refused) == 4


def test_a_headway_that_makes_departures_without_end_is_refused(tmp_path, monkeypatch):
    often = "trip_id,start_time,end_time,headway_secs\nT1,00:00:00,168:00:00,60\n"
    monkeypatch.setattr(gtfs, "MOST_CALLS", 10_080 * 4 + 6)
    assert len(read(folder(tmp_path / "a", TABLES | {"frequencies.txt": often})).feed.slots) == 10_081
    monkeypatch.setattr(gtfs, "MOST_CALLS", 10_080 * 4 + 5)
    assert refused_archive(folder(tmp_path / "b", TABLES | {"frequencies.txt": often})) == [
        ("stop_times.txt", 0, "feed_too_large")]


@pytest.mark.parametrize("agency", [None, "agency_id,agency_name\nD,Viação\n", "agency_name,agency_timezone\nViação,\n",
                                    "agency_name,agency_timezone\n"])
def test_a_feed_that_names_no_zone_takes_the_one_that_is_told(tmp_path, whole, agency):
    tables_ = without("agency.txt") | ({"agency.txt": agency} if agency else {})
    path = folder(tmp_path / "f", tables_)
    assert [row[2] for row in refused_archive(path)] == ["missing_agency"]
    assert read_gtfs(path, zone="America/Sao_Paulo", progress=quiet).feed == whole


def test_a_zone_in_the_feed_goes_before_the_one_that_is_told(tmp_path):
    assert read_gtfs(folder(tmp_path, TABLES), zone="Asia/Tokyo", progress=quiet).feed.zone == "America/Sao_Paulo"


@pytest.mark.parametrize("spoil", [
    lambda raw: raw.replace(b"stops.txt", b"spots.txt", 1),  # the local name is not the listed one
    lambda raw: raw[:60] + bytes(30) + raw[90:],
    lambda raw: raw + b"PK\5\6",
    lambda raw: b"",
    lambda raw: b"PK\5\6" + bytes(18),  # an empty archive
])
def test_a_spoilt_zip_is_refused_and_never_an_error(tmp_path, spoil):
    path = zipped(tmp_path, TABLES)
    path.write_bytes(spoil(path.read_bytes()))
    assert refused_archive(path)
