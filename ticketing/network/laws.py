"""Which text answers for a line on a day: the law of its own state while in force, else the carrier's policy."""

from datetime import date, timedelta

from kernel.decisions import Citation

MS_FROM = date(1979, 11, 26)
MS_TO = date(2022, 11, 16)  # Lei 5.976 revoked the whole law on 17 November 2022; that day already counts as revoked
SC_FROM = date(1980, 5, 23)  # published that day and in force on publication
CARRIER = "política da transportadora"


def cite(rule: str, *, state: str, day: date, sc: str | None = None, ms: str | None = None,
         sc_from: date = SC_FROM) -> Citation:
    """The citation of a rule on a line of `state`, in the wording in force on the local date `day`.

    `sc` and `ms` are the articles ("art. 11"); None where that state's law is silent, so that an article is never
    given for the other state's line. What the revoked MS law said lives on as carrier policy, and the text says so.
    """
    if state == "SC" and sc and day >= sc_from:
        return Citation(rule, f"Lei SC 5.684/1980, {sc}", sc_from)
    if state == "MS" and ms and MS_FROM <= day <= MS_TO:
        return Citation(rule, f"Lei MS 36/1979, {ms}", MS_FROM, MS_TO)
    if state == "MS" and ms and day > MS_TO:
        kept = f"{CARRIER}, que mantém a Lei MS 36/1979, {ms} (revogada pela Lei MS 5.976/2022)"
        return Citation(rule, kept, MS_TO + timedelta(days=1))
    return Citation(rule, CARRIER)
