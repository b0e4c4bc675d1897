"""The central bank's API Pix (2.9.0) as any bank serves it: OAuth2 with client credentials, TLS with a client
certificate, and every failure told apart as "no" or "no answer"."""

import logging
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import quote

import httpx

from kernel.clock import utc_now
from kernel.money import Money
from ticketing.payments import brcode
from ticketing.payments.port import (
    BankCharge,
    BankReceipt,
    BankRefused,
    BankReturn,
    BankUnavailable,
    is_e2e_id,
    is_txid,
)

logging.getLogger("httpx").setLevel(logging.WARNING)  # below it logs the address of every request
TIMEOUT = httpx.Timeout(10, connect=5)
SCOPES = "cob.read cob.write pix.read pix.write webhook.read webhook.write"
PAGE_SIZE, MOST_PAGES = 100, 1000
_AMOUNT = re.compile(r"\d{1,10}\.\d{2}")
_STATUS: Mapping[str, Literal["active", "paid", "removed"]] = {"ATIVA": "active", "CONCLUIDA": "paid"}
_RETURN: Mapping[str, Literal["processing", "done", "refused"]] = {
    "EM_PROCESSAMENTO": "processing", "DEVOLVIDO": "done", "NAO_REALIZADO": "refused"}
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a bank and in whose name; every value comes from the settings."""

    base_url: str
    token_url: str
    client_id: str
    client_secret: str
    key: str
    name: str
    city: str
    scopes: str = SCOPES
    certificate: str | None = None
    certificate_key: str | None = None
    authorities: str | None = None

    def __repr__(self) -> str:
        return f"Access({self.base_url!r})"  # never the secret


class BankApi:
    """A `port.Bank` over HTTP. Safe to share between threads; a GET without an answer is repeated once, no more."""

    name: Literal["bank"] = "bank"
    txid_length = 32
    listens = True

    def __init__(self, access: Access, clock: Callable[[], datetime] = utc_now) -> None:
        self._access, self._clock = access, clock
        self._lock = threading.Lock()
        self._token: tuple[str, datetime] | None = None
        self._http = httpx.Client(base_url=access.base_url, timeout=TIMEOUT, verify=_tls(access))

    def create(self, txid: str, amount: Money, seconds: int) -> str:
        body = {"calendario": {"expiracao": seconds}, "valor": {"original": str(amount)}, "chave": self._access.key}
        try:
            told = self._charge(txid, self._send("PUT", f"/cob/{txid}", json=body))
        except BankRefused as refusal:  # an earlier asking may have arrived: then the charge is there
            try:
                told = self.read(txid)
            except BankRefused:
                raise refusal from None
        if told.amount != amount:
            raise BankRefused("other_amount")
        return told.br_code

    def read(self, txid: str) -> BankCharge:
        return self._charge(txid, self._send("GET", f"/cob/{txid}"))

    def cancel(self, txid: str) -> None:
        self._send("PATCH", f"/cob/{txid}", json={"status": "REMOVIDA_PELO_USUARIO_RECEBEDOR"})

    def refund(self, e2e_id: str, return_id: str, amount: Money) -> BankReturn:
        return _return(self._send("PUT", f"/pix/{e2e_id}/devolucao/{return_id}", json={"valor": str(amount)}))

    def refund_status(self, e2e_id: str, return_id: str) -> BankReturn:
        return _return(self._send("GET", f"/pix/{e2e_id}/devolucao/{return_id}"))

    def list_received(self, since: datetime, until: datetime) -> Iterator[BankReceipt]:
        for page in range(MOST_PAGES):
            told = self._send("GET", "/pix", params={
                "inicio": _instant(since), "fim": _instant(until), "paginacao.paginaAtual": page,
                "paginacao.itensPorPagina": PAGE_SIZE})
            yield from self._receipts(told)
            if page + 1 >= _pages(told):
                return
        raise BankUnavailable("list_too_long")

    def register_webhook(self, url: str) -> None:
        """Have the bank call `url` + `/pix` whenever something comes in."""
        self._send("PUT", f"/webhook/{quote(self._access.key, safe='')}", json={"webhookUrl": url})

    def webhook(self) -> str:
        """The address that the bank calls now. Raises BankRefused `not_found` when there is none."""
        return str(self._send("GET", f"/webhook/{quote(self._access.key, safe='')}").get("webhookUrl", ""))

    def _send(self, method: str, path: str, **body: Any) -> Json:
        try:
            return self._once(method, path, **body)
        except BankUnavailable:
            if method != "GET":
                raise
            return self._once(method, path, **body)

    def _once(self, method: str, path: str, **body: Any) -> Json:
        answer = self._request(method, path, self._bearer(), **body)
        if answer.status_code == 401:  # the token was withdrawn before its time
            with self._lock:
                self._token = None
            answer = self._request(method, path, self._bearer(), **body)
        return _read(answer)

    def _request(self, method: str, path: str, token: str, **body: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, headers={"Authorization": f"Bearer {token}"}, **body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise BankUnavailable(type(error).__name__) from error

    def _bearer(self) -> str:
        with self._lock:
            if self._token is None or self._token[1] <= self._clock():
                self._token = self._fresh_token()
            return self._token[0]

    def _fresh_token(self) -> tuple[str, datetime]:
        asked = self._clock()
        try:
            answer = self._http.post(self._access.token_url, auth=(self._access.client_id, self._access.client_secret),
                                     data={"grant_type": "client_credentials", "scope": self._access.scopes})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise BankUnavailable(type(error).__name__) from error
        if answer.status_code >= 400:  # the settings may be wrong: nothing is lost by asking later
            raise BankUnavailable(f"token_{answer.status_code}")
        told = _read(answer)
        token, seconds = told.get("access_token"), told.get("expires_in", 60)
        if not isinstance(token, str) or not token.isascii() or type(seconds) is not int:
            raise BankUnavailable("bad_token")
        return token, asked + timedelta(seconds=max(seconds, 0) * 9 // 10)

    def _charge(self, txid: str, told: Json) -> BankCharge:
        if told.get("txid") != txid:
            raise BankUnavailable("other_charge")
        amount = _amount(_part(told, "valor").get("original"))
        return BankCharge(txid, _STATUS.get(str(told.get("status")), "removed"), amount,
                          self._br_code(told, amount), tuple(self._receipts(told)))

    def _br_code(self, told: Json, amount: Money) -> str:
        text = told.get("pixCopiaECola")
        try:
            if text is None:
                url = told.get("location") or _part(told, "loc").get("location") or ""
                text = brcode.build_dynamic(url=str(url), name=self._access.name, city=self._access.city)
            if brcode.parse(str(text)).amount not in (None, amount):
                raise BankUnavailable("other_amount")
        except ValueError as error:
            raise BankUnavailable("bad_br_code") from error
        return str(text)

    def _receipts(self, told: Json) -> Iterator[BankReceipt]:
        listed = told.get("pix") or []
        if not isinstance(listed, list):
            raise BankUnavailable("bad_answer")
        for one in listed:
            if not isinstance(one, dict) or not is_e2e_id(one.get("endToEndId")):
                raise BankUnavailable("bad_receipt")
            amount, txid = _amount(one.get("valor")), one.get("txid")
            if amount:  # a PIX of nothing but cash handed out is no payment
                yield BankReceipt(one["endToEndId"], txid if is_txid(txid) else None, amount,
                                  _moment(one.get("horario")) or self._clock())


def _tls(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=access.authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if access.certificate:
        context.load_cert_chain(access.certificate, access.certificate_key)
    return context


def _read(answer: httpx.Response) -> Json:
    """The body of a success. Raises BankRefused for 4xx, BankUnavailable for the rest and for what is no JSON."""
    if answer.status_code == 404:
        raise BankRefused("not_found")
    if answer.status_code in (401, 408, 425, 429) or answer.status_code // 100 not in (2, 4):
        raise BankUnavailable(f"http_{answer.status_code}")
    if answer.status_code >= 400:
        raise BankRefused(_problem(answer))
    if not answer.content:
        return {}
    try:
        told = answer.json()
    except (ValueError, RecursionError) as error:
        raise BankUnavailable("bad_answer") from error
    if not isinstance(told, dict):
        raise BankUnavailable("bad_answer")
    return told


def _problem(answer: httpx.Response) -> str:
    """The kind of a problem document, a word of the standard; the bank's own sentences are not kept."""
    try:
        kind = str(answer.json()["type"]).rpartition("/")[2]
    except (ValueError, KeyError, TypeError, RecursionError):
        kind = ""
    return kind if re.fullmatch(r"[A-Za-z]{1,50}", kind) else f"http_{answer.status_code}"


def _return(told: Json) -> BankReturn:
    status = _RETURN.get(str(told.get("status")))
    if status is None:
        raise BankUnavailable("bad_return")
    return BankReturn(status, _amount(told.get("valor")))


def _part(told: Json, name: str) -> Json:
    part = told.get(name)
    return part if isinstance(part, dict) else {}


def _pages(told: Json) -> int:
    pages = _part(_part(told, "parametros"), "paginacao").get("quantidadeDePaginas", 1)
    return pages if type(pages) is int else 1


def _amount(text: object) -> Money:
    if not isinstance(text, str) or not text.isascii() or not _AMOUNT.fullmatch(text):
        raise BankUnavailable("bad_amount")
    return Money(int(text.replace(".", "")))


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
