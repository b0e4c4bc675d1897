"""The composition root: builds the application out of its rooms. Nothing imports it."""

import signal
import threading
from datetime import datetime, timedelta
from typing import Any

import click
from flask import Flask
from flask.typing import ResponseReturnValue
from jinja2 import StrictUndefined
from limits.errors import ConfigurationError
from sqlalchemy.exc import DBAPIError
from werkzeug.middleware.proxy_fix import ProxyFix

from boarding.devices import api as devices_api
from boarding.devices import enrolment
from boarding.devices import views as devices
from boarding.doors import views as doors
from boarding.passes import api as passes_api
from boarding.passes import views as passes
from boarding.passes.service import Issuer, derive_link_secret
from boarding.passes.signing import KeyRing
from demo import commands as demo
from demo import seed as demonstration
from kernel import api, clock, filters, jobs, login, openapi, outbox, partners, repeats, web, webhooks
from kernel.commands import Group, database_commands, partner_commands, staff_commands, vault_commands
from kernel.config import ConfigError, Settings, read_settings
from kernel.db import Database
from kernel.logs import start_logging
from kernel.vault import Vault, VaultError
from oversight.inspection import views as inspections
from oversight.operations import views as operations
from oversight.retention import commands as retention_commands
from oversight.retention import service as retention
from oversight.retention import views as holds
from refunds.windows import api as refunds_api
from refunds.windows import commands as refund_commands
from refunds.windows import views as refund_windows
from ticketing.imports import commands as network
from ticketing.imports import views as imports
from ticketing.imports.service import find_by_code
from ticketing.network.models import Stop
from ticketing.network.policy import seat_words
from ticketing.network.service import close_trips, open_trips
from ticketing.online import api as hooks
from ticketing.online import purchases
from ticketing.online import views as shop
from ticketing.online.service import expire_unpaid, settler
from ticketing.payments import commands as pix
from ticketing.payments import views as tills
from ticketing.payments.desk import Desk
from ticketing.payments.policy import METHODS
from ticketing.payments.providers import open_bank
from ticketing.sales import api as sales_api
from ticketing.sales import views as sales
from ticketing.sales.policy import spaced_code
from ticketing.seats import api as search_api
from ticketing.seats import service as seats

LARGEST_BODY = 256 * 1024
WORKER = "worker"


def create_app(settings: Settings | None = None) -> Flask:
    """The application. Reads the environment unless given settings; a bad one stops the start with a sentence."""
    settings = settings or read_settings()
    app = Flask(__name__)
    app.config.update(
        SECRET_KEY=settings.secret_key, SESSION_COOKIE_SECURE=settings.secure_cookies, SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax", MAX_CONTENT_LENGTH=LARGEST_BODY, MAX_FORM_MEMORY_SIZE=LARGEST_BODY,
        MAX_FORM_PARTS=200, DEMO=settings.demo, WTF_CSRF_TIME_LIMIT=None, WTF_CSRF_SSL_STRICT=False,
        RATELIMIT_STORAGE_URI=settings.rate_limit_storage, SEND_FILE_MAX_AGE_DEFAULT=3600)
    app.jinja_env.undefined = StrictUndefined
    vault, keys = Vault(settings.vault_files), _pass_keys(settings)
    app.extensions.update(settings=settings, vault=vault, pass_keys=keys,
                          pass_issuer=Issuer(keys, derive_link_secret(settings.secret_key), vault))
    web.start_web(app, Database(settings.database_url))
    app.extensions["pix_desk"] = desk = _desk(settings, app.extensions["database"], vault)
    app.config["PIX_BY_HAND"] = desk is not None and not desk.bank.listens
    filters.start_filters(app)
    app.jinja_env.filters.update(code=spaced_code, method=METHODS.get, seat=lambda seat: seat_words(seat) or "colo")
    try:
        login.limiter.init_app(app)
    except (ConfigurationError, ValueError) as error:
        raise ConfigError(f"RATE_LIMIT_STORAGE cannot be used: {error}. Use memory:// or redis://… with the redis "
                          "client installed.") from error
    if settings.proxy_hops:
        hops = settings.proxy_hops
        app.wsgi_app = ProxyFix(app.wsgi_app, hops, hops, hops)  # type: ignore[method-assign]
    _rooms(app)
    _interface(app)
    _commands(app)
    app.add_url_rule("/health", view_func=health)
    return app


def serve() -> Flask:
    """The application for a web server: logs started, the vault's copies in step and this database's own."""
    settings = read_settings()
    start_logging(settings.log_level)
    app = create_app(settings)
    _check_vault(app)
    _check_doors(app)
    app.extensions["database"].engine.dispose()  # gunicorn --preload forks after this: no two share a connection
    return app


def _check_doors(app: Flask) -> None:
    if app.extensions["settings"].demo:
        return
    try:
        with app.extensions["database"].reading() as session:
            doors_open = demonstration.open_doors(session)
    except DBAPIError:
        return  # the database is away or has no tables yet: the pages say so
    if doors_open:
        raise ConfigError(f"This database was made as a demonstration: {', '.join(doors_open)} sign in with published "
                          "passwords. Change them (flask --app app staff password LOGIN) or set DEMO=1.")


def _check_vault(app: Flask) -> None:
    try:
        retention.check_vault(app.extensions["database"], app.extensions["vault"])
    except VaultError as error:
        raise ConfigError(str(error)) from error


@web.public
@login.limiter.exempt
def health() -> ResponseReturnValue:
    """Whether this process answers and reaches its database."""
    with web.reading() as session:
        session.connection().exec_driver_sql("SELECT 1")
    return {"status": "ok"}


