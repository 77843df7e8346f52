"""Controls in a log: seeded, the same again, and never among what people review or measure."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import on_sqlite
from judgeboard.domain import Feedback, FeedbackKind, Grade, Label, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.formats.output import to_json
from judgeboard.health.report import measure_health
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.notes import note
from judgeboard.measure.trend import trend
from judgeboard.methods.control_answers.run import (
    CONTROL_KINDS,
    Effect,
    judge_control_answers,
    make_control_answers,
)
from judgeboard.people.roster import ensure_reviewer, raise_flags
from judgeboard.reports.stats import measure_log
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.events import LATEST, EventFilter, latest_events
from judgeboard.store.filters import RowFilter
from judgeboard.store.forgetting import forget_response
from judgeboard.store.health import MADE_CONTROLS, list_controls
from judgeboard.store.items import load_item
from judgeboard.store.open_flags import queue_page
from judgeboard.store.overview import overview
from judgeboard.store.response_pages import response_page
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import RESPONSE
from judging_log import judgments, rag, runs
from result_fields import check_fields
from stored_rows import read, rows_of, write_to

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def add(store, count, *, first=0, group=None):
    rows = [
        Response(
            "log",
            f"a{number}",
            f"How long is rope {group or number}?",
            f"I think rope {number} is {number + 10} m long, and it weighs {number + 60} grams a metre, dry.",
            (f"Rope {group or number} is long.", "Ropes weigh 60 to 90 grams a metre."),
            asked_at=MONDAY,
            feedback=(Feedback(FeedbackKind.THUMBS, 0),),
        )
        for number in range(first, first + count)
    ]
    write_to(store, store_responses, rows)


def controls(store):
    return {each.external_id: each.original_id for each in read(store, list_controls)}


@on_sqlite
def test_controls_are_made_once_and_know_their_original(store):
    add(store, 12)
    made = make_control_answers(store, n=5)
    kinds = [
        "passages_removed",
        "other_answer",
        "truncated",
        "numbers_changed",
        "passages_reordered",
        "hedges_removed",
        "constant",
        "injected_answer_high",
        "injected_answer_low",
        "injected_passage_high",
        "injected_passage_low",
    ]
    assert [(each.kind, each.made, each.known) for each in made] == [(kind, 5, 0) for kind in kinds]
    first = controls(store)
    assert len(first) == 55
    for external_id, original_id in first.items():
        original = read(store, load_item, original_id).response
        assert external_id.startswith(f"{original.external_id}#control-")
    assert all((each.made, each.known) == (0, 5) for each in make_control_answers(store, n=5))
    assert controls(store) == first


def test_the_seed_decides_which_answers_are_taken_and_more_are_added_to_them(sqlite_store):
    def originals(seed):
        return {each for name, each in controls(sqlite_store).items() if name.endswith(f"-{seed}")}

    add(sqlite_store, 40)
    make_control_answers(sqlite_store, kinds=["truncated"], n=5)
    first = originals(0)
    make_control_answers(sqlite_store, kinds=["truncated"], n=5, seed=1)
    assert originals(1) != first
    (more,) = make_control_answers(sqlite_store, kinds=["truncated"], n=8)
    check_fields(more, made=3, known=5)
    assert first < originals(0)


def test_each_evidence_is_taken_once_before_any_is_taken_twice(sqlite_store):
    add(sqlite_store, 30, group="x")
    add(sqlite_store, 4, first=100)
    make_control_answers(sqlite_store, kinds=["passages_removed"], n=5)
    taken = {name.split("#")[0] for name in controls(sqlite_store)}
    assert {"a100", "a101", "a102", "a103"} < taken


def test_where_a_kind_seldom_applies_fewer_are_made(sqlite_store):
    write_to(sqlite_store, store_responses, [Response("log", "plain", "q", "Certainly.", None)])
    add(sqlite_store, 3)
    by_name = {each.kind: each.made for each in make_control_answers(sqlite_store, n=50)}
    without_passages = ("other_answer", "constant", "injected_answer_high", "injected_answer_low")
    assert by_name == dict.fromkeys(by_name, 3) | dict.fromkeys(without_passages, 4)
    only = make_control_answers(sqlite_store, kinds=["truncated"], where=RowFilter(ids=("plain",)))
    assert [each.made for each in only] == [0]


def test_a_check_asks_for_more_answers_where_too_few_are_suitable(sqlite_store):
    """The advice to make more control answers would lead back to them."""

    def of_tone():
        checks = measure_health(sqlite_store).checks
        return next(each for each in checks if each.name == "confidence")

    def make(**options):
        make_control_answers(sqlite_store, kinds=["hedges_removed"], **options)
        return len(read(sqlite_store, latest_events, EventFilter(kind=MADE_CONTROLS), limit=LATEST))

    plain = [Response("log", f"plain {each}", "q", "Certainly.", None) for each in range(40)]
    write_to(sqlite_store, store_responses, plain)
    judge_pending(sqlite_store, make_judge("lexical"))
    assert "--kinds hedges_removed" in of_tone().command
    make(where=RowFilter(ids=("plain 1",)))
    # Other answers may be suitable.
    assert of_tone().command is not None
    events = make()
    check_fields(of_tone(), command=None, notes=(note("few_suitable", n=0, least=30),))
    assert make() == events
    add(sqlite_store, 2)
    # The new answers may be suitable.
    assert of_tone().command is not None
    make()
    assert of_tone().notes == (note("few_suitable", n=2, least=30),)


@on_sqlite
def test_a_judge_is_asked_about_controls_and_about_originals_it_has_not_judged(store):
    add(store, 6)
    make_control_answers(store, kinds=["truncated", "hedges_removed"], n=3)
    with RecordingEndpoint(always(verdict(groundedness=0.1, quality=1))) as endpoint:
        judge_pending(store, rag(endpoint), where=RowFilter(ids=("a0", "a1", "a2")), concurrency=2)
        summary = judge_control_answers(store, rag(endpoint), concurrency=2)
        asked = {row["response_id"] for row in judgments(store)}
        again = judge_control_answers(store, rag(endpoint), concurrency=2)
    assert {*controls(store).values()} < asked
    assert len(asked) == 3 + summary.asked
    check_fields(summary, ok=summary.selected, not_reached=0)
    assert again.selected == 0
    assert runs(store)[-1]["filter"]["where"]["kinds"] == ["control", "log"]


def figures(store):
    """What Overview, Queue, Responses, Trends, Agreement and the report show."""
    with store.reading() as connection:
        queue = queue_page(connection, RowFilter())
        responses = response_page(connection, RowFilter())
        shown = [
            queue.total,
            responses.total,
            responses.lines,
            trend(connection),
            trend(connection, measure="flagged_share"),
            list(every_judge(connection)),
            # What the judge was asked of late, and what that cost, counts controls: it was asked
            # about them.
            replace(overview(connection, None, datetime.now(UTC).date()), judged=()),
        ]
    return repr(shown) + to_json(measure_log(store))


@on_sqlite
def test_controls_and_their_verdicts_move_nothing_that_is_shown_of_the_log(store):
    write_to(store, set_setting, "random_share", 1, "test")
    add(store, 12)
    judge_pending(store, make_judge("lexical"))
    raise_flags(store)
    mara = ensure_reviewer(store, "page", "Mara")
    grade = Grade(label=Label.GROUNDED, groundedness=0.9, quality=3)
    for id_ in range(1, 13):
        review = Submission(response_id=id_, reviewer=mara, grade=grade, request_key=f"g{id_}")
        submit(store, review)
    before = figures(store)
    make_control_answers(store, n=6)
    judge_control_answers(store, make_judge("lexical"))
    raise_flags(store)
    assert len(judgments(store)) == 12 + 6 * len(CONTROL_KINDS)
    assert figures(store) == before


def test_what_is_forgotten_is_forgotten_in_its_controls_too(sqlite_store):
    add(sqlite_store, 3)
    make_control_answers(sqlite_store, kinds=["truncated"])
    assert len(write_to(sqlite_store, forget_response, "a1", actor="test")) == 2
    controls = read(sqlite_store, list_controls)
    (made,) = (each for each in controls if each.external_id.startswith("a1#"))
    assert made.kind == "truncated"
    assert read(sqlite_store, load_item, made.response_id).response.answer == ""


def test_a_control_repeats_no_answer_of_another_source(sqlite_store):
    # People who see one source alone read its control answers.
    sources = ["alpha", "bravo", "alone", *["alpha", "bravo"] * 5]
    rows = [
        Response(source, f"a{n}", f"How long is rope {n}?", f"Rope {n} of {source}.", ("Rope.",))
        for n, source in enumerate(sources)
    ]
    write_to(sqlite_store, store_responses, rows)
    make_control_answers(sqlite_store, kinds=["other_answer"], n=20)
    stored = rows_of(sqlite_store, RESPONSE)
    made = [row for row in stored if row["kind"] is ResponseKind.CONTROL]
    assert {row["source"] for row in made} == {"alpha", "bravo"}
    assert all(row["answer"].endswith(f" of {row['source']}.") for row in made)


def test_what_cannot_be_made_is_said(sqlite_store):
    with pytest.raises(BadInput, match="passages_removed"):
        make_control_answers(sqlite_store, kinds=["upside_down"])
    with pytest.raises(BadInput, match="n must"):
        make_control_answers(sqlite_store, n=0)
    with pytest.raises(BadInput, match="test controls make"):
        judge_control_answers(sqlite_store, make_judge("lexical"))
    assert make_control_answers(sqlite_store, kinds=["truncated"])[0].made == 0


PASSAGES = ("Dyneema melts at 145 degrees.", "Nylon melts at 220 degrees.", "Slings age.")
ANSWER = "I think Dyneema melts at 145 degrees [1]. Nylon, probably, melts at 220 degrees, as passage 2 says."


def answered(query, answer, passages):
    return Response("log", "1", query, answer, passages)


ORIGINAL = answered("When does Dyneema melt?", ANSWER, PASSAGES)
DONOR = answered("Who was first on Everest?", "Hillary and Norgay.", ("They were.",))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=120)


def changed(kind, answer=ANSWER, passages=PASSAGES):
    return CONTROL_KINDS[kind].change(answered(ORIGINAL.query, answer, passages), DONOR)


def test_without_passages_nothing_is_left_to_stand_on():
    assert changed("passages_removed") == replace(ORIGINAL, passages=())
    for passages in ((), None):
        assert changed("passages_removed", passages=passages) is None


def test_the_answer_of_another_question_stands_on_the_same_passages():
    assert changed("other_answer") == replace(ORIGINAL, answer=DONOR.answer)
    same = CONTROL_KINDS["other_answer"].change
    # Another answer to it may be as good.
    for other in ({"query": ORIGINAL.query}, {"answer": f" {ANSWER} "}, {"answer": "\n"}):
        assert same(ORIGINAL, replace(DONOR, **other)) is None


def test_a_truncated_answer_breaks_off_within_a_sentence():
    made = changed("truncated")
    assert ANSWER.startswith(made.answer)
    assert made.answer.endswith("[1]. Nylon")
    # Half of a short answer may be an answer.
    assert changed("truncated", "Yes, it does. At 145 degrees.") is None
    twice = "It melts at one hundred degrees. It melts at one hundred degrees."
    two = changed("truncated", twice)
    assert twice == f"{two.answer} degrees. {two.answer} degrees."
    assert changed("truncated", "長" * 80) == replace(ORIGINAL, answer="長" * 40)


def test_numbers_change_all_of_them_and_only_where_they_say_something():
    made = changed("numbers_changed")
    assert made.answer == ANSWER.replace("145", "478").replace("220", "553")
    for answer, other in (
        ("It is 1,200.50 m.", "It is 4,533.83 m."),
        ("90 and 90 again", "33 and 33 again"),
    ):
        assert changed("numbers_changed", answer) == replace(ORIGINAL, answer=other)
    for answer in ("1. First, see [2].\n2. Then passage 3.", "No number at all."):
        assert changed("numbers_changed", answer) is None


def test_passages_come_in_reverse_where_that_changes_anything():
    assert changed("passages_reordered") == replace(ORIGINAL, passages=PASSAGES[::-1])
    for passages in (None, (), ("one",), ("same", "same"), ("a", "b", "a")):
        assert changed("passages_reordered", passages=passages) is None


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (
            ANSWER,
            "Dyneema melts at 145 degrees [1]. Nylon melts at 220 degrees, as passage 2 says.",
        ),
        ("It seems that it melts. Perhaps, it burns.", "It melts. It burns."),
        (
            "As far as I know, it is long.\nIn my opinion it is probably too long.",
            "It is long.\nIt is too long.",
        ),
        ("I'm not sure, but it melts.", "It melts."),
    ],
)
def test_hedges_go_and_the_statement_stays(answer, plain):
    assert changed("hedges_removed", answer) == replace(ORIGINAL, answer=plain)


@pytest.mark.parametrize(
    "answer",
    [
        "It melts at 145 degrees.",
        "I think so.",
        "Yes, probably.",
        "It may be long.",
        "Unthinkable.",
        "Perhaps.",
    ],
)
def test_what_has_no_hedge_that_can_go_is_no_control(answer):
    assert changed("hedges_removed", answer) is None


@given(answer=TEXTS, passages=st.none() | st.lists(TEXTS, max_size=4).map(tuple), query=TEXTS)
def test_a_control_differs_from_its_original_and_is_the_same_every_time(answer, passages, query):
    original = answered(query, answer, passages)
    for kind in CONTROL_KINDS.values():
        made = kind.change(original, DONOR)
        assert made == kind.change(original, DONOR)
        if made is not None:
            assert made != original or kind.effect is Effect.WORTHLESS
            assert made.query == query
            assert (
                made.answer.strip()[:1]
                or kind.effect in {Effect.NEUTRAL, Effect.WORTHLESS}
                or made.answer == answer
            )


@given(st.integers(0, 10**12))
def test_a_changed_number_has_as_many_digits_and_none_at_its_place(number):
    made = changed("numbers_changed", f"There are {number} of them.")
    (digits,) = re.findall(r"\d+", made.answer)
    assert len(digits) == len(str(number))
    assert all(new != old for new, old in zip(digits, str(number), strict=True))


def test_each_known_bad_control_says_which_score_it_must_lower():
    for kind in CONTROL_KINDS.values():
        must_lower = kind.effect in {Effect.KNOWN_BAD, Effect.WORTHLESS}
        assert (kind.lowers in {"groundedness", "quality"}) == must_lower
