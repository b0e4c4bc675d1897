"""A bank that serves API Pix on the loopback, remembers everything, and fails as it is told to."""

import base64
import contextlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from werkzeug import Request, Response
from werkzeug.serving import WSGIRequestHandler, make_server

from kernel.money import Money
from tests.instants import NOW
from ticketing.payments.bankapi import Access

KEY = "7d9f0335-8dcc-4054-9bf9-0dbd61d36906"
SECRET = "a client's secret"
PATHS = {"token": r"/oauth/token", "cob": r"/cob/(\w+)", "list": r"/pix", "return": r"/pix/(\w+)/devolucao/(\w+)",
         "webhook": r"/webhook/([\w-]+)"}


@dataclass
class FakeBank:
    """`faults["PUT cob"]` is a list of what the next calls meet: a status, "silent" (nothing done, no answer),
    "lost" (done, no answer) or "garbage". `calls` counts what was asked."""

    url: str = ""
    now: datetime = NOW
    charges: dict = field(default_factory=dict)
    received: list = field(default_factory=list)
    returns: dict = field(default_factory=dict)
    faults: dict = field(default_factory=lambda: defaultdict(list))
    calls: dict = field(default_factory=lambda: defaultdict(int))
    tokens: set = field(default_factory=set)
    next_return: str = "DEVOLVIDO"
    page_size: int = 2  # smaller than asked for, as a bank may
    webhook_url: str | None = None
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def access(self, **changes: object) -> Access:
        told = {"base_url": self.url, "token_url": f"{self.url}/oauth/token", "client_id": "embarque",
                "client_secret": SECRET, "key": KEY, "name": "Viação de Teste", "city": "Criciúma"}
        return Access(**{**told, **changes})

    def pay(self, txid: str | None, cents: int, *, e2e_id: str | None = None, at: datetime | None = None) -> str:
        """Somebody pays; the end-to-end id."""
        moment = at or self.now
        e2e_id = e2e_id or f"E12345678{moment:%Y%m%d%H%M}{uuid4().hex[:11]}"
        pix = {"endToEndId": e2e_id, "valor": str(Money(cents)), "horario": f"{moment:%Y-%m-%dT%H:%M:%S.000Z}"}
        self.received.append(pix | ({"txid": txid} if txid else {}))
        if txid in self.charges:
            self.charges[txid]["status"] = "CONCLUIDA"
        return e2e_id

    def answer(self, request: Request) -> Response:
        kind, parts = next(((name, match.groups()) for name, path in PATHS.items()
                            if (match := re.fullmatch(path, request.path))), ("", ()))
        with self.lock:
            self.calls[f"{request.method} {kind}"] += 1
            waiting = self.faults[f"{request.method} {kind}"]
            fault = waiting.pop(0) if waiting else None
            if isinstance(fault, int):
                return problem(fault, "ServicoIndisponivel")
            answer = None if fault == "silent" else self.act(request, kind, parts)
        if fault in ("silent", "lost"):
            self.released.wait(20)  # the client gives up long before
        return Response("<h1>oi</h1>", 200) if fault == "garbage" else answer or Response(status=500)

    def act(self, request: Request, kind: str, parts: tuple) -> Response:
        if kind == "token":
            return self.token(request)
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return problem(401, "AcessoNegado")
        return getattr(self, f"{request.method.lower()}_{kind}", lambda *_: problem(404, "NaoEncontrado"))(request, *parts)

    def token(self, request: Request) -> Response:
        basic = base64.b64decode(request.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        if basic != f"embarque:{SECRET}" or request.form.get("grant_type") != "client_credentials":
            return Response('{"error": "invalid_client"}', 401)
        token = uuid4().hex
        self.tokens.add(token)
        return answered({"access_token": token, "token_type": "Bearer", "expires_in": 300})

    def put_cob(self, request: Request, txid: str) -> Response:
        body = request.get_json()
        if txid in self.charges or not re.fullmatch(r"\w{26,35}", txid) or body["chave"] != KEY:
            return problem(400, "CobOperacaoInvalida")
        self.charges[txid] = {**body, "txid": txid, "revisao": 0, "status": "ATIVA",
                              "location": f"https://pix.example.com/qr/{txid}"}
        self.charges[txid]["calendario"]["criacao"] = f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
        return answered(self.charges[txid], 201)

    def get_cob(self, _request: Request, txid: str) -> Response:
        if txid not in self.charges:
            return problem(404, "CobNaoEncontrado")
        return answered({**self.charges[txid], "pix": [pix for pix in self.received if pix.get("txid") == txid]})

    def patch_cob(self, request: Request, txid: str) -> Response:
        if self.charges.get(txid, {}).get("status") != "ATIVA":
            return problem(400 if txid in self.charges else 404, "CobOperacaoInvalida")
        self.charges[txid]["status"] = request.get_json()["status"]
        return answered(self.charges[txid])

    def get_list(self, request: Request) -> Response:
        since, until = (datetime.fromisoformat(request.args[name]) for name in ("inicio", "fim"))
        found = [pix for pix in self.received
                 if since <= datetime.fromisoformat(pix["horario"]) <= until + timedelta(seconds=1)]
        page, pages = int(request.args["paginacao.paginaAtual"]), -(-len(found) // self.page_size)
        return answered({
            "parametros": {"inicio": request.args["inicio"], "fim": request.args["fim"], "paginacao": {
                "paginaAtual": page, "itensPorPagina": self.page_size, "quantidadeDePaginas": pages,
                "quantidadeTotalDeItens": len(found)}},
            "cobs": [],  # the document asks for it by mistake
            "pix": found[page * self.page_size:(page + 1) * self.page_size]})

    def put_return(self, request: Request, e2e_id: str, return_id: str) -> Response:
        pix = next((pix for pix in self.received if pix["endToEndId"] == e2e_id), None)
        if pix is None:
            return problem(404, "PixNaoEncontrado")
        amount = cents(request.get_json()["valor"])
        before = sum(cents(one["valor"]) for (e2e, _), one in self.returns.items()
                     if e2e == e2e_id and one["status"] != "NAO_REALIZADO")
        if (e2e_id, return_id) in self.returns or amount + before > cents(pix["valor"]):
            return problem(400, "PixDevolucaoInvalida")
        self.returns[e2e_id, return_id] = {
            "id": return_id, "rtrId": f"D12345678{self.now:%Y%m%d%H%M}{uuid4().hex[:11]}",
            "valor": request.get_json()["valor"], "horario": {"solicitacao": f"{self.now:%Y-%m-%dT%H:%M:%SZ}"},
            "status": self.next_return}
        return answered(self.returns[e2e_id, return_id], 201)

    def get_return(self, _request: Request, e2e_id: str, return_id: str) -> Response:
        told = self.returns.get((e2e_id, return_id))
        return answered(told) if told else problem(404, "PixDevolucaoNaoEncontrada")

    def put_webhook(self, request: Request, _key: str) -> Response:
        self.webhook_url = request.get_json()["webhookUrl"]
        return Response(status=200)

    def get_webhook(self, _request: Request, _key: str) -> Response:
        if self.webhook_url is None:
            return problem(404, "WebhookNaoEncontrado")
        return answered({"webhookUrl": self.webhook_url, "cnpj": "00000000000191", "criacao": f"{self.now:%Y-%m-%dT%H:%M:%SZ}"})

    def returned(self, e2e_id: str) -> int:
        """The cents that went back out of a payment."""
        return sum(cents(one["valor"]) for (e2e, _), one in self.returns.items()
                   if e2e == e2e_id and one["status"] == "DEVOLVIDO")


def cents(text: str) -> int:
    return int(text.replace(".", ""))


def answered(body: object, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json")


def problem(status: int, kind: str) -> Response:
    return Response(json.dumps({"type": f"https://pix.bcb.gov.br/api/v2/error/{kind}", "title": kind, "status": status,
                                "detail": "José Não Deve Aparecer"}), status, content_type="application/problem+json")


class Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log(self, *_told: object) -> None: ...


@contextlib.contextmanager
def opened(bank: FakeBank | None = None, **options: object) -> Iterator[FakeBank]:
    """The bank at an address of the loopback, until the end of the block."""
    bank = bank or FakeBank()

    @Request.application
    def application(request: Request) -> Response:
        return bank.answer(request)

    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet, **options)
    bank.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield bank
    finally:
        bank.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