def work(app: Flask, stop: threading.Event) -> None:
    """The worker: every job whose turn has come, until told to stop."""
    jobs.work(app.extensions["database"], _jobs(app), stop, clock.utc_now)


def _pass_keys(settings: Settings) -> KeyRing:
    try:
        return KeyRing.parse(settings.pass_keys)
    except ValueError as error:
        raise ConfigError(f"PASS_KEYS: {error}") from error


def _desk(settings: Settings, database: Database, vault: Vault) -> Desk | None:
    """Where PIX is asked for and received; None where the settings name no bank."""
    bank = open_bank(settings.pix, demo=settings.demo, database=database)
    return Desk(database, bank, settler(vault)) if bank else None


def _rooms(app: Flask) -> None:
    app.register_blueprint(login.blueprint)
    app.register_blueprint(sales.blueprint)
    app.register_blueprint(tills.blueprint)
    app.register_blueprint(refund_windows.blueprint)
    app.register_blueprint(operations.blueprint)
    app.register_blueprint(imports.blueprint)
    app.register_blueprint(shop.blueprint)
    app.register_blueprint(purchases.blueprint)
    app.register_blueprint(hooks.blueprint)
    app.register_blueprint(passes.blueprint)
    app.register_blueprint(passes.trips)
    app.register_blueprint(refund_windows.passenger)
    app.register_blueprint(passes.counter)
    app.register_blueprint(doors.blueprint)
    app.register_blueprint(doors.office)
    app.register_blueprint(devices.blueprint)
    app.register_blueprint(inspections.blueprint)
    app.register_blueprint(holds.blueprint)


def _interface(app: Flask) -> None:
    """The JSON interface under /api/v1, and whose tokens it takes."""
    for module in (openapi, search_api, sales_api, refunds_api, passes_api, devices_api):
        app.register_blueprint(module.blueprint)
    api.started(app, [partners.find_caller, enrolment.find_device])


def _commands(app: Flask) -> None:
    app.cli.add_command(database_commands())
    app.cli.add_command(vault_commands())
    app.cli.add_command(partner_commands())
    app.cli.add_command(staff_commands(lambda session, code: find_by_code(session, Stop, code).id))
    app.cli.add_command(Group("network", (*network.COMMANDS, refund_commands.late_refund),
                              help="Linhas, horários e viagens."))
    app.cli.add_command(retention_commands.retention)
    app.cli.add_command(Group("pix", pix.COMMANDS, help="O PIX e o banco."))
    app.cli.add_command(Group("demo", [demo.seed], help="A demonstração."))
    app.cli.add_command(click.Command("worker", callback=lambda: _work_until_told(app),
                                      help="Faz o trabalho de fundo até receber SIGTERM ou SIGINT."))


def _work_until_told(app: Flask) -> None:
    stop = threading.Event()

    def end(*_: Any) -> None:
        stop.set()
    for told in (signal.SIGTERM, signal.SIGINT):
        signal.signal(told, end)
    start_logging(app.extensions["settings"].log_level)
    _check_vault(app)
    work(app, stop)


def _jobs(app: Flask) -> list[jobs.Job]:
    database = app.extensions["database"]

    def erase(now: datetime) -> dict[str, int]:
        done = retention.run(database, app.extensions["vault"], now=now, actor=WORKER)
        return {"days": done.days, "identities": done.identities, "holds_ended": done.holds_ended}

    def sweep(now: datetime) -> dict[str, int]:
        cleared, batch = 0, 1
        while batch:
            with database.transaction() as session:
                batch = seats.sweep(session, now=now)
            cleared += batch
        with database.transaction() as session:
            return {"holds": cleared, "purchases": expire_unpaid(session, now=now)}

    def open_timetable(now: datetime) -> dict[str, int]:
        with database.transaction() as session:
            return {"trips": open_trips(session, now=now, actor=WORKER)}

    def close(now: datetime) -> dict[str, int]:
        with database.transaction() as session:
            return {"trips": close_trips(session, now=now, actor=WORKER)}

    def forget(now: datetime) -> dict[str, int]:
        with database.transaction() as session:
            return {"keys": repeats.forget_old(session, now=now), "letters": outbox.forget_old(session, now=now)}

    def tell(now: datetime) -> dict[str, int]:
        return webhooks.deliver(database, app.extensions["settings"].secret_key, now=now)

    # erasing is looked at every hour, so that a day's identities go within an hour of its end everywhere on Earth
    return [jobs.Job("retention", timedelta(hours=1), erase), jobs.Job("sweep_holds", timedelta(seconds=30), sweep),
            jobs.Job("open_trips", timedelta(hours=1), open_timetable),
            jobs.Job("close_trips", timedelta(hours=1), close),
            jobs.Job("forget_repeats", timedelta(days=1), forget), jobs.Job("webhooks", timedelta(seconds=10), tell),
            *_pix_jobs(app), *_demo_jobs(app)]


def _pix_jobs(app: Flask) -> list[jobs.Job]:
    desk: Desk | None = app.extensions["pix_desk"]
    if desk is None:
        return []
    return [jobs.Job("pix_reconcile", timedelta(minutes=1), lambda now: desk.reconcile(now=now)),
            jobs.Job("pix_work_off", timedelta(seconds=10), lambda now: desk.work_off(now=now))]


def _demo_jobs(app: Flask) -> list[jobs.Job]:
    if not app.extensions["settings"].demo:
        return []

    def roster(_now: datetime) -> dict[str, int]:
        with app.extensions["database"].transaction() as session:
            return {"rostered": demonstration.roster(session)}
    return [jobs.Job("demo_roster", timedelta(hours=1), roster)]
