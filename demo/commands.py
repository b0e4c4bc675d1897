"""`flask --app app demo seed`: the demonstration, on a machine that says DEMO=1."""

import click
from flask import current_app
from flask.cli import with_appcontext

from demo import seed as demonstration
from kernel import auth, web
from kernel.clock import day_everywhere
from kernel.errors import Forbidden
from kernel.vault import Vault

NEVER_IN_EARNEST = "As senhas da demonstração são públicas. Só em uma máquina de demonstração: defina DEMO=1."


@click.command("seed")
@with_appcontext
def seed() -> None:
    """Põe a rede, as viagens e as pessoas da demonstração; o que já existe fica."""
    settings, now = current_app.extensions["settings"], web.now()
    if not settings.demo:
        raise Forbidden("not_a_demonstration", NEVER_IN_EARNEST)
    if not any(path.exists() for path in settings.vault_files):
        Vault.create(settings.vault_files, day_everywhere(now))
        click.echo(f"Cofre de identidades criado em {settings.vault_files[0]}.")
    with web.reading() as session:
        wanted = demonstration.hashes_wanted(session)
    hashes = {person.login: auth.hash_password(person.password) for person in wanted}
    with web.transaction() as session:
        opened = demonstration.seed(session, hashes, now=now)
    click.echo(f"Demonstração pronta: {opened} viagens abertas agora.\n")
    click.echo(f"{'usuário':<12} {'senha':<26} quem é")
    for person in demonstration.staff():
        click.echo(f"{person.login:<12} {person.password:<26} {person.name}")
