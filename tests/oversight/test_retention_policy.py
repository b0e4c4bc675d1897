"""How far one run may go, and what a hold has to say."""

from datetime import date, timedelta

import pytest

from kernel.errors import Conflict, InvalidInput
from oversight.retention.policy import LONGEST_HOLD, check_hold, check_step, erased_on, hold_is_over

TODAY = date(2026, 3, 2)


@pytest.mark.parametrize(("days", "limit", "going"), [(-400, 7, 0), (0, 7, 0), (1, 7, 1), (7, 7, 7), (365, 365, 365)])
def test_a_step_within_the_limit_goes(days, limit, going):
    assert check_step(TODAY, TODAY + timedelta(days=days), limit) == going


@pytest.mark.parametrize(("days", "limit"), [(8, 7), (365, 7), (366, 365)])
def test_a_longer_step_is_refused_and_says_how_to_go_on(days, limit):
    with pytest.raises(Conflict) as refused:
        check_step(TODAY, TODAY + timedelta(days=days), limit)
    assert refused.value.code == "step_too_long"
    assert f"--days {days}" in refused.value.sentence


@pytest.mark.parametrize("ends_on", [TODAY, TODAY + LONGEST_HOLD])
@pytest.mark.parametrize("reason", ["123", "Ofício 12/2026", "x" * 200])
def test_a_hold_with_a_reason_from_today_on_passes(reason, ends_on):
    check_hold(reason, ends_on, TODAY)


@pytest.mark.parametrize(("reason", "ends_on", "field"), [
    ("", TODAY, "reason"), ("  12 ", TODAY, "reason"), ("x" * 201, TODAY, "reason"),
    ("Ofício 12", TODAY - timedelta(days=1), "ends_on"), ("Ofício 12", TODAY + LONGEST_HOLD + timedelta(days=1), "ends_on")])
def test_a_hold_without_a_reason_or_in_the_past_is_refused(reason, ends_on, field):
    with pytest.raises(InvalidInput) as refused:
        check_hold(reason, ends_on, TODAY)
    assert set(refused.value.fields) == {field}


@pytest.mark.parametrize(("ends_on", "over"), [(TODAY - timedelta(days=1), True), (TODAY, False)])
def test_a_hold_s_last_day_still_counts(ends_on, over):
    assert hold_is_over(ends_on, TODAY) is over


@pytest.mark.parametrize(("hold_ended", "told"), [
    (None, date(2026, 3, 3)), (date(2026, 1, 1), date(2026, 3, 3)), (date(2026, 5, 1), date(2026, 5, 1))])
def test_an_identity_goes_after_its_last_day_or_with_its_hold(hold_ended, told):
    assert erased_on(TODAY, hold_ended) == told
