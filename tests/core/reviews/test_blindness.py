"""To a reviewer who is to review an answer blind it is not there, whatever is asked; afterwards all of it is."""

import io
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import (
    column,
    exists,
    literal,
    literal_column,
    select,
    table,
    text,
)

import judgeboard
from engines import on_sqlite
from judgeboard.errors import DecisionRefused, NotFound
from judgeboard.health.report import health_page, judges_in_use
from judgeboard.measure.agreement_page import agreement_details, agreement_page, flags_worth
from judgeboard.measure.disagreement import disagreement_page
from judgeboard.measure.pair_report import ComparedPairs
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.trend import trend
from judgeboard.measure.verdict_changes import comparison_page
from judgeboard.methods.audits.queries import audited_judgments
from judgeboard.methods.audits.report import audit_report, done_audits
from judgeboard.methods.refining.attempts import attempt_sequences
from judgeboard.reports.stats import measure_log, stats
from judgeboard.reviews.queues import close_queue
from judgeboard.reviews.shown import item_texts
from judgeboard.runs.raw_calls import raw_calls
from judgeboard.store.columns import row_of
from judgeboard.store.comparisons import latest_comparisons, pair_heads
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.export import export_tables, exports
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import (
    Seen,
    count_hidden,
    hidden_answers,
    hidden_by,
    hide_rows,
    part_of,
)
from judgeboard.store.items import load_item, response_of_flag
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.open_flags import (
    flag_after,
    neighbours,
    open_counts,
    queue_facets,
    queue_page,
)
from judgeboard.store.overview import count_log, overview, signal_counts
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.pairs import load_pairs
from judgeboard.store.preferences import load_preferences
from judgeboard.store.response_pages import response_facets, response_page
from judgeboard.store.reviews import comments_on, notes_of
from judgeboard.store.run_steps import run_problems
from judgeboard.store.runs import Selection, ask_mode, count_unasked
from judgeboard.store.sql_compiler import row_limits
from judgeboard.store.tables import (
    JUDGMENT,
    METADATA,
    RESPONSE,
)
from judgeboard.store.verdict_pairs import judged_texts, pairs_of_run, pairs_of_versions
from judgeboard.store.verdicts import load_rubric_scores
from marked_answer import NOW, SCORE, MarkedAnswer, found_in, mark_answer
from queue_case import QueueCase, queue_case
from result_fields import check_fields
from served_queues import BLIND
from stored_rows import columns

CORE = Path(judgeboard.__file__).parent
MARKED = RowFilter(ids=("marked",))


@dataclass
class Marked:
    """A case with a marked answer, which a queue gives to Mara blind. Ada spoke of it, Jon looks on."""

    case: QueueCase
    answer: MarkedAnswer

    def give(self, **rules):
        rules = BLIND | {"assigned": (self.case.mara,)} | rules
        self.case.queue(where=MARKED, **rules)

    def read(self, who, function, *args, **options):
        return self.case.read_as(who, function, *args, **options)

    def item(self, who, **options):
        return self.read(who, load_item, self.answer.response_id, **options)

    def listed(self, who):
        """The ids of the answers in the list of all answers."""
        return [line.external_id for line in self.read(who, response_page, RowFilter()).lines]

    def marks(self, who, function, *args):
        """The markers in what somebody is told, wherever they stand in it."""
        return found_in(self.read(who, function, *args))

    def is_hidden_from(self, who):
        hidden = not self.marks(who, everything)
        assert hidden == (not found_in(self.item(who)))
        return hidden


@pytest.fixture
def marked(store, fill_once):
    def fill(new):
        case = queue_case(new)
        return case.people, mark_answer(new, case.ada)

    people, answer = fill_once("marked answer", store, fill)
    return Marked(QueueCase(store, *people), answer)


def everything(connection):
    return [
        tuple(row)
        for table in METADATA.tables.values()
        for row in connection.execute(select(table))
    ]


def test_every_table_says_what_is_hidden_of_it_or_that_nothing_is():
    with_hidden_rows = [
        name for name, table in METADATA.tables.items() if row_of(table).has_hidden_rows
    ]
    assert 0 < len(with_hidden_rows) < len(METADATA.tables)
    for name in with_hidden_rows:
        assert hidden_by(name) or part_of(name)
    assert hidden_by("refinement") == {"root_response_id": "response", "response_id": "response"}
    assert part_of("preference_score") == ("review_id", "review")


@on_sqlite
def test_no_table_holds_a_word_on_a_hidden_answer(marked):
    everywhere = marked.marks(marked.case.mara, everything)
    assert len(everywhere) > 60
    marked.give()
    assert marked.marks(marked.case.mara, everything) == set()
    assert marked.marks(marked.case.jon, everything) == everywhere


