"""What all incoming tables share: encoding, header, rows, limits, and the words for a refused row.

Nothing here knows a column. A row of the wrong shape is handed on with its fault, because only the reader of that
table can tell which trip or line falls with it.
"""

import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ticketing.imports.policy import Refused

REASONS = {
    # the file
    "missing_file": "O arquivo não foi encontrado; inclua-o e importe de novo.",
    "empty_file": "O arquivo está vazio; exporte-o de novo com a linha de títulos.",
    "missing_columns": "Falta a coluna {columns}; confira a linha de títulos.",
    "duplicate_column": "A coluna {column} aparece duas vezes; deixe só uma.",
    "malformed_csv": "As aspas ou os campos não fecham a partir desta linha; exporte o arquivo de novo.",
    "unreadable_encoding": "Há caracteres que não são UTF-8 nem Latin-1 por inteiro; salve o arquivo em UTF-8.",
    "unknown_format": "Não é uma pasta nem um zip que se possa ler; envie a pasta ou o zip com os arquivos .txt.",
    "ambiguous_folder": "Há mais de uma rede no mesmo zip ou pasta; envie uma por vez.",
    "unsafe_member": "O zip traz um nome que sai da pasta; refaça o zip só com os arquivos .txt.",
    "duplicate_member": "O zip traz o mesmo arquivo duas vezes; refaça o zip.",
    "archive_too_large": "O conteúdo do zip é grande demais para o limite de segurança; divida a rede.",
    "too_many_members": "O zip traz arquivos demais; refaça-o só com os arquivos .txt.",
    "nested_archive": "O zip traz outro arquivo compactado dentro; envie os arquivos .txt direto no zip.",
    "unknown_compression": "O zip foi feito com uma compressão que não se aceita; refaça-o com a compressão comum.",
    "encrypted_member": "O zip tem senha; envie-o sem senha.",
    "missing_agency": "Falta agency.txt com o fuso dos horários; inclua-o, ou diga o estado das linhas ou o fuso.",
    "long_line": "Há uma linha longa demais para uma tabela; exporte o arquivo de novo.",
    "too_many_titles": "Há títulos demais na primeira linha; exporte só as colunas da tabela.",
    "too_many_refused": "Há linhas recusadas demais; corrija as primeiras e importe de novo.",
    "feed_too_large": "O quadro de horários é grande demais para uma só importação; divida a rede.",
    # any row
    "blank_line": "Linha em branco no meio do arquivo; apague-a.",
    "too_many_columns": "Há mais colunas que títulos; ponha entre aspas os textos com vírgula.",
    "missing_value": "Falta o valor de {column}.",
    "too_long": "O texto de {column} é longo demais; use até {most} caracteres.",
    "duplicate_id": "{column} {value} já apareceu antes; use um código para cada um.",
    # GTFS rows
    "unknown_zone": "{value} não é um fuso horário da lista IANA; use, por exemplo, America/Sao_Paulo.",
    "mixed_zones": "As empresas do arquivo têm fusos diferentes; use um só em agency_timezone.",
    "bad_coordinates": "Latitude e longitude não formam um lugar; use graus decimais, como -27.5949.",
    "bad_number": "{column} deve ser um número inteiro, não {value}.",
    "bad_time": "{value} não é um horário; use HH:MM:SS (pode passar de 24:00:00).",
    "bad_date": "{value} não é uma data; use AAAAMMDD.",
    "bad_weekday": "Os dias da semana devem ser 0 ou 1.",
    "bad_exception": "exception_type deve ser 1 (circula) ou 2 (não circula).",
    "end_before_start": "O fim vem antes do início; corrija as datas ou horas.",
    "unknown_stop": "O ponto {value} não existe ou foi recusado em stops.txt.",
    "not_a_boarding_stop": "{value} é estação ou acesso, não ponto de embarque; use um ponto com location_type 0.",
    "unknown_line": "A linha {value} não existe ou foi recusada em routes.txt.",
    "unknown_trip": "A viagem {value} não existe em trips.txt.",
    "unknown_service": "O calendário {value} não existe em calendar.txt nem em calendar_dates.txt.",
    "service_refused": "O calendário {value} tem linha recusada; a viagem só entra com ele inteiro.",
    "service_never_runs": "O calendário {value} não tem nenhum dia de circulação.",
    "duplicate_sequence": "A ordem da parada já foi usada nesta viagem; numere cada parada uma vez.",
    "decreasing_times": "O horário volta atrás em relação à parada anterior; depois da meia-noite siga com 24:00:00.",
    "headway_too_short": "O intervalo de {value} s é curto demais; use ao menos 60 segundos.",
    "too_few_calls": "A viagem precisa de ao menos duas paradas.",
    "untimed_ends": "A primeira e a última parada precisam de horário.",
    "trip_has_refused_row": "A viagem {value} tem linha recusada; ela só entra inteira.",
    # section rows
    "bad_km": "{value} não é uma distância em km; use, por exemplo, 62 ou 62,5.",
    "km_not_positive": "A distância deve ser maior que zero.",
    "km_too_precise": "A distância {value} tem mais de três decimais; arredonde para metros.",
    "bad_state": "{value} não é um estado; use a sigla de duas letras, como SC.",
    "same_ends": "Origem e destino são o mesmo ponto.",
    "duplicate_pair": "O par já apareceu com {km} km; deixe uma só distância (de um só ano).",
    "inconsistent_km": "As outras seções somam {km} km para este par; corrija a que estiver errada.",
    "unordered_pair": "O par está no sentido contrário ao da linha; separe a volta na coluna sentido.",
    "same_place": "As outras seções põem os dois pontos no mesmo quilômetro; corrija as distâncias.",
    "disconnected_pair": "O par não se liga às outras seções da linha; inclua a seção que falta.",
    "line_has_refused_row": "A linha {value} tem seção recusada; ela só entra inteira.",
    # rows of a fare matrix
    "bad_fare": "{value} não é uma tarifa; use reais com até duas casas, como 13,42.",
    "bad_sold": "A coluna vendavel deve ser 1 (vende) ou 0 (não vende).",
    "fare_of_unsold": "O par não é vendido, mas traz tarifa; deixe só um dos dois.",
    "unordered_fare": "O destino deve vir depois da origem na ordem da linha; separe a volta em outro arquivo.",
    "order_of_another": "A ordem {value} já é de outro lugar nesta linha; dê a cada lugar a sua ordem.",
    "repeated_place": "{value} já aparece com outra ordem nesta linha; dê a cada lugar um nome.",
    "duplicate_fare": "O par já apareceu com outra tarifa; deixe só uma.",
    "nothing_sold": "A tabela da linha {value} não vende nenhum par; confira a coluna vendavel.",
}

