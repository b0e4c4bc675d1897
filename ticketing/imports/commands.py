"""`flask --app app network …`: bring a network in from files, register what files do not say, open its trips."""

import json
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Any

import click
from flask.cli import with_appcontext

from kernel import web
from kernel.clock import local_date
from kernel.commands import OPERATOR
from kernel.errors import InvalidInput
from kernel.money import parse_money
from ticketing.imports import service
from ticketing.imports.gtfs import read_gtfs
from ticketing.imports.policy import ReadResult, Refused, period
from ticketing.imports.sections import ZONES, read_sections
from ticketing.imports.tables import Progress
from ticketing.network.models import Line, Stop, Title
from ticketing.network.policy import KINDS
from ticketing.network.service import open_trips
from ticketing.tariffs.policy import COMPONENTS, ROUNDING_STEPS, Component, TariffVersion

LONG_FILE_BYTES = 500_000
TABLES = {"place": "lugares", "stop": "pontos", "line": "linhas", "pattern": "itinerários", "slot": "partidas"}
DAY = click.DateTime(formats=["%Y-%m-%d", "%d/%m/%Y"])
DAYS = click.IntRange(0, 400)


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "kind", type=click.Choice(["gtfs", "sections"]), help="Sem isso, pelo nome do arquivo.")
@click.option("--rehearsal", is_flag=True, help="Para experimentar: datas de hoje, título, tarifa e veículo de ensaio.")
@click.option("--report", type=click.File("w", encoding="utf-8", lazy=False), help="Grava o resultado em JSON.")
@click.option("--days", type=DAYS, help="Abre as viagens destes dias logo depois.")
@click.option("--state", type=click.Choice(list(ZONES)), help="Estado das linhas, quando o arquivo não diz.")
@click.option("--vehicle", metavar="CÓDIGO", help="Veículo das partidas, fora de ensaio.")
@click.option("--carrier", metavar="CNPJ", help="Quando há mais de uma transportadora.")
@with_appcontext
def import_command(path: Path, kind: str | None, rehearsal: bool, report: IO[str] | None, days: int | None,
                   state: str | None, vehicle: str | None, carrier: str | None) -> None:
    """Importa um GTFS (pasta ou zip) ou uma tabela de seções (CSV). O que não serve é recusado linha a linha."""
    now = web.now()
    with _progress() as progress:
        result = _read(path, kind or _kind_of(path), state, progress)
    loaded, opened = None, None
    if result.feed.patterns:
        with web.transaction() as session:
            loaded = service.bring_in(session, result.feed, service.Choice(
                path.resolve().stem, rehearsal, state, vehicle, carrier), now=now, actor=OPERATOR)
            opened = open_trips(session, days=days, now=now, actor=OPERATOR) if days is not None else None
    if report:
        json.dump(_report(path, rehearsal, loaded, result.refused, opened), report, ensure_ascii=False, indent=1)
    _tell_refused(result.refused, report is not None)
    if loaded is None:
        raise InvalidInput("nothing_imported", "Nada foi importado.")
    _tell_loaded(loaded, opened)
    bounds = period(result.feed)
    if bounds and not rehearsal and bounds[1] < local_date(now, result.feed.zone):
        click.echo(f"O quadro de horários terminou em {bounds[1]:%d/%m/%Y}: nenhuma viagem abre.")


@click.command("open-trips")
@click.option("--days", type=DAYS, help="Quantos dias à frente; sem isso, os da transportadora.")
@with_appcontext
def open_trips_command(days: int | None) -> None:
    """Abre as viagens do quadro de horários, de hoje em diante; as que já existem ficam."""
    with web.transaction() as session:
        opened = open_trips(session, days=days, now=web.now(), actor=OPERATOR)
    click.echo(f"{opened} viagens abertas.")


@click.command("carrier")
@click.argument("name")
@click.option("--cnpj", required=True, help="14 dígitos.")
@with_appcontext
def carrier_command(name: str, cnpj: str) -> None:
    """Cadastra a transportadora."""
    with web.transaction() as session:
        service.add_carrier(session, name, cnpj, now=web.now(), actor=OPERATOR)
    click.echo(f"{name} cadastrada.")


@click.command("vehicle")
@click.argument("code")
@click.option("--seats", required=True, type=click.IntRange(1, 200), help="Poltronas, em fileiras de 2 + 2.")
@click.option("--standing", default=0, type=click.IntRange(0, 55), help="Lugares em pé, onde a linha permite.")
@click.option("--plate", help="Placa.")
@with_appcontext
def vehicle_command(code: str, seats: int, standing: int, plate: str | None) -> None:
    """Cadastra um veículo."""
    with web.transaction() as session:
        service.add_vehicle(session, code, plate, f"{seats} poltronas", service.two_and_two(seats), standing)
    click.echo(f"Veículo {code} cadastrado.")