def test_a_raw_call_is_hidden_with_its_judgment(marked):
    case = marked.case
    ids = [judgment.id for judgment in marked.item(case.jon).judgments]

    def calls(who):
        return len(marked.read(who, raw_calls, marked.answer.response_id, ids))

    assert calls(case.mara) == len(ids) > 1
    marked.give()
    assert (calls(case.mara), calls(case.jon)) == (0, len(ids))


def test_many_hidden_answers_are_hidden_as_well_as_a_few(marked):
    case = marked.case
    everywhere = marked.marks(case.mara, everything)
    marked.give()
    case.flagged(*[0.1] * 1_200, query_type="many")
    case.queue("many", where=RowFilter(query_types=("many",)), assigned=(case.mara,), **BLIND)
    assert marked.read(case.mara, count_hidden) == 1_201
    assert marked.marks(case.mara, everything) == set()
    assert marked.marks(case.jon, everything) == everywhere
    assert marked.listed(case.mara) == ["plain"]


def test_each_blind_reviewer_misses_only_their_own_answers(marked):
    case = marked.case
    case.flagged(0.1)
    marked.give()
    where = RowFilter(ids=("a0",))
    case.queue("other", where=where, assigned=(case.jon,), blind_judge=True, order="oldest")
    for who, answers in (
        (case.mara, {"plain", "a0"}),
        (case.jon, {"plain", "marked"}),
        (case.ada, {"plain", "marked", "a0"}),
    ):
        assert set(marked.listed(who)) == answers


@on_sqlite
def test_what_is_hidden_from_somebody_else_is_not_answered_for_a_blind_reviewer(marked):
    marked.give()
    mara, jon, *_ = marked.case.people
    assert marked.read(mara, hidden_answers, mara.id, [1, 2])
    with pytest.raises(ValueError, match="its own viewer"):
        marked.read(mara, hidden_answers, jon.id, [1, 2])


def audited(connection):
    reports = [
        (audit, audit_report(connection, *audit, reviewed_only=True))
        for audit in done_audits(connection)
    ]
    lists = [
        (audited.id, [*each.caught, *each.missed, *each.accused]) for (audited, _), each in reports
    ]
    return [
        reports,
        *(
            judged_texts(connection, id_, [each.response_id for each in answers])
            for id_, answers in lists
        ),
    ]


def reading(function, *args, **options):
    return lambda connection: function(connection, *args, **options)


def readers(answer, who):
    """What the pages and commands read, by name; each tells somebody who is not blind of a marker."""
    one, rag, nli = answer.response_id, answer.versions["rag"], answer.versions["nli"]
    lists = {
        "all": RowFilter(),
        "one": MARKED,
        "its words": RowFilter(text="answer of marked"),
        "its id": RowFilter(response_ids=(one,)),
        "its model": RowFilter(models=("mark-generator",)),
        "failures": RowFilter(statuses=("error",), judge="nli"),
    }
    return {
        f"the list of {name}": reading(response_page, where) for name, where in lists.items()
    } | {
        "the item": reading(load_item, one),
        "its rubric": reading(load_rubric_scores, one),
        "its comments": reading(comments_on, one, who.id),
        "its attempts": reading(attempt_sequences, one),
        "the list by score": reading(response_page, RowFilter(), "lowest"),
        "the list of a version": reading(response_page, RowFilter(judge_version=nli), "lowest"),
        "what can be filtered by": response_facets,
        "the queue": reading(queue_page, RowFilter()),
        "the queue of one": reading(queue_page, MARKED),
        "the queue's counts": open_counts,
        "the queue's facets": queue_facets,
        "disagreement": lambda c: disagreement_page(PairSource(c), rag, "quality", cell=(2, 1)),
        "what was said of a pair": reading(
            latest_comparisons, answer.versions["two"], answer.pair_id
        ),
        "preferences": lambda c: [load_preferences(c, [answer.pair_id]), notes_of(c, range(100))],
        "pair heads": reading(pair_heads, [answer.pair_id]),
        "problems of a run": reading(run_problems, answer.run_id),
        "versions compared": lambda c: comparison_page(c, pairs_of_versions(c, rag, nli)),
        "the audit": audited,
        "events": reading(latest_events, EventFilter(), limit=50),
        "own reviews of another": reading(own_reviews_page, 3),
    }