ROWS_A_TICK = 1000
MOST_LINE_BYTES = 1_000_000
MOST_COLUMNS = 200
MOST_LINES_A_ROW = 1000  # a quoted text may run over lines, but not through the file
MOST_REFUSED = 20_000
Cells = Mapping[str, str]
Progress = Callable[[int, int], None]  # bytes read so far, bytes in all


@dataclass(frozen=True, slots=True)
class Row:
    """One row by column name; with a `fault` the cells only serve to tell whose row it was."""

    line: int
    cells: Cells
    fault: str | None = None


class BadRow(Exception):
    """A row that is refused, with its code and what the sentence names."""

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.code = code
        self.values = values


class Unreadable(Exception):
    """A file or archive of which nothing can be taken; carries its one refusal."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.code)
        self.refused = refused


def refuse(file: str, line: int, code: str, **values: object) -> Refused:
    """The refusal with its sentence; values from the file are cut at 60 characters, none of which moves a terminal."""
    shown = {key: "".join(c if c.isprintable() else "?" for c in f"{value!s:.60}") for key, value in values.items()}
    return Refused(file, line, code, REASONS[code].format(**shown))


class Refusals(list[Refused]):
    """The refused rows of a file so far. Raises Unreadable once nobody would read them to the end."""

    def add(self, file: str, line: int, code: str, **values: object) -> None:
        if len(self) >= MOST_REFUSED:
            raise Unreadable(refuse(file, line, "too_many_refused"))
        self.append(refuse(file, line, code, **values))


def tidy(text: str) -> str:
    """A name with composed accents and single spaces, as it is shown and compared."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def bounded(raw: IO[bytes], file: str) -> Iterator[bytes]:
    """The lines of a file. Raises Unreadable for one that no table has, before it fills the memory."""
    number = 0
    while line := raw.readline(MOST_LINE_BYTES):
        number += 1
        if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
            raise Unreadable(refuse(file, number, "long_line"))
        yield line


def encoding_of(lines: Iterable[bytes], file: str) -> str:
    """`utf-8-sig`, or `cp1252` when nothing in the whole file speaks for UTF-8; never a mix of both.

    Raises Unreadable for a mixed, binary or UTF-16 file, naming the line of its first bad byte.
    """
    bad, seen_utf8, legacy = 0, False, True
    for number, raw in enumerate(lines, start=1):
        if raw.isascii() and b"\0" not in raw:
            continue
        if _decodes(raw, "utf-8"):
            seen_utf8 = True
        else:
            bad = bad or number
            legacy = legacy and _decodes(raw, "cp1252")
    if bad and (seen_utf8 or not legacy):
        raise Unreadable(refuse(file, bad, "unreadable_encoding"))
    return "cp1252" if bad else "utf-8-sig"


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        return "\0" not in raw.decode(encoding)
    except UnicodeDecodeError:
        return False


