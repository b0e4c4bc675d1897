"""`flask --app app network …`: bring a network in from files, register what files do not say, open its trips."""
import click
from flask import current_app
from flask.cli import with_appcontext

from kernel import web
from ticketing.network.service import open_trips


@click.command("open-trips")
@click.option("--days", type=click.IntRange(0, 400), help="Quantos dias à frente; sem isso, os da transportadora.")
@with_appcontext
def open_trips_command(days: int | None) -> None:
    """Abre as viagens do quadro de horários, de hoje em diante; as que já existem ficam."""
    with web.transaction() as session:
        opened = open_trips(session, days=days, now=current_app.extensions["clock"](), actor="operator")
    click.echo(f"{opened} viagens abertas.")


COMMANDS = (open_trips_command,)
