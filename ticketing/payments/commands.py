"""`flask --app app pix …`: the address that the bank calls, and asking the bank now."""

from urllib.parse import urlsplit

import click
from flask import current_app
from flask.cli import with_appcontext

from kernel.errors import Conflict, InvalidInput
from ticketing.payments.bankapi import BankApi
from ticketing.payments.desk import Desk
from ticketing.payments.port import BankError, BankRefused


def _desk() -> Desk:
    desk: Desk | None = current_app.extensions["pix_desk"]
    if desk is None:
        raise Conflict("no_pix", "Nenhum PIX está configurado. Defina PIX_PROVIDER.")
    return desk


def _bank() -> BankApi:
    bank = _desk().bank
    if not isinstance(bank, BankApi):
        raise Conflict("no_bank", "Só um banco com API Pix chama de volta. Defina PIX_PROVIDER=bank.")
    return bank


@click.command("webhook")
@click.argument("url", required=False)
@with_appcontext
def webhook(url: str | None) -> None:
    """Mostra o endereço que o banco chama, ou registra URL (o banco chama URL/pix)."""
    parts = urlsplit(url or "")
    if url is not None and (parts.scheme != "https" or not parts.hostname or parts.path.endswith("/pix")):
        raise InvalidInput("bad_address", "Dê o endereço https que vem antes de /pix, como https://exemplo.com.br/hooks.")
    try:
        if url is not None:
            _bank().register_webhook(url.rstrip("/"))
        click.echo(f"O banco chama {_bank().webhook()}/pix.")
    except BankRefused as error:
        if error.code == "not_found":
            raise Conflict("no_webhook", "O banco ainda não chama endereço nenhum. Registre um.") from error
        raise _bank_says(error) from error
    except BankError as error:
        raise _bank_says(error) from error


@click.command("reconcile")
@with_appcontext
def reconcile() -> None:
    """Pergunta ao banco agora o que foi pago e envia as devoluções que esperam."""
    now = current_app.extensions["clock"]()
    counts = {**_desk().reconcile(now=now), **_desk().work_off(now=now)}
    click.echo(" ".join(f"{what}={count}" for what, count in sorted(counts.items()) if count) or "Nada de novo.")


def _bank_says(error: BankError) -> Conflict:
    return Conflict("bank_failed", f"O banco não fez o que foi pedido ({error.code}). Confira as definições PIX_.")


COMMANDS = [webhook, reconcile]