def rows(lines: Iterable[str], file: str, *, needs: Iterable[str], delimiter: str,
         rename: Mapping[str, str]) -> Iterator[Row]:
    """Each data row by column name, with the line on which it starts; blank lines at the very end are no rows.

    Raises Unreadable when there is no header, a column is missing or named twice, or the quotes cannot be followed.
    """
    since = _LinesOfARow(lines)
    reader = csv.reader(since, delimiter=delimiter, strict=True)
    blank: list[Row] = []
    start = 1
    try:
        names = _header(next(reader, []), file, needs, rename)
        start = reader.line_num + 1
        for cells in reader:
            row = _row(start, names, [cell.strip() for cell in cells])
            start, since.number = reader.line_num + 1, 0
            if row.fault == "blank_line":
                blank.append(row)
                continue
            yield from blank
            blank.clear()
            yield row
    except csv.Error as error:
        raise Unreadable(refuse(file, start, "malformed_csv")) from error


class _LinesOfARow:
    """The lines handed on to the reader of rows, and how many since the last whole row."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number += 1
        if self.number > MOST_LINES_A_ROW:
            raise csv.Error("a row without an end")
        return next(self._lines)


def _header(cells: list[str], file: str, needs: Iterable[str], rename: Mapping[str, str]) -> list[str]:
    names = [rename.get(name, name) for name in (tidy(cell).lower() for cell in cells)]
    if not any(names):
        raise Unreadable(refuse(file, 1, "empty_file"))
    if len(names) > MOST_COLUMNS:
        raise Unreadable(refuse(file, 1, "too_many_titles"))
    if twice := [name for name, times in Counter(filter(None, names)).items() if times > 1]:
        raise Unreadable(refuse(file, 1, "duplicate_column", column=twice[0]))
    if missing := sorted(set(needs) - set(names)):
        raise Unreadable(refuse(file, 1, "missing_columns", columns=", ".join(missing)))
    return names


def _row(line: int, names: list[str], cells: list[str]) -> Row:
    if not any(cells):
        return Row(line, {}, "blank_line")
    padded = cells + [""] * (len(names) - len(cells))  # a row may stop before its last, optional columns
    fault = "too_many_columns" if any(cells[len(names):]) else None
    return Row(line, dict(zip(names, padded, strict=False)), fault)


class Source:
    """The wanted tables of one folder or zip: `sizes` by name in bytes, and their rows."""

    def __init__(self, members: Mapping[str, str], sizes: Mapping[str, int], open_member: Callable[[str], IO[bytes]],
                 progress: Progress) -> None:
        self.sizes = {name: sizes[member] for name, member in members.items()}
        self._open: Callable[[str], IO[bytes]] = lambda name: open_member(members[name])
        self._progress = progress
        self._done = 0

    def rows(self, name: str, *, needs: Iterable[str] = (), delimiter: str = ",",
             rename: Mapping[str, str] | None = None) -> Iterator[Row]:
        """The rows of one table as `rows` gives them; the whole file is looked at first to know its encoding."""
        with self._open(name) as raw:
            encoding = encoding_of(bounded(raw, name), name)
        with self._open(name) as raw, io.TextIOWrapper(raw, encoding, newline="") as lines:
            for number, row in enumerate(rows(lines, name, needs=needs, delimiter=delimiter, rename=rename or {})):
                if number % ROWS_A_TICK == 0:
                    self._progress(self._done + raw.tell(), sum(self.sizes.values()))
                yield row
        self._done += self.sizes[name]
        self._progress(self._done, sum(self.sizes.values()))


def table_file(path: Path, *, needs: Iterable[str], rename: Mapping[str, str], progress: Progress) -> Iterator[Row]:
    """The rows of a CSV file of its own, with commas or semicolons. Raises Unreadable."""
    if not path.is_file():
        raise Unreadable(refuse(path.name, 0, "missing_file"))
    with path.open("rb") as raw:
        titles = raw.readline(MOST_LINE_BYTES)
    delimiter = ";" if titles.count(b";") > titles.count(b",") else ","
    source = Source({path.name: path.name}, {path.name: path.stat().st_size}, lambda _: path.open("rb"), progress)
    return source.rows(path.name, needs=needs, delimiter=delimiter, rename=rename)