@click.command("title")
@click.argument("line")
@click.option("--kind", required=True, type=click.Choice(list(KINDS)), help="Espécie do título.")
@click.option("--act", required=True, help="Número do ato.")
@click.option("--from", "start", required=True, type=DAY, help="Primeiro dia.")
@click.option("--until", required=True, type=DAY, help="Último dia.")
@click.option("--renewal", is_flag=True, help="O prazo inclui a prorrogação, ou sucede outro título igual.")
@with_appcontext
def title_command(line: str, kind: str, act: str, start: datetime, until: datetime, renewal: bool) -> None:
    """Registra o ato que autoriza uma linha, dentro do prazo máximo da lei."""
    title = Title(kind=kind, act=act[:80], valid_from=start.date(), valid_until=until.date())
    with web.transaction() as session:
        service.add_title(session, service.find_by_code(session, Line, line), title, renewal=renewal, now=web.now(),
                          actor=OPERATOR)
    click.echo(f"Linha {line}: título de {start:%d/%m/%Y} a {until:%d/%m/%Y}.")


@click.command("tariff")
@click.argument("line")
@click.option("--act", required=True, help="Ato que fixou a tarifa.")
@click.option("--from", "start", required=True, type=DAY, help="Primeiro dia.")
@click.option("--asphalt", required=True, help="Reais por km em asfalto.")
@click.option("--earth", help="Reais por km em terra; sem isso, o mesmo.")
@click.option("--minimum", default="0", help="Tarifa mínima em reais.")
@click.option("--rounding", default="cent", type=click.Choice(list(ROUNDING_STEPS)), help="Arredondamento.")
@click.option("--component", "components", multiple=True, nargs=3, metavar="ESPÉCIE REAIS PONTO",
              help=f"{', '.join(COMPONENTS)}; ponto '-' vale para todos.")
@with_appcontext
def tariff_command(line: str, act: str, start: datetime, asphalt: str, earth: str | None, minimum: str, rounding: str,
                   components: tuple[tuple[str, str, str], ...]) -> None:
    """Registra uma versão da tarifa de uma linha; nenhuma versão muda depois."""
    with web.transaction() as session:
        parts = tuple(Component(kind, _money(reais), None if stop == "-" else service.find_by_code(
            session, Stop, stop).id) for kind, reais, stop in components)
        version = TariffVersion(0, act[:120], start.date(), "coefficient", _reais(asphalt), _reais(earth or asphalt),
                                _money(minimum), rounding, parts)
        service.add_version(session, service.find_by_code(session, Line, line), version, now=web.now(), actor=OPERATOR)
    click.echo(f"Linha {line}: tarifa a partir de {start:%d/%m/%Y}.")


COMMANDS = (import_command, open_trips_command, carrier_command, vehicle_command, title_command, tariff_command)


def _kind_of(path: Path) -> str:
    if path.suffix.lower() in (".csv", ".txt"):
        return "sections"
    if not path.exists() or path.is_dir() or path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        return "gtfs"
    raise InvalidInput("unknown_format", "Não é pasta, zip nem CSV. Diga o formato com --format gtfs ou sections.")


def _read(path: Path, kind: str, state: str | None, progress: Progress) -> ReadResult:
    if kind == "gtfs":
        return read_gtfs(path, progress=progress)
    return read_sections(path, zone=ZONES[state or "SC"], progress=progress)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on the terminal, once a file turns out to be long."""
    bars: list[Any] = []

    def show(done: int, total: int) -> None:
        if total < LONG_FILE_BYTES:
            return
        if not bars:
            bar = click.progressbar(length=total, label="Lendo", file=sys.stderr, hidden=not sys.stderr.isatty())
            bars.append(bar.__enter__())
        bars[0].update(done - bars[0].pos)
    try:
        yield show
    finally:
        for shown in bars:
            shown.__exit__(None, None, None)


def _report(path: Path, rehearsal: bool, loaded: service.Loaded | None, refused: tuple[Refused, ...],
            opened: int | None) -> dict[str, object]:
    return {"file": path.name, "rehearsal": rehearsal, "imported": loaded.new if loaded else {},
            "changed": loaded.changed if loaded else {}, "trips_opened": opened,
            "refused": [{"file": row.file, "line": row.line, "code": row.code, "reason": row.reason}
                        for row in refused]}


def _tell_refused(refused: tuple[Refused, ...], reported: bool) -> None:
    first = {row.code: row for row in reversed(refused)}
    for code, number in Counter(row.code for row in refused).most_common():
        row = first[code]
        where = f"{row.file}, linha {row.line}" if row.line else row.file
        click.echo(f"Recusado {number} x {code} (o primeiro em {where}): {row.reason}", err=True)
    if len(refused) > len(first) and not reported:
        click.echo("Para ver cada linha recusada, use --report ARQUIVO.json.", err=True)


def _tell_loaded(loaded: service.Loaded, opened: int | None) -> None:
    click.echo(f"{'':<12}{'entraram':>10}{'mudaram':>10}")
    for table, name in TABLES.items():
        if table in loaded.new:
            click.echo(f"{name:<12}{loaded.new[table]:>10}{loaded.changed[table]:>10}")
    if opened is not None:
        click.echo(f"{opened} viagens abertas.")


def _reais(text: str) -> Decimal:
    try:
        return Decimal(text.replace(",", "."))
    except InvalidOperation as error:
        raise InvalidInput("not_a_number", f"{text[:20]} não é um número de reais por km.") from error


def _money(text: str) -> Any:
    try:
        return parse_money(text)
    except ValueError as error:
        raise InvalidInput("not_money", f"{text[:20]} não é um valor em reais.") from error