def others(answer, who):
    """What else is read, where no marker stands in plain sight: figures, counts, places."""
    measures = ("groundedness", "quality", "low_share", "flagged_share", "failed_check_share")
    return {
        "neighbours": reading(neighbours, RowFilter(), "worst", answer.flag_id),
        "flag after": reading(flag_after, RowFilter(), "worst", answer.flag_id),
        "the overview": reading(overview, who.id, NOW.date()),
        "the signals": signal_counts,
        "the number of answers": count_log,
        "trends": lambda c: [trend(c, measure=name) for name in measures],
        "agreement": lambda c: [
            (page := agreement_page(source, grade=grade), agreement_details(source, page))
            for grade in ("label", "groundedness", "quality")
            for source in (PairSource(c),)
        ],
        "health": lambda c: health_page(c, judges_in_use(c)[0]),
        "all figures": stats,
        "the worth of flags": flags_worth,
        "pairs": lambda c: [
            ComparedPairs(c, version).lines("overall") for version in (None, *list_versions(c)[-1:])
        ],
        "a run compared": lambda c: comparison_page(c, pairs_of_run(c, answer.run_id)),
        "what an audit would draw from": reading(audited_judgments, answer.versions["rag"], MARKED),
    }


def test_nothing_that_pages_and_commands_read_tells_a_blind_reviewer(marked):
    case, answer = marked.case, marked.answer
    marked.give()
    marks_by_reader = {
        name: marked.marks(case.jon, ask) for name, ask in readers(answer, case.jon).items()
    }
    assert [name for name, marks in marks_by_reader.items() if not marks] == []
    every = readers(answer, case.mara) | others(answer, case.mara)
    leaks = {name: marks for name, ask in every.items() if (marks := marked.marks(case.mara, ask))}
    assert leaks == {}


@on_sqlite
def test_figures_of_a_blind_reviewer_are_those_of_the_other_answers(marked):
    case = marked.case
    assert marked.read(case.mara, count_log) == 2
    marked.give()
    assert marked.read(case.mara, count_log) == 1
    of_mara, of_jon = (
        measure_log(Seen(case.store, who.id)).responses for who in (case.mara, case.jon)
    )
    assert of_mara == of_jon - 1
    assert [marked.read(who, count_hidden) for who in (case.mara, case.jon)] == [1, 0]


SIDES = {
    "judge_side": ("low", "high", "none"),
    "user": ("down", "up", "none"),
    "unscored": ("groundedness", "quality"),
}
ORACLES = [
    *(RowFilter(min_score=low, max_score=low + 0.1) for low in (0.3, 0.4, 0.6)),
    *(RowFilter(judge="nli", min_score=low, max_score=low + 0.1) for low in (0.5, 0.6)),
    *(RowFilter(min_quality=quality, max_quality=quality) for quality in (1, 2, 3, 4)),
    *(RowFilter(**{field: value}) for field, values in SIDES.items() for value in values),
    *(RowFilter(rules=(rule,)) for rule in ("low_groundedness", "low_quality", "mark-flag-rule")),
    *(RowFilter(states=(state,)) for state in ("open", "confirmed", "dismissed")),
    *(RowFilter(statuses=(status,)) for status in ("ok", "error")),
    *(RowFilter(graded=graded) for graded in (True, False)),
    *(RowFilter(models=(model,)) for model in ("mark-generator", "plain-model")),
]


def test_no_filter_tells_by_what_it_finds(marked):
    """One answer alone is asked about: found or not is all the same."""
    marked.give()
    totals = set()
    for where in ORACLES:
        for one in ({"ids": ("marked",)}, {"response_ids": (marked.answer.response_id,)}):
            totals |= marked.read(marked.case.mara, _totals, replace(where, **one))
    assert totals == {0}


def _totals(connection, filters):
    asks = count_unasked(connection, 1, Selection(filters, ask_mode("all"), None, 9_999))
    return {response_page(connection, filters).total, queue_page(connection, filters).total, asks}


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_an_export_leaves_out_what_is_hidden(marked, form):
    case = marked.case
    marked.give()

    def exported(viewer):
        files = {name: io.BytesIO() for name in exports()}
        export_tables(case.store, files, format=form, viewer=viewer)
        return {name: file.getvalue() for name, file in files.items()}

    def with_marks(files):
        return {name for name, file in files.items() if b"mark-" in file}

    of_jon, of_mara = exported(case.jon.id), exported(case.mara.id)
    # Definitions are the same for everybody.
    assert with_marks(of_jon) == set(exports()) - {"failure_modes", "issues", "label_schemas"}
    assert with_marks(of_mara) == set()
    if form == "jsonl":
        assert exported(None) == of_jon
        left = map(json.loads, of_mara["responses"].splitlines())
        assert "plain" in columns(left, "external_id")


