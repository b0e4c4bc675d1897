"""Opens a folder or a zip that the world sent, and refuses what is not safe to unpack. Nothing is written to disk."""

import re
import stat
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ticketing.imports.tables import Progress, Source, Unreadable, refuse

MOST_BYTES = 500_000_000
MOST_MEMBERS = 1000
MOST_DIRECTORY_BYTES = 500_000
MOST_RATIO = 200  # text tables shrink ten to sixty times
RATIO_COUNTS_FROM = 1_000_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack a whole block before anything can stop them
NESTED = (".zip", ".7z", ".rar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".tar")
UNSAFE = re.compile(r"^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)")
END, END_BYTES, END_64, END_64_BYTES = b"PK\5\6", 22, b"PK\6\7", 20
TAIL_BYTES = END_64_BYTES + END_BYTES + 0xFFFF  # the longest end of a zip, with its comment


@contextmanager
def opened(path: Path, wanted: Collection[str], *, progress: Progress,
           most_bytes: int = MOST_BYTES) -> Iterator[Source]:
    """The wanted tables, at the top or in one inner folder, whatever the case of their names.

    Raises Unreadable for what is unsafe or broken, and for a zip of more than `most_bytes` unpacked.
    """
    if not path.exists():
        raise Unreadable(refuse(path.name, 0, "missing_file"))
    if path.is_dir():
        found = _files(path, wanted)
        members = _wanted(path.name, found, wanted)
        yield Source(members, {name: file.stat().st_size for name, file in found.items()},
                     lambda name: found[name].open("rb"), progress)
        return
    try:
        _check_end(path)
        with zipfile.ZipFile(path) as archive:
            inside = _safe(path.name, archive, most_bytes)
            members = _wanted(path.name, inside, wanted)
            yield Source(members, {name: member.file_size for name, member in inside.items()},
                         lambda name: archive.open(inside[name]), progress)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise Unreadable(refuse(path.name, 0, "unknown_format")) from error


def _files(folder: Path, wanted: Collection[str]) -> dict[str, Path]:
    inside = (*folder.glob("*.*"), *folder.glob("*/*.*"))
    if any(file.is_symlink() for file in inside if file.name.lower() in wanted):
        raise Unreadable(refuse(folder.name, 0, "unsafe_member"))
    return {file.relative_to(folder).as_posix(): file for file in inside if file.is_file()}


def _check_end(path: Path) -> None:
    """Refuse a zip whose list of members would fill the memory while it is read."""
    with path.open("rb") as raw:
        raw.seek(max(0, path.stat().st_size - TAIL_BYTES))
        tail = raw.read(TAIL_BYTES)
    at = tail.rfind(END)
    if at < 0 or len(tail) < at + END_BYTES:
        raise Unreadable(refuse(path.name, 0, "unknown_format"))
    entries, length = (int.from_bytes(tail[at + start:at + end], "little") for start, end in ((10, 12), (12, 16)))
    zip64 = tail[max(0, at - END_64_BYTES):at].startswith(END_64)  # its numbers lie elsewhere, and no network needs it
    if zip64 or entries > MOST_MEMBERS or length > MOST_DIRECTORY_BYTES:
        raise Unreadable(refuse(path.name, 0, "too_many_members"))


def _safe(file: str, archive: zipfile.ZipFile, most_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, once nothing in the archive's own list is against unpacking it."""
    inside: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    total = 0
    for member in archive.infolist():
        name = member.filename.replace("\\", "/")
        total += member.file_size
        fault = _fault(member) or ("duplicate_member" if name.casefold() in seen else None)
        if fault or total > most_bytes:
            raise Unreadable(refuse(file, 0, fault or "archive_too_large"))
        seen.add(name.casefold())
        inside[name] = member
    return inside


def _fault(member: zipfile.ZipInfo) -> str | None:
    checks = {
        "unsafe_member": (UNSAFE.search(member.filename) or "\0" in member.orig_filename
                          or stat.S_ISLNK(member.external_attr >> 16)),
        "nested_archive": member.filename.lower().endswith(NESTED),
        "encrypted_member": member.flag_bits & 1,
        "unknown_compression": member.compress_type not in METHODS,
        "archive_too_large": (member.file_size > RATIO_COUNTS_FROM
                              and member.file_size > MOST_RATIO * member.compress_size),
    }
    return next((code for code, found in checks.items() if found), None)


def _wanted(file: str, members: Iterable[str], wanted: Collection[str]) -> dict[str, str]:
    """The member for each wanted name; what the Mac leaves behind is no second network."""
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    for member in members:
        folder, _, name = member.rpartition("/")
        if name.lower() not in wanted or "__MACOSX" in folder:
            continue
        if name.lower() in folders[folder]:
            raise Unreadable(refuse(file, 0, "duplicate_member"))
        folders[folder][name.lower()] = member
    if len(folders) > 1:
        raise Unreadable(refuse(file, 0, "ambiguous_folder"))
    return next(iter(folders.values()), {})
