"""However often rows are judged again, every figure is that of a table with the latest verdicts only."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Status
from judgeboard.measure.agreement import measure_agreement

VERDICTS = st.fixed_dictionaries(
    {
        "label": st.sampled_from([GOOD, BAD]),
        "groundedness": st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]),
        "quality": st.integers(1, 4),
    }
)
ANSWERS = st.lists(
    st.tuples(
        st.lists(VERDICTS | st.none(), min_size=1, max_size=4),  # asks of one judge
        st.lists(VERDICTS, min_size=1, max_size=3),  # people
        st.integers(0, 5),  # evidence
    ),
    min_size=10,
    max_size=24,
)


def by_turn(rounds):
    """Yield the first entry of each answer, then the second ones."""
    # All answers in one transaction, because storing takes long.
    for turn in range(max(map(len, rounds.values()))):
        yield {each: entries[turn] for each, entries in rounds.items() if turn < len(entries)}


def filled(store, answers, *, again):
    """A log with these answers; without ``again`` each has its latest usable verdict alone, or its latest failure."""
    log = GradedLog(store)
    version, other = log.version("rag"), log.version("other")
    ids = log.answers_of(
        {"group": group, "query_type": f"type {number % 3}"}
        for number, (*_, group) in enumerate(answers)
    )
    asked = {
        each: asks if again else [latest(asks)]
        for each, (asks, *_) in zip(ids, answers, strict=True)
    }
    for asks in by_turn(asked):
        log.say(version, {each: ask or {"status": Status.UNPARSABLE} for each, ask in asks.items()})
    people_of = {each: people for each, (_, people, _) in zip(ids, answers, strict=True)}
    log.say(other, {each: people[0] for each, people in people_of.items()})
    for place, grades in enumerate(by_turn(people_of)):
        log.reviews(grades, f"person {place}")


def latest(asks):
    """The latest usable verdict; None if each one failed."""
    return next((ask for ask in reversed(asks) if ask is not None), None)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answers=ANSWERS, grade=st.sampled_from(["label", "groundedness", "quality"]))
def test_every_figure_stays_that_of_the_latest_verdicts(new_store, answers, grade):
    found = []
    for again in (True, False):
        store = new_store()
        filled(store, answers, again=again)
        with_people = measure_agreement(
            store, judge_versions=["rag"], grade=grade, by="query_type", epsilon=0.2
        )
        judges = measure_agreement(store, of="judges", grade=grade)
        found.append([plain(with_people), plain(judges)])
        assert with_people.n <= len(answers)
        store.close()
    assert found[0] == found[1]


def plain(result):
    """All figures but the note that answers were judged again."""
    caveats = [each for each in result.caveats if each.code != "judged_again"]
    return replace(result, caveats=caveats)
