"""`flask --app app network late-refund`: the carrier's table for late refunds, judged before it is kept."""

import click
from flask.cli import with_appcontext

from kernel import web
from kernel.commands import OPERATOR
from kernel.errors import InvalidInput
from refunds.windows.policy import read_table
from ticketing.network.settings import Policies, set_policies


@click.command("late-refund")
@click.argument("rows", nargs=-1, metavar="[HORAS:RETENÇÃO]...")
@click.option("--default", "default", is_flag=True, help="Volta à tabela do produto.")
@click.option("--carrier", metavar="CNPJ", help="Quando há mais de uma transportadora.")
@with_appcontext
def late_refund(rows: tuple[str, ...], default: bool, carrier: str | None) -> None:
    """Muda a retenção de quem pede devolução com menos de 12 horas, como `12:0 0:5`; vale para as próximas vendas.

    Horas antes da partida e porcentagem retida, da faixa mais longe à mais perto.
    """
    if default == bool(rows):
        raise InvalidInput("refund_rows_missing", "Diga as faixas, como 12:0 0:5, ou --default.")
    told: list[dict[str, object]] = [_row(row) for row in rows]
    table = read_table(told)
    with web.transaction() as session:
        set_policies(session, carrier, Policies(late_refund=told), now=web.now(), actor=OPERATOR)
    shown = "; ".join(f"até {row.from_hours} h antes retém {row.kept_percent} %" for row in table.rows)
    click.echo(f"Devolução: {shown}; depois disso, nada volta.")


def _row(text: str) -> dict[str, object]:
    hours, _, percent = text.partition(":")
    try:
        return {"from_hours": int(hours), "kept_percent": percent.replace(",", ".").strip()}
    except ValueError as error:
        raise InvalidInput("refund_rows_unreadable", "Escreva cada faixa como horas:retenção, como 12:0.") from error
