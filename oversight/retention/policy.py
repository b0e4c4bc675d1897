"""How far one run may go, and what a legal hold has to say. Which days are owed is the vault's to say."""

from datetime import date, timedelta

from kernel.errors import Conflict, InvalidInput

LONGEST_HOLD = timedelta(days=10 * 366)
SHORTEST_REASON, LONGEST_REASON = 3, 200
NAME_THE_CASE = "Dê o número do processo ou do ofício, sem nomes de pessoas."


def check_step(owed_from: date, today: date, days_limit: int) -> int:
    """The days that would go, 0 when none is due. Raises Conflict `step_too_long` over the limit: a clock that jumps
    a year must not erase a year (SC 11-A par. 4: nothing is erased early)."""
    days = (today - owed_from).days
    if days > days_limit:
        raise Conflict("step_too_long", (
            f"Seriam apagados {days} dias de uma vez e o limite é {days_limit}: nada foi apagado. Confira o relógio "
            f"da máquina; se a data está certa, rode flask --app app retention run --days {days}."))
    return max(days, 0)


def check_hold(reason: str, ends_on: date, today: date) -> None:
    """Lets through a hold with a reason, from today to ten years ahead. Raises InvalidInput (`reason`, `ends_on`)."""
    if not SHORTEST_REASON <= len(reason.strip()) <= LONGEST_REASON:
        raise InvalidInput("reason_missing", NAME_THE_CASE, fields={"reason": NAME_THE_CASE})
    if not today <= ends_on <= today + LONGEST_HOLD:
        sentence = "A guarda vai de hoje a dez anos à frente."
        raise InvalidInput("hold_out_of_range", sentence, fields={"ends_on": sentence})


def hold_is_over(ends_on: date, today: date) -> bool:
    """Whether a hold's last day has ended; the day itself still counts."""
    return ends_on < today


def erased_on(keep_until: date, last_hold_ended: date | None) -> date:
    """The day from which an identity can no longer be read: after its last day, or when a later hold ended."""
    return max(keep_until + timedelta(days=1), last_hold_ended or keep_until)
