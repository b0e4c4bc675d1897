"""`flask --app app network …`: bring a network in from files, register what files do not say, open its trips."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Any

import click
from flask.cli import with_appcontext
from sqlalchemy.orm import Session

from kernel import web
from kernel.commands import OPERATOR
from kernel.errors import InvalidInput
from kernel.money import parse_money
from ticketing.imports import fares, intake, service
from ticketing.imports.changes import KINDS as KINDS_OF_CHANGE
from ticketing.imports.changes import Change
from ticketing.imports.policy import Refused
from ticketing.imports.sections import ZONES
from ticketing.imports.tables import Progress
from ticketing.network.commands import COMMANDS as SETTINGS
from ticketing.network.models import Line, Stop, Title
from ticketing.network.policy import KINDS
from ticketing.network.service import open_trips
from ticketing.tariffs.policy import COMPONENTS, ROUNDING_STEPS, Component, TariffVersion

LONG_FILE_BYTES = 500_000
TABLES = {"place": "lugares", "stop": "pontos", "line": "linhas", "pattern": "itinerários", "slot": "partidas"}
DAY = click.DateTime(formats=["%Y-%m-%d", "%d/%m/%Y"])
DAYS = click.IntRange(0, 400)
REPORT = click.File("w", encoding="utf-8", lazy=False)
COMPONENT_HELP = f"{', '.join(COMPONENTS)}; ponto '-' vale para todos."
MOST_TOLD = 20


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "kind", type=click.Choice(list(intake.KINDS)), help="Sem isso, pelo nome e pelos títulos.")
@click.option("--rehearsal", is_flag=True, help="Para experimentar: datas de hoje, título, tarifa e veículo de ensaio.")
@click.option("--report", type=REPORT, help="Grava o resultado em JSON.")
@click.option("--days", type=DAYS, help="Abre as viagens destes dias logo depois.")
@click.option("--state", type=click.Choice(list(ZONES)), help="Estado das linhas, quando o arquivo não diz.")
@click.option("--zone", metavar="IANA", help="Fuso dos horários, quando o arquivo não diz.")
@click.option("--vehicle", metavar="CÓDIGO", help="Veículo das partidas, fora de ensaio.")
@click.option("--carrier", metavar="CNPJ", help="Quando há mais de uma transportadora.")
@click.option("--act", default="", help="Ato que fixou as tarifas de uma matriz.")
@click.option("--starts-on", type=DAY, help="Primeiro dia das tarifas de uma matriz.")
@with_appcontext
def import_command(path: Path, kind: str | None, rehearsal: bool, report: IO[str] | None, days: int | None,
                   state: str | None, zone: str | None, vehicle: str | None, carrier: str | None, act: str,
                   starts_on: datetime | None) -> None:
    """Importa um GTFS (pasta ou zip), uma tabela de seções ou uma matriz de tarifas (CSV).

    O que não serve é recusado linha a linha.
    """
    choice = service.Choice(path.resolve().stem, rehearsal, state, vehicle, carrier, zone)
    _import(path, kind or intake.kind_of(path), choice, lambda _: fares.Act(act, starts_on and starts_on.date()),
            report=report, days=days)


@click.command("fares")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--line", metavar="CÓDIGO", help="A linha daqui, quando o arquivo lhe dá outro código.")
@click.option("--act", default="", help="Ato que fixou as tarifas.")
@click.option("--starts-on", type=DAY, help="Primeiro dia.")
@click.option("--both-ways", is_flag=True, help="A volta custa o mesmo.")
@click.option("--component", "components", multiple=True, nargs=3, metavar="ESPÉCIE REAIS PONTO", help=COMPONENT_HELP)
@click.option("--rehearsal", is_flag=True, help="Para experimentar; cria a linha se ela não existe.")
@click.option("--report", type=REPORT, help="Grava o resultado em JSON.")
@with_appcontext
def fares_command(path: Path, line: str | None, act: str, starts_on: datetime | None, both_ways: bool,
                  components: tuple[tuple[str, str, str], ...], rehearsal: bool, report: IO[str] | None) -> None:
    """Registra uma matriz de tarifas (CSV) como tarifa por seções; o par não vendido continua sem venda."""
    _import(path, "fares", service.Choice(path.resolve().stem, rehearsal), lambda session: fares.Act(
        act, starts_on and starts_on.date(), line, both_ways, _components(session, components)), report=report)


@click.command("road")
@click.argument("line")
@click.argument("start", metavar="DE")
@click.argument("end", metavar="ATÉ")
@click.argument("road", type=click.Choice(["asphalt", "earth"]))
@with_appcontext
def road_command(line: str, start: str, end: str, road: str) -> None:
    """Diz se a estrada entre dois pontos de uma linha (nos dois sentidos) é de asfalto ou de terra."""
    with web.transaction() as session:
        legs, changes = service.set_road(session, line, start, end, road, now=web.now(), actor=OPERATOR)
    click.echo(f"Linha {line}: {legs} trechos de {'terra' if road == 'earth' else 'asfalto'}.")
    _tell_changes(changes)


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
              help=COMPONENT_HELP)
@with_appcontext
def tariff_command(line: str, act: str, start: datetime, asphalt: str, earth: str | None, minimum: str, rounding: str,
                   components: tuple[tuple[str, str, str], ...]) -> None:
    """Registra uma versão da tarifa de uma linha; nenhuma versão muda depois."""
    with web.transaction() as session:
        parts = _components(session, components)
        version = TariffVersion(0, act[:120], start.date(), "coefficient", _reais(asphalt), _reais(earth or asphalt),
                                _money(minimum), rounding, parts)
        service.add_version(session, service.find_by_code(session, Line, line), version, now=web.now(), actor=OPERATOR)
    click.echo(f"Linha {line}: tarifa a partir de {start:%d/%m/%Y}.")


COMMANDS = (import_command, fares_command, open_trips_command, carrier_command, vehicle_command, title_command,
            tariff_command, road_command, *SETTINGS)


def _import(path: Path, kind: str, choice: service.Choice, act: Callable[[Session], fares.Act], *,
            report: IO[str] | None, days: int | None = None) -> None:
    now = web.now()
    with _progress() as progress:
        taken = intake.take(path, kind, state=choice.state, zone=choice.zone, progress=progress)
    brought = None
    if taken.anything:
        with web.transaction() as session:
            brought = intake.bring(session, taken, choice, act(session), days=days, now=now, actor=OPERATOR)
    if report:
        told = intake.report(path.name, choice.rehearsal, taken.refused, brought)
        json.dump(told, report, ensure_ascii=False, indent=1)
    _tell_refused(taken.refused, report is not None)
    if brought is None:
        raise InvalidInput("nothing_imported", "Nada foi importado.")
    _tell_brought(brought)


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


def _tell_refused(refused: tuple[Refused, ...], reported: bool) -> None:
    first = {row.code: row for row in reversed(refused)}
    for code, number in Counter(row.code for row in refused).most_common():
        row = first[code]
        where = f"{row.file}, linha {row.line}" if row.line else row.file
        click.echo(f"Recusado {number} x {code} (o primeiro em {where}): {row.reason}", err=True)
    if len(refused) > len(first) and not reported:
        click.echo("Para ver cada linha recusada, use --report ARQUIVO.json.", err=True)


def _tell_brought(brought: intake.Brought) -> None:
    if brought.loaded:
        click.echo(f"{'':<12}{'entraram':>10}{'mudaram':>10}")
        for table, name in TABLES.items():
            if table in brought.loaded.new:
                click.echo(f"{name:<12}{brought.loaded.new[table]:>10}{brought.loaded.changed[table]:>10}")
    for priced in brought.priced:
        click.echo(f"Linha {priced.line}: {priced.sold} pares à venda, {priced.unsold} sem venda, {priced.missing} "
                   f"fora da tabela{'' if priced.new else '; a tarifa já estava registrada'}.")
    _tell_changes(brought.changes)
    if brought.opened is not None:
        click.echo(f"{brought.opened} viagens abertas.")
    if brought.ended:
        click.echo(f"O quadro de horários terminou em {brought.ended:%d/%m/%Y}: nenhuma viagem abre.")


def _tell_changes(changes: Sequence[Change]) -> None:
    if not changes:
        return
    kept = [(change, trip) for change in changes for trip in change.kept]
    click.echo(f"{len(changes)} partidas mudaram: {sum(change.retimed for change in changes)} viagens abertas "
               f"seguiram, {sum(change.withdrawn for change in changes)} saíram, {len(kept)} ficaram como estavam.")
    for change, trip in kept[:MOST_TOLD]:
        click.echo(f"  Decida: linha {change.line}, partida {change.slot}, {trip.day:%d/%m/%Y} (viagem {trip.trip}), "
                   f"{len(trip.tickets)} passagens; mudou: {', '.join(KINDS_OF_CHANGE[kind] for kind in change.what)}.")
    if len(kept) > MOST_TOLD:
        click.echo(f"  … e mais {len(kept) - MOST_TOLD}; use --report ARQUIVO.json para ver todas.")


def _components(session: Session, told: tuple[tuple[str, str, str], ...]) -> tuple[Component, ...]:
    return tuple(Component(kind, _money(reais), None if stop == "-" else service.find_by_code(session, Stop, stop).id)
                 for kind, reais, stop in told)


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
