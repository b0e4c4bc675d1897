"""`flask --app app network line | policies`: what a person decides about a line and a carrier."""

import click
from flask.cli import with_appcontext

from kernel import web
from kernel.commands import OPERATOR
from ticketing.network import settings
from ticketing.network.policy import BASES, MOST_HOLD_MINUTES, MOST_OPEN_DAYS, MOST_VOID_MINUTES, SERVICE_CLASSES


@click.command("line")
@click.argument("code")
@click.option("--class", "service_class", type=click.Choice(list(SERVICE_CLASSES)), help="Classe do serviço.")
@click.option("--standing/--no-standing", default=None, help="Se vende lugar em pé, onde o veículo tem.")
@click.option("--urban/--no-urban", default=None, help="Se tem características de linha urbana.")
@with_appcontext
def line_command(code: str, service_class: str | None, standing: bool | None, urban: bool | None) -> None:
    """Muda o que uma linha permite."""
    with web.transaction() as session:
        line = settings.set_line(session, code, settings.LineSettings(service_class, standing, urban), now=web.now(),
                                 actor=OPERATOR)
        click.echo(f"Linha {line.code}: {line.service_class}, {'com' if line.standing_allowed else 'sem'} lugar em pé"
                   f"{', de características urbanas' if line.urban_like else ''}.")


@click.command("policies")
@click.option("--carrier", metavar="CNPJ", help="Quando há mais de uma transportadora.")
@click.option("--identity-basis", type=click.Choice(list(BASES)),
              help="O que conta os 100 km: a viagem inteira ou o trecho do passageiro.")
@click.option("--void-minutes", type=click.IntRange(0, MOST_VOID_MINUTES), help="Prazo para cancelar venda errada.")
@click.option("--hold-minutes", type=click.IntRange(1, MOST_HOLD_MINUTES), help="Tempo da reserva de poltrona.")
@click.option("--open-days", type=click.IntRange(0, MOST_OPEN_DAYS), help="Quantos dias à frente abrem as viagens.")
@with_appcontext
def policies_command(carrier: str | None, identity_basis: str | None, void_minutes: int | None,
                     hold_minutes: int | None, open_days: int | None) -> None:
    """Muda as políticas da transportadora; valem para o que se vender daqui em diante."""
    with web.transaction() as session:
        row = settings.set_policies(session, carrier, settings.Policies(
            identity_basis, void_minutes, hold_minutes, open_days), now=web.now(), actor=OPERATOR)
        click.echo(f"{row.name}: identidade pelo {BASES[row.identity_basis]}, cancelamento até {row.void_minutes} min, "
                   f"reserva de {row.hold_minutes} min, viagens abertas {row.open_days} dias à frente.")


COMMANDS = (line_command, policies_command)