@pytest.mark.parametrize("to_everybody", [False, True])
def test_an_answer_is_hidden_from_all_who_may_still_review_it(marked, to_everybody):
    case = marked.case
    people = case.mara, case.jon, case.lead
    marked.give(needed=2, assigned=(case.mara, case.jon))
    if to_everybody:
        case.unassign()
    case.release(case.lease(case.mara), case.mara)
    assert [marked.is_hidden_from(who) for who in people] == [True, True, to_everybody]
    case.review(case.mara)
    case.queue("other", where=MARKED, needed=2, order="oldest")
    elsewhere = case.lease(case.jon, "other")
    assert marked.marks(case.jon, item_texts, [elsewhere], case.jon.id) == set()
    assert [marked.is_hidden_from(who) for who in people] == [False, True, to_everybody]
    case.review(case.jon)
    # Nobody may review it any more.
    assert not any(marked.is_hidden_from(who) for who in people)


def test_a_closed_queue_hides_nothing(marked):
    marked.give()
    marked.case.unassign()
    assert marked.is_hidden_from(marked.case.jon)
    close_queue(marked.case.store, "q", by=marked.case.lead)
    assert not marked.is_hidden_from(marked.case.jon)


def test_what_is_given_stays_hidden_though_it_was_skipped(marked):
    case = marked.case
    marked.give()
    case.skip(case.lease(case.mara), case.mara, "later")
    assert marked.is_hidden_from(case.mara)


def test_an_undone_blind_review_hides_the_answer_again(marked):
    case = marked.case
    marked.give(needed=2)
    decided = case.review(case.mara)
    assert not marked.is_hidden_from(case.mara)
    case.undo(decided.review_id, case.mara)
    assert marked.is_hidden_from(case.mara) == bool(marked.item(case.mara).hidden)


def test_the_item_of_a_blind_reviewer_has_its_texts_and_says_what_is_hidden(marked):
    case = marked.case
    marked.give()
    item = marked.item(case.mara)
    check_fields(
        item.response,
        query="question of marked?",
        answer="answer of marked",
        passages=("passage of marked",),
        metadata={},
        generator_model=None,
        generator_cost=None,
        derived_from=None,
    )
    check_fields(item, judgments=(), currents=(), flags=(), reviews=(), flag=None)
    check_fields(item.hidden, judge=True, people=True, queues=("q",))
    for made_or_missing in (marked.answer.attempt_id, 999):
        with pytest.raises(NotFound):
            marked.read(case.mara, load_item, made_or_missing)
    assert marked.marks(case.jon, load_item, marked.answer.attempt_id)


def test_the_flag_of_a_hidden_answer_is_not_there(marked):
    marked.give()
    messages = []
    for flag_id in (marked.answer.flag_id, 9_999):
        with pytest.raises(NotFound) as none:
            marked.read(marked.case.mara, response_of_flag, flag_id)
        messages.append(str(none.value).replace(str(flag_id), "N"))
    assert messages[0] == messages[1]
    assert marked.read(marked.case.jon, response_of_flag, marked.answer.flag_id)


@on_sqlite
def test_a_queue_that_hides_people_alone_shows_the_judge_on_its_item_and_no_work_of_others(marked):
    marked.give(blind_judge=False)
    item = marked.item(marked.case.mara)
    assert SCORE in [judgment.groundedness for judgment in item.judgments]
    assert item.reviews == ()
    marks = [mark for mark in found_in(item) if "review" in mark or "span" in mark]
    # A judgment review is one of a supreme judge.
    assert [mark for mark in marks if "judgment_review" not in mark] == []


@on_sqlite
def test_a_queue_that_hides_the_judge_alone_shows_what_people_said_without_the_judges_statements(
    marked,
):
    marked.give(blind_people=False)
    (review,) = marked.item(marked.case.mara).reviews
    check_fields(review.grade, note="mark-review-note", claim_marks=(), why_differs=None)


@on_sqlite
def test_outside_of_queues_what_others_say_waits_for_the_own_review(marked):
    case, one = marked.case, marked.answer.response_id

    def shown_to(who):
        item = marked.item(who, own_first=True)
        assert item.judgments
        comments = marked.read(who, comments_on, one, who.id, own_first=True)
        marks = found_in((item.reviews, comments))
        told = {mark for mark in marks if "review" in mark or "comment" in mark}
        return item.hidden.people, told

    assert shown_to(case.jon) == (True, set())
    hidden, of_others = shown_to(case.ada)
    assert not hidden
    assert of_others
    case.grade(one, case.jon, quality=3)
    assert shown_to(case.jon) == (False, of_others)
    assert marked.item(case.mara).reviews


