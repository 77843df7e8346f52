"""`judgeboard flags apply` applies the rules by the settings in force; flags are reconciled, and say why."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from sqlalchemy import delete, update

from engines import on_sqlite
from graded_log import GradedLog
from judgeboard.cli.app import run
from judgeboard.domain import (
    Feedback,
    FeedbackKind,
    FlagState,
    JudgeVersion,
    Label,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.flags.rule import (
    FailedSignal,
    JudgeSignal,
    RaisedFlag,
    Reason,
    Reconciled,
    Signals,
    Thresholds,
    reasons_for,
    reconcile,
)
from judgeboard.flags.rules import RULES, why
from judgeboard.people.roster import flags_to_supersede, raise_flags
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import CURRENT, FLAG
from judging_log import address
from stored_rows import values_of, write_to

ANSWERS = 1_100


@pytest.fixture
def judged(store, fill_once):
    """More answers than one batch, groundedness 0.00 to 0.99 in turn."""
    fill_once("judged", store, judge_answers)
    return store


def judge_answers(store):
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        ids = store_responses(
            connection, [Response("log", f"a{number}", "q", "a") for number in range(ANSWERS)]
        ).new
        items = [
            NewJudgment(id_, 0, 0, Verdict(Status.OK, groundedness=number % 100 / 100))
            for number, id_ in enumerate(ids)
        ]
        store_judgments(connection, version, None, items)


def put(store, key, value):
    write_to(store, set_setting, key, value, "test")


def states(store):
    return Counter(values_of(store, FLAG.c.state))


@on_sqlite
def test_raising_again_adds_nothing(judged):
    before = states(judged)
    told = []
    summary = raise_flags(judged, progress=lambda *done: told.append(done))
    assert summary.responses == ANSWERS
    assert (summary.raised, summary.superseded, summary.repaired) == (0, 0, 0)
    assert told == [(1_000, ANSWERS), (ANSWERS, ANSWERS)]
    assert states(judged) == before == {"open": 550}


@on_sqlite
def test_a_threshold_is_applied_to_what_is_stored_and_decisions_stay(judged):
    with judged.writing() as connection:
        decide = update(FLAG).where(FLAG.c.groundedness == 0.45).values(state="dismissed")
        assert connection.execute(decide).rowcount == 11
    put(judged, "low_groundedness", 0.4)
    summary = raise_flags(judged)
    assert summary.superseded_by_rule == {"low_groundedness": 9 * 11}
    assert states(judged) == {"dismissed": 11, "open": 40 * 11, "superseded": 9 * 11}
    put(judged, "low_groundedness", 0.5)
    assert raise_flags(judged).raised_by_rule == {"low_groundedness": 9 * 11}
    assert states(judged) == {"dismissed": 11, "open": 49 * 11, "superseded": 9 * 11}


@on_sqlite
def test_the_command_asks_before_it_supersedes_open_flags(judged, capsys):
    put(judged, "low_groundedness", 0.4)
    assert flags_to_supersede(judged) == 10 * 11
    words = ["flags", "apply", "--db", address(judged)]
    assert run(words) == 2
    refusal = capsys.readouterr().err
    assert "110 open flags" in refusal
    assert f"--db {address(judged)} --yes" in " ".join(refusal.split())
    assert states(judged) == {"open": 550}
    assert run([*words, "--yes"]) == 0
    assert states(judged) == {"open": 40 * 11, "superseded": 10 * 11}
    put(judged, "low_groundedness", None)
    assert flags_to_supersede(judged) == 0
    # Nothing is superseded, so nothing is asked.
    assert run(words) == 0
    # Taken back with its cause.
    assert states(judged) == {"open": 50 * 11, "superseded": 10 * 11}


def test_a_smaller_share_keeps_the_drawn_answers_that_people_reviewed(judged):
    put(judged, "random_share", 0.1)
    raised = raise_flags(judged).raised
    drawn = values_of(judged, FLAG.c.response_id, FLAG.c.rule == "random_sample")
    GradedLog(judged).review_all(drawn[:9], label="grounded")
    put(judged, "random_share", 0)
    assert flags_to_supersede(judged) == len(drawn) - 9 == raised - 9
    assert raise_flags(judged).superseded == raised - 9
    assert states(judged) == {"open": 550 + 9, "superseded": raised - 9}


@on_sqlite
def test_a_larger_share_draws_more_and_keeps_what_was_drawn(judged):
    put(judged, "random_share", 0.02)
    first = raise_flags(judged).raised
    put(judged, "random_share", 0.1)
    summary = raise_flags(judged)
    assert summary.raised > 0
    assert summary.superseded == 0
    drawn = FLAG.c.rule == "random_sample", FLAG.c.state == "open"
    probabilities = Counter(values_of(judged, FLAG.c.inclusion_probability, *drawn))
    assert probabilities == {0.02: first, 0.1: summary.raised}


@on_sqlite
def test_current_judgments_are_repaired(judged):
    with judged.writing() as connection:
        connection.execute(delete(CURRENT).where(CURRENT.c.response_id < 11))
        wrong = update(CURRENT).where(CURRENT.c.response_id == 1_050)
        connection.execute(wrong.values(groundedness=1.0))
    assert raise_flags(judged).repaired == 11
    assert raise_flags(judged).repaired == 0


@on_sqlite
def test_answers_that_were_made_are_not_counted_as_the_logs(judged, capsys):
    made = [Response("log", f"a{n}~new", "q", "b", kind=ResponseKind.REGENERATED) for n in range(3)]
    write_to(judged, store_responses, made)
    summary = raise_flags(judged)
    assert (summary.responses, summary.logged) == (ANSWERS + 3, ANSWERS)
    assert run(["flags", "apply", "--db", address(judged)]) == 0
    assert re.findall(r"[\d,]*\d", capsys.readouterr().out)[:2] == ["1,100", "3"]


LOW_V1 = Reason("low_quality", 0.5, fingerprint="v1")
LOW_V2 = Reason("low_quality", 0.5, fingerprint="v2")


def flag(id_, state, key="low_quality:v1", rule="low_quality"):
    return RaisedFlag(id_, rule, key, state)


OPEN, CONFIRMED, DISMISSED = FlagState.OPEN, FlagState.CONFIRMED, FlagState.DISMISSED
DRAWN = flag(1, OPEN, "random_sample:-", "random_sample")
UNKNOWN = flag(2, OPEN, "house_rule:-", "house_rule")


@pytest.mark.parametrize(
    ("reasons", "flags", "result"),
    [
        ([LOW_V1], [], Reconciled((LOW_V1,))),
        ([LOW_V1], [flag(1, OPEN)], Reconciled()),
        *(
            (reasons, [flag(1, state)], Reconciled())
            for reasons in ([LOW_V1], [])
            for state in (CONFIRMED, DISMISSED)
        ),
        ([], [flag(1, OPEN)], Reconciled((), (1,))),
        ([LOW_V2], [flag(1, OPEN)], Reconciled((LOW_V2,), (1,))),
        # A new version names the latest decided flag of its rule.
        (
            [LOW_V2],
            [
                flag(4, DISMISSED, "low_quality:v0"),
                flag(2, CONFIRMED),
                flag(5, CONFIRMED, "judge_failed:v1", "judge_failed"),
            ],
            Reconciled((replace(LOW_V2, decided_before_id=4),)),
        ),
        # The flag of a rule that is not known here stays.
        ([], [DRAWN, UNKNOWN], Reconciled((), (1,))),
    ],
)
def test_flags_follow_their_reasons(reasons, flags, result):
    assert reconcile(reasons, flags, RULES.values()) == result


def test_flags_of_rules_that_were_not_asked_stay():
    heard = [rule for rule in RULES.values() if not rule.drawn]
    assert reconcile([], [DRAWN, UNKNOWN], heard) == Reconciled()


def sentences(thresholds, **signals):
    raised = reasons_for(Signals("log", "a-1", "QA", **signals), thresholds, RULES.values())
    return [why(reason.rule, reason.details, reason.params) for reason in raised]


def judge(groundedness=None, quality=None, label=None, title="rag v3"):
    return JudgeSignal(1, "rag", title.split()[0], title, "f", groundedness, quality, label)


def failed(cause, tokens=None, status=Status.ERROR):
    return FailedSignal(1, "rag", "rag v3", "f", status, cause, tokens)


@pytest.mark.parametrize(
    ("signals", "sentence"),
    [
        ({"primary": judge(0.31)}, "Groundedness 0.31 (threshold 0.5)"),
        ({"primary": judge(0.4999)}, "Groundedness 0.4999 (threshold 0.5)"),
        ({"primary": judge(label=Label.HALLUCINATED)}, "Label hallucinated"),
        ({"primary": judge(quality=2)}, "Quality 2 (threshold 2)"),
        (
            {"primary": judge(quality=4), "feedback": Feedback(FeedbackKind.STARS, 2)},
            "User: 2 stars (1.75); judge: quality 4",
        ),
        (
            {"primary": judge(0.82, title="nli v1"), "others": (judge(0.31),)},
            "nli v1: groundedness 0.82; rag v3: groundedness 0.31",
        ),
        (
            {
                "primary": judge(label=Label.GROUNDED),
                "others": (judge(label=Label.HALLUCINATED, title="nli v1"),),
            },
            "rag v3: label grounded; nli v1: label hallucinated",
        ),
        (
            {"failed": failed("truncated", 512)},
            "No usable verdict: cut off before its end (512 tokens)",
        ),
        ({"failed": failed("http_400")}, "No usable verdict: HTTP 400"),
        ({"failed": failed("timeout")}, "No usable verdict: it took too long"),
        (
            {"failed": failed(None, status=Status.REFUSED)},
            "No usable verdict: it refused",
        ),
    ],
)
def test_a_flag_says_why_with_its_numbers(signals, sentence):
    assert sentences(Thresholds(random_share=0, poor_rating=0), **signals) == [sentence]


def test_a_poor_rating_is_named_as_the_user_gave_it():
    for kind, value, rating in (
        (FeedbackKind.THUMBS, 0, "thumbs down"),
        (FeedbackKind.STARS, 1, "1 star"),
    ):
        (sentence,) = sentences(Thresholds(random_share=0), feedback=Feedback(kind, value))
        assert rating in sentence


def test_drawn_flags_say_so():
    (of_all,) = sentences(Thresholds(random_share=1))
    (of_type,) = sentences(Thresholds(random_share=0, always_review=("QA",)))
    assert "100 %" in of_all
    assert "QA" in of_type
    assert "2 %" in why("random_sample", {}, {"share": 0.02})


def test_a_flag_of_a_rule_that_is_not_known_here_is_still_shown():
    assert why("house_rule", {}, {}) == "Flagged by house_rule."


def test_a_flag_with_details_of_an_older_program_is_still_shown():
    assert why("low_groundedness", {"groundedness": 0.3}, {}) == "Flagged by low_groundedness."
    assert why("feedback_gap", {"user": None}, {"gap": 2}) == "Flagged by feedback_gap."
