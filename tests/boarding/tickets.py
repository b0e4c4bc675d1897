"""One made-up ticket and its signed pass, for the tests of tokens, pictures and pages."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from boarding.passes import policy
from boarding.passes.policy import LocalTime, TicketFacts
from boarding.passes.signing import KeyRing, PassBody, encode
from kernel.money import Money

RING = KeyRing.parse("3:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")  # bytes 0 to 31: a key for tests alone
DEPARTS = datetime(2026, 3, 12, 11, 0, tzinfo=UTC)
OPENS, WINDOW = policy.pass_window(DEPARTS, DEPARTS + timedelta(hours=3, minutes=35))
BODY = PassBody(
    kid=3, pass_id=bytes(range(100, 116)), trip_id=4711, revision=1, seat=15, board=2, alight=5, valid_from=OPENS,
    window=WINDOW, issued=policy.minutes_of(DEPARTS - timedelta(days=2)),
    flags=int(policy.pass_flags(check_document=True)), document=int(policy.document_code("rg")), discount=0,
    last_digits=policy.last_digits("4.321.098"))
TOKEN = encode(BODY, RING.signing_key)

BRASILIA = "horário de Brasília"
PLAIN = TicketFacts(
    carrier="Viação Serra e Mar", carrier_cnpj="00.000.000/0001-91", code="7K3MQ2XD", line_code="32-1",
    line_name="Criciúma – Florianópolis", service_class="Convencional", origin="Criciúma", destination="Florianópolis",
    departs=LocalTime("qui 12/03/2026", "08:00", BRASILIA), arrives=LocalTime("qui 12/03/2026", "11:35", BRASILIA),
    boarding_stop="Criciúma, Terminal Rodoviário", alighting_stop='Florianópolis, Terminal "Rita Maria"',
    fare_items=(("Tarifa", Money(5830)), ("Taxa de embarque", Money(412)), ("Pedágio", Money(260))),
    total=Money(6502), payment="Dinheiro", sold_at="10/03/2026 14:02", channel="counter", agent="G2",
    terminal="Av. Centenário, piso 1", platform="7", seat="15", passenger="Célia O", document="RG 4.321.098 SSP/SC",
    refund_until="Devolução integral até 11/03/2026 20:00, horário de Brasília", bring="o documento original com foto",
    luggage="30 kg no bagageiro e 5 kg a bordo", identity_rule="Lei SC 5.684/1980, art. 11-A",
    link="embarque.invalid/b/7K3MQ2XD")


def facts(**changes: object) -> TicketFacts:
    """The made-up ticket with some facts changed."""
    return replace(PLAIN, **changes)