@on_sqlite
def test_a_comment_of_another_person_waits_for_the_own_review_too(case):
    (one,) = case.add("a")
    case.comment(one, case.jon, "It is wrong.")
    hidden = [
        case.read_as(who, load_item, one, own_first=True).hidden.people
        for who in (case.mara, case.jon)
    ]
    assert hidden == [True, False]


def test_a_pair_that_is_reviewed_blind_is_hidden_with_what_was_said_of_its_sides(marked):
    case = marked.case
    case.queue(subject="pairs", assigned=(case.mara,), **BLIND)
    assert marked.marks(case.jon, everything)
    assert marked.marks(case.mara, everything) == set()
    assert marked.read(case.mara, load_pairs, [marked.answer.pair_id]) == []


@on_sqlite
def test_who_is_to_review_blind_decides_nothing_where_the_judge_is_in_view(marked):
    case = marked.case
    marked.give()
    with pytest.raises(DecisionRefused):
        case.decide(marked.answer.flag_id, case.mara)
    with pytest.raises(DecisionRefused):
        case.grade(marked.answer.response_id, case.mara, quality=3)
    case.decide(marked.answer.flag_id, case.jon)


@on_sqlite
def test_a_connection_on_which_rows_are_hidden_answers_queries_alone(marked):
    case = marked.case
    marked.give()
    with case.store.writing() as connection:
        hide_rows(connection, case.mara.id)
        with pytest.raises(ValueError, match="answers only queries"):
            connection.execute(text("UPDATE flag SET state = 'open'"))
    reasoning = "SELECT reasoning FROM judgment"
    refused = [
        text(reasoning),
        text(reasoning).columns(JUDGMENT.c.reasoning),
        select(text("judgment.score FROM judgment")),
        select(literal_column("(SELECT max(reasoning) FROM judgment)")),
        select(table("judgment_copy", column("id"))),
    ]
    with Seen(case.store, case.mara.id).reading() as connection:
        for query in refused:
            with pytest.raises(ValueError, match="hidden"):
                connection.execute(query)
        with pytest.raises(ValueError, match="hidden"):
            connection.exec_driver_sql(reasoning)


def test_a_table_is_filtered_wherever_it_stands_in_a_statement(marked):
    case, judgment, response = marked.case, JUDGMENT, RESPONSE
    same, picked = judgment.alias(), select(judgment).cte("picked")
    reasoning = select(judgment.c.reasoning).where(judgment.c.response_id == response.c.id).limit(1)
    places = {
        "alias": select(same),
        "expression": select(picked),
        "subquery": select(select(judgment).subquery()),
        "lateral value": select(response.c.kind, reasoning.scalar_subquery()),
        "union": select(judgment.c.reasoning).union_all(select(same.c.reasoning)),
        "join": select(response.c.kind, same.c.reasoning).join(
            same, same.c.response_id == response.c.id
        ),
        "clause by name": select(table("judgment", column("reasoning"))),
        "exists": select(literal("mark-found")).where(
            exists().where(judgment.c.groundedness == SCORE)
        ),
    }

    def with_marks():
        with Seen(case.store, case.mara.id).reading() as connection:
            return [
                place
                for place, query in places.items()
                if found_in(connection.execute(query).all())
            ]

    assert with_marks() == [*places]
    marked.give()
    assert with_marks() == []


def test_whole_rows_are_read_where_it_is_known_what_to_leave_out():
    """Who asks for what is hidden is looked at: a new place belongs into this list only with a reason."""
    known = {
        "store/hidden_rows.py",  # counts alone
        "store/settings.py",  # the primary judge: the same for everybody
        "store/items.py",  # leaves out by `Hidden`
        "store/reviews.py",  # `find_reviews` for store/items.py
        "store/queue_items.py",  # texts alone
        "store/pairs.py",  # texts alone
        "store/metadata.py",  # the names of indexes
        "store/events.py",  # whom a notification is for; what it is about is read without hidden rows
    }
    asking = {
        path.relative_to(CORE).as_posix()
        for path in CORE.rglob("*.py")
        if re.search(r"\bwith_hidden_rows\(", path.read_text())
    }
    assert asking - {"store/sql_compiler.py"} == known


def test_more_answers_than_a_statement_lists_are_hidden_too(case):
    case.add(*(f"hidden-{number}" for number in range(1_001)))
    case.queue(blind_judge=True, flagged_only=False, order="random", max_items=1_001)
    (visible,) = case.add("visible")
    with Seen(case.store, case.mara.id).reading() as connection:
        assert connection.scalars(select(RESPONSE.c.id)).all() == [visible]
        assert row_limits(connection) is None
