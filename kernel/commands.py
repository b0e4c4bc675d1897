"""What an operator does at the command line to any such system: database, vault, staff. A refusal is one sentence."""

import os
from collections.abc import Callable
from typing import Any

import click
from flask import current_app
from flask.cli import AppGroup
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from kernel import audit, auth, partners, web, webhooks
from kernel.clock import day_everywhere
from kernel.db import migrate
from kernel.errors import DomainError, InvalidInput
from kernel.vault import Vault, VaultError

OPERATOR = "operator"
NO_DATABASE = ("O banco de dados não respondeu ou não está na versão deste programa. Confira DATABASE_URL e rode "
               "`flask --app app database upgrade`.")


class Group(AppGroup):
    """Commands of one subject; a refusal ends with its sentence on standard error and code 1, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DomainError as refusal:
            sentences = [refusal.sentence, *(told for told in refusal.fields.values() if told != refusal.sentence)]
            if refusal.citation:
                sentences.append(f"({refusal.citation.article})")
            raise click.ClickException(" ".join(sentences)) from refusal
        except (OperationalError, ProgrammingError) as error:
            raise click.ClickException(NO_DATABASE) from error
        except VaultError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if error.filename is None:  # a closed pipe, which click ends quietly
                raise
            raise click.ClickException(f"Não deu para usar {error.filename}: {error.strerror}.") from error


def database_commands() -> Group:
    """`database upgrade`."""
    group = Group("database", help="O banco de dados.")

    @group.command("upgrade")
    @click.option("--to", "revision", default="head", metavar="REV", help="Uma versão anterior, para voltar a ela.")
    def upgrade(revision: str) -> None:
        """Leva as tabelas à versão deste programa."""
        from alembic.util import CommandError  # only here: a web worker never loads alembic

        if revision != "head":
            click.confirm("Voltar a uma versão anterior apaga o que só a atual guarda. Fez uma cópia e quer seguir?",
                          abort=True)
        try:
            migrate(current_app.extensions["settings"].database_url, revision)
        except CommandError as error:
            raise click.ClickException(f"A versão {revision} não existe ou não vem antes da atual.") from error
        click.echo("Banco de dados em dia." if revision == "head" else f"Banco de dados na versão {revision}.")
    return group


def vault_commands() -> Group:
    """`vault create`."""
    group = Group("vault", help="O cofre das identidades.")

    @group.command("create")
    def create() -> None:
        """Cria o arquivo do cofre; um que existe nunca é sobrescrito."""
        files = current_app.extensions["settings"].vault_files
        Vault.create(files, day_everywhere(web.now()))
        click.echo(f"Cofre criado em {', '.join(map(str, files))}. Guarde cópias em dois lugares: sem ele nenhuma "
                   "identidade se lê.")
    return group


def staff_commands(stop_id_of: Callable[[Session, str], int]) -> Group:
    """`staff add`, `staff disable`, `staff password`; `stop_id_of` finds the terminal of a code."""
    group = Group("staff", help="As pessoas que entram no sistema.")

    @group.command("add")
    @click.argument("login")
    @click.option("--role", required=True, type=click.Choice(auth.ROLES), help="Função.")
    @click.option("--name", required=True, help="Nome que aparece na tela.")
    @click.option("--stop", metavar="CÓDIGO", help="Terminal onde vende.")
    def add(login: str, role: str, name: str, stop: str | None) -> None:
        """Cadastra uma pessoa; a senha é pedida duas vezes ou vem em STAFF_PASSWORD."""
        secret = auth.hash_password(_password())
        with web.transaction() as session:
            auth.add_staff(session, login=login, display_name=name[:80], role=role, password_hash=secret,
                           stop_id=stop_id_of(session, stop) if stop else None, now=web.now(), actor=OPERATOR)
        click.echo(f"{login} cadastrado.")

    @group.command("disable")
    @click.argument("login")
    def disable(login: str) -> None:
        """Fecha a conta e encerra as sessões abertas."""
        with web.transaction() as session:
            auth.disable_staff(session, login, now=web.now(), actor=OPERATOR)
        click.echo(f"{login} não entra mais.")

    @group.command("password")
    @click.argument("login")
    def password(login: str) -> None:
        """Troca a senha e encerra as sessões abertas."""
        with web.reading() as session:
            person = auth.find_staff(session, login)
        if person is None:
            raise InvalidInput("unknown_login", "Não há esse usuário.")
        secret = auth.hash_password(_password())
        with web.transaction() as session:
            auth.change_password(session, person.id, secret, now=web.now(), actor=OPERATOR)
            audit.record(session, "password_reset", subject=person.login, now=web.now(), actor=OPERATOR)
        click.echo(f"Senha de {login} trocada.")
    return group


def _password() -> str:
    given = os.environ.get("STAFF_PASSWORD")
    return given or str(click.prompt("Senha", hide_input=True, confirmation_prompt="A senha outra vez"))


def partner_commands() -> Group:
    """`partner add`, `token`, `revoke`, `webhook`, `webhook-end` and `list`."""
    group = Group("partner", help="Parceiros da interface JSON e seus tokens.")

    @group.command("add")
    @click.argument("code")
    @click.option("--name", required=True, help="Nome da empresa.")
    def add(code: str, name: str) -> None:
        """Cadastra um parceiro."""
        with web.transaction() as session:
            partner = partners.add_partner(session, code=code, name=name, now=web.now(), actor=OPERATOR)
            click.echo(f"{partner.code} cadastrado.")

    @group.command("token")
    @click.argument("code")
    @click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(partners.SCOPES),
                  help="Pode repetir.")
    @click.option("--days", default=365, show_default=True, help="Por quantos dias vale.")
    def token(code: str, scopes: tuple[str, ...], days: int) -> None:
        """Cria um token e mostra-o esta única vez."""
        with web.transaction() as session:
            made = partners.issue_token(session, code, scopes, days=days, now=web.now(), actor=OPERATOR)
        click.echo(made)

    @group.command("revoke")
    @click.argument("prefix")
    def revoke(prefix: str) -> None:
        """Encerra o token que começa por PREFIX."""
        with web.transaction() as session:
            partners.revoke_token(session, prefix, now=web.now(), actor=OPERATOR)
        click.echo("Token encerrado.")

    @group.command("list")
    def show() -> None:
        """Mostra os parceiros e seus tokens."""
        with web.reading() as session:
            for partner, row in partners.list_tokens(session):
                click.echo(_token_line(partner, row))
            for partner, hook in webhooks.subscriptions(session):
                click.echo(f"{partner.code}  aviso {hook.id}  {hook.url}  {' '.join(hook.events)}")
    _webhook_commands(group)
    return group


def _webhook_commands(group: Group) -> None:
    @group.command("webhook")
    @click.argument("code")
    @click.argument("url")
    @click.option("--event", "events", multiple=True, type=click.Choice(webhooks.EVENTS), default=webhooks.EVENTS,
                  help="Pode repetir; sem ele, todos.")
    def webhook(code: str, url: str, events: tuple[str, ...]) -> None:
        """Avisa o parceiro em URL e mostra esta única vez o segredo que assina os avisos."""
        secret_key = current_app.extensions["settings"].secret_key
        with web.transaction() as session:
            made = webhooks.subscribe(session, code, url, events, secret_key=secret_key, now=web.now(), actor=OPERATOR)
        click.echo(f"aviso {made.id}: {made.secret}")

    @group.command("webhook-end")
    @click.argument("number", type=int)
    def webhook_end(number: int) -> None:
        """Encerra os avisos de NUMBER, os que esperam também."""
        with web.transaction() as session:
            webhooks.unsubscribe(session, number, now=web.now(), actor=OPERATOR)
        click.echo("Avisos encerrados.")


def _token_line(partner: partners.Partner, row: partners.PartnerToken | None) -> str:
    if row is None:
        return f"{partner.code}  sem token"
    state = "encerrado" if row.revoked_at else "vencido" if row.expires_at <= web.now() else "em vigor"
    return f"{partner.code}  {row.prefix}…  até {row.expires_at:%d/%m/%Y}  {state}  {' '.join(row.scopes)}"
