"""Which flags are raised and superseded, given what stands."""

from judgeboard.domain import FlagState
from judgeboard.flags.rule import Raise, RaisedFlag, Reason, Reconciled, reconcile
from judgeboard.flags.rules import RULES

LOW_V1 = Reason("low_quality", 0.5, fingerprint="v1")
LOW_V2 = Reason("low_quality", 0.5, fingerprint="v2")


def flag(id_: int, state: FlagState, key: str = "low_quality:v1", rule: str = "low_quality") -> RaisedFlag:
    return RaisedFlag(id_, rule, key, state)


def test_a_reason_raises_once() -> None:
    assert reconcile([LOW_V1], [], RULES) == Reconciled((Raise(LOW_V1),))
    assert reconcile([LOW_V1], [flag(1, FlagState.OPEN)], RULES) == Reconciled()


def test_a_decided_flag_does_not_come_back() -> None:
    for state in (FlagState.CONFIRMED, FlagState.DISMISSED):
        assert reconcile([LOW_V1], [flag(1, state)], RULES) == Reconciled()
        assert reconcile([], [flag(1, state)], RULES) == Reconciled()


def test_an_open_flag_goes_with_its_reason() -> None:
    assert reconcile([], [flag(1, FlagState.OPEN)], RULES) == Reconciled((), (1,))


def test_a_new_version_raises_its_own_and_supersedes_the_open_one() -> None:
    assert reconcile([LOW_V2], [flag(1, FlagState.OPEN)], RULES) == Reconciled((Raise(LOW_V2),), (1,))


def test_a_new_version_names_the_latest_decided_flag_of_its_rule() -> None:
    standing = [
        flag(4, FlagState.DISMISSED, "low_quality:v0"),
        flag(2, FlagState.CONFIRMED),
        flag(5, FlagState.CONFIRMED, "judge_failed:v1", "judge_failed"),
    ]
    assert reconcile([LOW_V2], standing, RULES) == Reconciled((Raise(LOW_V2, decided_before_id=4),))


def test_flags_of_rules_that_were_not_asked_stay() -> None:
    drawn = flag(1, FlagState.OPEN, "random_sample:-", "random_sample")
    unknown = flag(2, FlagState.OPEN, "house_rule:-", "house_rule")
    heard = [rule for rule in RULES if not rule.drawn]
    assert reconcile([], [drawn, unknown], heard) == Reconciled()
    assert reconcile([], [drawn, unknown], RULES) == Reconciled((), (1,))
