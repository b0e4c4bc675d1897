"""The web glue: transactions, guards, one error table, problem details, security headers, request ids."""

import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast

from flask import (
    Flask,
    Response,
    current_app,
    g,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_login import AnonymousUserMixin, LoginManager, current_user
from flask_wtf.csrf import CSRFError, CSRFProtect
from marshmallow import Schema, ValidationError
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from kernel import auth, clock
from kernel.db import Database
from kernel.errors import Conflict, DomainError, Forbidden, InvalidInput, NotFound, RuleViolation
from kernel.vault import Vault, VaultError

log = logging.getLogger("embarque.web")
View = TypeVar("View", bound=Callable[..., ResponseReturnValue])

STATUS: dict[type[DomainError], int] = {InvalidInput: 422, NotFound: 404, Conflict: 409, RuleViolation: 422,
                                        Forbidden: 403}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'")

csrf = CSRFProtect()


def transaction() -> AbstractContextManager[Session]:
    """The request's one writing transaction, opened in the view."""
    return database().transaction()


def reading() -> AbstractContextManager[Session]:
    """A transaction that only reads."""
    return database().reading()


def database() -> Database:
    """The application's database."""
    return cast(Database, current_app.extensions["database"])


def vault() -> Vault:
    """The application's identity vault."""
    return cast(Vault, current_app.extensions["vault"])


def now() -> datetime:
    """The instant of this request or command; the same however often it is asked."""
    if "now" not in g:
        g.now = current_app.extensions["clock"]()
    return cast(datetime, g.now)


def actor() -> str:
    """The login of who is signed in: what the audit log names."""
    return str(current_user.login)


def guard(action: str) -> Callable[[View], View]:
    """Let in only roles that may do `action` (kernel.auth.ROLE_ACTIONS)."""
    auth.ROLE_ACTIONS[action]  # an unknown action fails at import

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(*args: Any, **kwargs: Any) -> ResponseReturnValue:
            if not current_user.is_authenticated:
                return _sign_in_first()
            if not current_user.may(action):
                raise Forbidden("role_may_not", "Sua função não tem acesso a esta página.")
            return view(*args, **kwargs)
        guarded.guard_action = action  # type: ignore[attr-defined]
        return cast(View, guarded)
    return decorate


def public(view: View) -> View:
    """Mark a view that anybody may open; a test lists them."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def form_page(template: str, problem: DomainError | None = None, **context: Any) -> ResponseReturnValue:
    """A page with forms. Where one was refused it comes again with the refusal's status, `problem`, its `errors` by
    field, and what was `typed`; at first these are None and empty."""
    shown = render_template(template, **{"problem": problem, "errors": problem.fields if problem else {},
                                         "typed": request.form, **context})
    return make_response(shown, status_of(problem) if problem else 200)


def read(schema: Schema, data: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema reads from a form or a JSON body. Raises InvalidInput with a sentence for each field."""
    try:
        return dict(schema.load(data))
    except ValidationError as error:
        raise InvalidInput("invalid_input", "Confira os campos marcados.", fields=_by_field(error)) from error


def whole(text: str) -> int | None:
    """The number that a page's own list or address sends, of nine digits at most; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def status_of(error: DomainError) -> int:
    """The HTTP status of a kind of refusal."""
    return STATUS[type(error)]


def problem(status: int, code: str, sentence: str, *, fields: Mapping[str, str] | None = None,
            article: str | None = None) -> Response:
    """An RFC 9457 problem document."""
    body: dict[str, Any] = {"type": "about:blank", "title": sentence, "status": status, "code": code,
                            "fields": dict(fields or {}), "request_id": request_id()}
    if article:
        body["article"] = article
    answer = jsonify(body)
    answer.status_code = status
    answer.content_type = "application/problem+json"
    return answer


def request_id() -> str:
    """A random id that stands in the answer's header, on the error page and in the log line."""
    if "request_id" not in g:
        g.request_id = secrets.token_hex(8)
    return cast(str, g.request_id)


def start_web(app: Flask, database: Database) -> None:
    """Wire the glue into an application."""
    app.extensions.setdefault("clock", clock.utc_now)
    app.extensions["database"] = database
    csrf.init_app(app)
    manager = LoginManager(app)
    manager.session_protection = None  # a driver's phone changes its address along the road
    manager.user_loader(_load_staff)
    app.before_request(_check_text)
    app.after_request(_finish)
    app.register_error_handler(DomainError, _domain_error)
    app.register_error_handler(CSRFError, _csrf_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(OperationalError, _busy)
    app.register_error_handler(VaultError, _vault_away)
    app.register_error_handler(RecursionError, _too_deep)
    app.register_error_handler(Exception, _unexpected)


def _check_text() -> ResponseReturnValue | None:
    """Refuse a NUL anywhere in a request: one database cannot store it, the other can, and nobody types it."""
    texts = [request.path, *request.args.values(), *request.form.values()]
    if any("\0" in text for text in texts) or (request.is_json and b"\\u0000" in request.get_data()):
        return answer(400, "unreadable", "Há um caractere que não se pode ler. Digite de novo.")
    return None


def _load_staff(token: str) -> auth.CurrentStaff | None:
    with database().glance() as connection:
        return auth.load_session(connection, token, now=now())


def wants_json() -> bool:
    """Whether the answer should be JSON: under /api, or when the client sent JSON or asks for it before HTML."""
    return request.path.startswith("/api/") or request.is_json or request.accept_mimetypes.best_match(
        ["text/html", "application/json"]) == "application/json"


def _sign_in_first() -> ResponseReturnValue:
    if wants_json():
        return problem(401, "sign_in_first", "Entre de novo para continuar.")
    back = request.full_path.rstrip("?") if request.method == "GET" else None
    return redirect(url_for("login.page", next=back), 303)


def answer(status: int, code: str, sentence: str, *, fields: Mapping[str, str] | None = None,
           article: str | None = None) -> ResponseReturnValue:
    """An error as the client understands it: a problem document or a page."""
    if wants_json():
        return problem(status, code, sentence, fields=fields, article=article)
    return make_response(render_template(
        "error.html", title=_TITLES.get(status, "Não deu certo"), sentence=sentence, citation=article,
        request_id=request_id(), home_url=_home()), status)


def _home() -> str:
    try:
        return url_for(auth.HOME_OF_ROLE[current_user.role] if current_user.is_authenticated else "login.page")
    except OperationalError:  # who is signed in stands in the database, which is away
        _know_nobody_new()
        return url_for("login.page")


_TITLES = {400: "Pedido incompleto", 401: "Entre de novo", 403: "Sem acesso", 404: "Não encontrado",
           405: "Pedido incompleto", 409: "Alguém foi mais rápido", 413: "Grande demais", 422: "Confira os dados",
           429: "Espere um pouco", 500: "Erro no sistema", 503: "Sistema ocupado"}


def _domain_error(error: DomainError) -> ResponseReturnValue:
    return answer(status_of(error), error.code, error.sentence, fields=error.fields,
                  article=error.citation.article if error.citation else None)


def _by_field(error: ValidationError) -> dict[str, str]:
    return {str(name): " ".join(map(str, told)) if isinstance(told, list) else "Valor inválido."
            for name, told in error.messages_dict.items()}


def _csrf_error(_error: CSRFError) -> ResponseReturnValue:
    return answer(400, "form_expired", "A página ficou aberta tempo demais. Volte, atualize e envie de novo.")


def _http_error(error: HTTPException) -> ResponseReturnValue:
    sentences = {404: "Esta página não existe.", 405: "Esta página não aceita esse pedido.",
                 413: "O que foi enviado é grande demais.", 429: "Muitas tentativas. Espere um minuto e tente de novo."}
    status = error.code or 500
    if 300 <= status < 400:
        return error.get_response()
    shown = answer(status, error.name.lower().replace(" ", "_"), sentences.get(status, "O pedido não foi entendido."))
    if status == 429 and isinstance(shown, Response):
        shown.headers["Retry-After"] = "60"
    return shown


def _busy(error: OperationalError) -> ResponseReturnValue:
    # a lock that did not come in time, two transactions in each other's way, no database at all: nothing was written
    _know_nobody_new()
    log.warning("database busy", extra={"request_id": request_id(), "kind": type(error.orig).__name__})
    return answer(503, "busy", "O sistema está ocupado e nada foi gravado. Tente de novo em alguns segundos.")


def _too_deep(error: RecursionError) -> ResponseReturnValue:
    # only what was sent can be nested so deep: no code here calls itself
    log.warning("nested too deep", extra={"request_id": request_id()}, exc_info=error)
    return answer(400, "unreadable", "O pedido não foi entendido.")


def _vault_away(error: VaultError) -> ResponseReturnValue:
    log.error("vault unavailable", extra={"request_id": request_id()}, exc_info=error)
    return answer(503, "vault_unavailable", "O cofre de identidades está fora do ar e nada foi gravado. Avise o "
                  "responsável pelo sistema.")


def _know_nobody_new() -> None:
    # an error page must not need the database that failed: who is not known by now stays a stranger
    g.setdefault("_login_user", AnonymousUserMixin())


def _unexpected(error: Exception) -> ResponseReturnValue:
    _know_nobody_new()
    log.error("unexpected error", extra={"request_id": request_id()}, exc_info=error)
    return answer(500, "unexpected", "Algo falhou do nosso lado e nada foi gravado. Tente de novo; se repetir, "
                  "informe o código abaixo.")


def _finish(response: Response) -> Response:
    headers = response.headers
    headers["X-Request-Id"] = request_id()
    headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Permissions-Policy"] = "camera=(self), geolocation=(), microphone=()"
    if current_app.config["SESSION_COOKIE_SECURE"]:
        headers["Strict-Transport-Security"] = "max-age=31536000; includeSubDomains"
    if request.endpoint != "static" or response.status_code >= 400:
        headers.setdefault("Cache-Control", "no-store")
    rule = request.url_rule.rule if request.url_rule else "unmatched"
    log.info("request", extra={"request_id": request_id(), "method": request.method, "route": rule,
                               "status": response.status_code})
    return response
