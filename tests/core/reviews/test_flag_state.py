"""Whatever is pressed in whatever order, a flag's state is what its standing reviews make of it."""

import contextlib
import shutil

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from judgeboard.domain import Grade
from judgeboard.errors import JudgeboardError
from judgeboard.store.opening import open_store
from queue_case import CONFIRM, DISMISS, UNSURE
from review_case import flagged_case
from stored_rows import columns

PEOPLE = st.sampled_from(["mara", "jon"])
DECISIONS = st.sampled_from([CONFIRM, DISMISS, UNSURE])
PRESSES = st.lists(
    st.tuples(st.just("decide"), PEOPLE, DECISIONS, st.integers(0, 3))
    | st.tuples(st.just("undo"), PEOPLE, st.none(), st.integers(0, 9))
    | st.tuples(st.just("grade"), PEOPLE, st.none(), st.integers(1, 4))
    | st.tuples(st.just("judge"), st.none(), st.none(), st.integers(1, 3)),
    max_size=14,
)
DECIDED_AND_JUDGED = [
    ("decide", "mara", CONFIRM, 0),
    ("judge", None, None, 2),
    ("judge", None, None, 1),
]


@example(presses=DECIDED_AND_JUDGED)
# The decided one is taken back: it waits again, and stands for the other still.
@example(presses=[*DECIDED_AND_JUDGED, ("undo", "mara", None, 0)])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(presses=PRESSES)
def test_a_flags_state_follows_from_standing_reviews(sqlite_template, tmp_path, presses):
    path = tmp_path / "judgeboard.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    try:
        team = flagged_case(store)
        team.judge(0.3)
        for what, who, decision, number in presses:
            before = team.reviews()
            with contextlib.suppress(JudgeboardError):
                press(team, what, who, decision, number)
            # Nothing that was said is changed.
            assert team.reviews()[: len(before)] == before
            check(team)
    finally:
        store.close()
        for file in tmp_path.glob("judgeboard.db*"):
            file.unlink()


def press(team, what, who, decision, number):
    if what == "judge":
        team.judge(0.3, version=number)
        return
    by = getattr(team, who)
    if what == "grade":
        team.grade(by, quality=number)
    elif what == "undo":
        reviews = team.reviews()
        if reviews:
            team.undo(reviews[-1 - number % len(reviews)]["id"], by)
    else:
        flags = team.flags()
        team.decide(flags[number % len(flags)]["id"], by, decision, grade=Grade(note="typed"))


def check(team):
    standing = team.standing()
    for flag in team.flags():
        decisions = [
            row["decision"]
            for row in standing
            if flag["id"] in row["flag_ids"] and row["decision"] in {"confirm", "dismiss"}
        ]
        # A flag is decided once.
        assert len(decisions) <= 1
        if decisions:
            assert flag["state"] == {"confirm": "confirmed", "dismiss": "dismissed"}[decisions[0]]
        else:
            assert flag["state"] in {"open", "superseded"}
        if flag["state"] == "superseded":
            # Only a newer flag, or an earlier version's decided one, supersedes while the reason
            # holds.
            assert any(
                other["id"] > flag["id"] or other["state"] in {"confirmed", "dismissed", "open"}
                for other in team.flags()
                if other["rule"] == flag["rule"]
            )
    grades = [row for row in standing if row["decision"] is None and row["quality"] is not None]
    # One grade a reviewer.
    assert len(grades) == len(set(columns(grades, "reviewer_id")))
