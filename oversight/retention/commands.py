"""`flask --app app retention …`: erasing what is due, legal holds, and where things stand."""

from datetime import datetime

import click
from flask.cli import with_appcontext

from kernel.commands import OPERATOR, Group
from kernel.vault import LONGEST_STEP_DAYS
from kernel.web import database, now, vault
from oversight.retention import service

retention = Group("retention", help="Guarda de 365 dias, apagamento e guardas legais.")


@retention.command("run")
@click.option("--days", default=LONGEST_STEP_DAYS, show_default=True, type=click.IntRange(1, 4000),
              help="Quantos dias, no máximo, podem ser apagados de uma vez.")
@with_appcontext
def run(days: int) -> None:
    """Apaga as identidades cujo prazo terminou. Repetir não muda nada."""
    _check()
    erased = service.run(database(), vault(), days_limit=days, now=now(), actor=OPERATOR)
    click.echo(f"Dias apagados: {erased.days}. Identidades apagadas: {erased.identities}. "
               f"Guardas encerradas: {erased.holds_ended}. Guardado desde {erased.owed_from:%d/%m/%Y}.")


@retention.command("hold")
@click.argument("trip_id", type=int)
@click.option("--reason", required=True, help="Número do processo ou do ofício, sem nomes de pessoas.")
@click.option("--until", required=True, type=click.DateTime(["%Y-%m-%d", "%d/%m/%Y"]), help="Último dia da guarda.")
@with_appcontext
def hold(trip_id: int, reason: str, until: datetime) -> None:
    """Guarda as identidades de uma viagem além do prazo."""
    _check()
    code = service.place_hold(database(), vault(), trip_id, reason, until.date(), now=now(), actor=OPERATOR)
    click.echo(f"Guarda legal {code} em vigor até {until:%d/%m/%Y}.")


@retention.command("release")
@click.argument("code")
@with_appcontext
def release(code: str) -> None:
    """Encerra uma guarda legal: o que passou do prazo é apagado."""
    _check()
    released = service.release_hold(database(), vault(), code, now=now(), actor=OPERATOR)
    click.echo(f"Guarda encerrada. Identidades de volta ao seu prazo: {released.kept}. Apagadas: {released.erased}.")


@retention.command("status")
@with_appcontext
def status() -> None:
    """Mostra o que está guardado, o que está atrasado e as guardas legais."""
    told = service.status(database(), vault(), now=now())
    click.echo(f"Guardado desde {told.owed_from:%d/%m/%Y}; dias por apagar: {told.days_behind}.")
    click.echo(f"Identidades guardadas: {told.identities}, com prazo vencido por limpar: {told.overdue}.")
    for one in told.holds:
        click.echo(f"Guarda legal {one.code}: viagem {one.trip_id}, até {one.ends_on:%d/%m/%Y} ({one.reason}).")


def _check() -> None:
    service.check_vault(database(), vault())
