"""What is kept of a log equals what is read anew after every change, and is never given to whom something is hidden."""

import json
import random
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert, select

from graded_log import BAD, GOOD, GradedLog, read
from judgeboard.domain import Decision, Feedback, FeedbackKind, QueueOrder, Response, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.measure.agreement import agreement_of
from judgeboard.measure.choice import AgreementChoice
from judgeboard.measure.rates import RateChoice, rate_of
from judgeboard.measure.sample import (
    MOST_KEPT,
    answers_of,
    log_revision,
    reviews_of,
    verdicts_of_reviewed,
)
from judgeboard.people.roster import ensure_reviewer, set_sources
from judgeboard.reviews.queues import close_queue, create_queue
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store, connect
from judgeboard.store.filters import RowFilter
from judgeboard.store.forgetting import forget_response
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.queues import new_queue
from judgeboard.store.storing import add_feedback, reapply_flags, store_responses
from judgeboard.store.tables import CHANGE, RESPONSE, StoredVersion
from judgeboard.store.triggers import MOST_CHANGES
from judgeboard.store.verdicts import matching_answers
from stored_rows import row_count, values_of, write_to

STEPS = 25


def anew(store):
    """The same database, opened once more: nothing is kept of it."""
    return Store(connect(store.engine.url, create=False))


def columns(table):
    """The columns of a table as lists that can be compared; missing scores are None."""
    named = {each.name: getattr(table, each.name) for each in fields(table)}
    types = named.pop("query_types", None)
    lists = {name: np.where(np.isnan(each), -1, each).tolist() for name, each in named.items()}
    return lists, types and (types.names, types.codes.tolist())


def figures(store, versions, viewer):
    """The tables of versions and of people, and the rate by query type and the agreement of the first version."""
    with Seen(store, viewer).reading() as connection:
        tables = (
            *(answers_of(connection, version.id) for version in versions),
            answers_of(connection, None),
            verdicts_of_reviewed(connection),
            reviews_of(connection),
            reviews_of(connection, implied_labels=False),
        )
        rate = rate_of(connection, versions[0], RateChoice(by="query_type"))
        agreement, choice = None, AgreementChoice("judge", (versions[0].id,), grade="label")
        with suppress(NotFound):
            agreement = agreement_of(connection, choice)
        return [columns(each) for each in tables], rate, agreement


def limited(store, name, source):
    """The id of a person who may see one source only."""
    person = ensure_reviewer(store, "page", name)
    set_sources(store, name, [source], "lead", origin="page")
    return person.id


@dataclass
class ChangingLog:
    """A log in which anything changes, by a seed."""

    log: GradedLog
    folder: Path
    rng: random.Random
    versions: list[StoredVersion] = field(default_factory=list)
    reviews: list[tuple[int, int]] = field(default_factory=list)
    number: int = 0

    @property
    def store(self):
        return self.log.store

    def some(self, n=3):
        ids = values_of(self.store, RESPONSE.c.id, RESPONSE.c.kind == "log")
        return self.rng.sample(ids, min(n, len(ids)))

    def import_answers(self):
        self.number += 1
        rows = [
            {
                "id": f"i{self.number}-{each}",
                "query": "q",
                "answer": "a",
                "passages": [f"p{each}"],
                "query_type": self.rng.choice("ABC"),
                "asked_at": f"2026-01-0{self.rng.randint(1, 9)}T12:00:00Z",
            }
            for each in range(4)
        ]
        file = self.folder / "log.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in rows))
        source = self.rng.choice(["log", "other"])
        import_file(self.store, file, kind="responses", source=source)

    def undo_import(self):
        try:
            undo_import(self.store, with_reviews=self.rng.random() < 0.5)
        except (BadInput, NotFound):
            return
        known = values_of(self.store, RESPONSE.c.id)
        self.reviews = [each for each in self.reviews if each[1] in known]

    def forget(self):
        columns = select(RESPONSE.c.external_id, RESPONSE.c.source)
        with self.store.writing() as connection:
            for each in self.some(1):
                name, source = connection.execute(columns.where(RESPONSE.c.id == each)).one()
                forget_response(connection, name, source=source, actor="test")

    def judge(self):
        """Judge or judge again, sometimes without a usable verdict."""
        verdicts = {}
        for each in self.some():
            score = round(self.rng.random(), 3)
            usable = {"groundedness": score, "quality": self.rng.choice([None, 1, 4])}
            labelled = usable | {"label": self.rng.choice([GOOD, BAD])}
            verdicts[each] = self.rng.choice([usable, labelled, {"status": Status.UNPARSABLE}])
        self.log.say(self.rng.choice(self.versions), verdicts)

    def review(self):
        label, person = self.rng.choice([GOOD, BAD]), self.rng.choice(["mara", "jon"])
        self.reviews += [
            (self.log.review(each, person, label=label), each) for each in self.some(2)
        ]

    def be_unsure(self):
        for each in self.some(1):
            self.log.review(each, decision=Decision.UNSURE.value)

    def undo_review(self):
        if self.reviews:
            self.log.withdraw(*self.reviews.pop())

    def adjudicate(self):
        for each in self.some(1):
            self.log.review(each, "lead", label=self.rng.choice([GOOD, BAD]), stage="adjudication")

    def flag(self):
        write_to(self.store, reapply_flags, self.some(20))

    def set_threshold(self):
        self.log.set("low_groundedness", round(self.rng.uniform(0.2, 0.9), 2))

    def set_primary_judge(self):
        self.log.set("primary_judge", self.rng.choice(self.versions).name)

    def draw_at_random(self):
        self.log.set("random_share", self.rng.choice([0, 0.5]))

    def make_queue(self):
        self.number += 1
        lead = ensure_reviewer(self.store, "page", "Lead")
        flagged = self.rng.random() < 0.5
        size = None if flagged else 5
        rules = new_queue(
            f"q{self.number}", order=QueueOrder.RANDOM, flagged_only=flagged, max_items=size
        )
        try:
            create_queue(self.store, rules, by=lead)
        except BadInput:  # nothing matches
            return
        if self.rng.random() < 0.5:
            close_queue(self.store, rules.name, by=lead)


CHANGES = [
    ChangingLog.import_answers,
    ChangingLog.undo_import,
    ChangingLog.judge,
    ChangingLog.review,
    ChangingLog.be_unsure,
    ChangingLog.undo_review,
    ChangingLog.adjudicate,
    ChangingLog.flag,
    ChangingLog.set_threshold,
    ChangingLog.set_primary_judge,
    ChangingLog.draw_at_random,
    ChangingLog.make_queue,
    ChangingLog.forget,
    ChangingLog.judge,
    ChangingLog.review,
    ChangingLog.import_answers,
]


@pytest.mark.parametrize("seed", range(2))
def test_after_every_change_what_is_kept_equals_what_is_read_anew(store, tmp_path, seed):
    log = GradedLog(store)
    rng = random.Random(seed)
    changing = ChangingLog(log, tmp_path, rng, [log.version("rag"), log.version("nli")])
    log.answers(12, query_type="A")
    for _ in range(3):
        changing.judge()
    mara = limited(store, "Mara", "log")
    order = list(changing.versions)
    # The tables are read by the same statements on both engines.
    for _ in range(STEPS if store.is_sqlite else STEPS // 3):
        change = rng.choice(CHANGES)
        change(changing)
        with closing(anew(store)) as fresh:
            # In turn, each sees the figures of each version: what is not up to date stays so.
            for viewer, versions in zip((None, mara), (order, order[::-1]), strict=True):
                kept, read_anew = (figures(each, versions, viewer) for each in (store, fresh))
                assert kept == read_anew, change.__name__
        order.reverse()


def test_an_answer_that_is_committed_late_is_not_missed(postgres_store):
    log = GradedLog(postgres_store)
    log.answers(2)
    with postgres_store.writing() as late:
        store_responses(late, [Response("log", "late", "q", "a", ("p",))])
        log.answers(1)
        for _ in range(2):  # the second look reads no change of the first again
            with postgres_store.reading() as connection:
                assert len(answers_of(connection, None).response_ids) == 3
                revision = log_revision(connection)
    with postgres_store.reading() as connection:
        assert log_revision(connection) > revision
        assert answers_of(connection, None).response_ids.tolist() == [1, 2, 3, 4]


def test_figures_are_kept_until_something_changes(store):
    log = GradedLog(store)
    log.answers(2)
    first = log.read(log_revision)
    assert log.read(log_revision) == first
    log.review(1, label=GOOD)
    assert log.read(log_revision) > first


def test_figures_of_people_with_limited_sources_are_kept_for_each_set_of_sources(store):
    log = GradedLog(store)
    log.answers(2)
    log.answers(1, source="other")
    mara, ben, ann = (
        limited(store, name, source)
        for name, source in (("Mara", "log"), ("Ben", "log"), ("Ann", "other"))
    )

    def kept(viewer):
        return read(Seen(store, viewer), answers_of, None)

    assert kept(mara) is kept(ben)
    assert [len(kept(viewer).response_ids) for viewer in (None, mara, ann)] == [3, 2, 1]
    set_sources(store, "Ben", ["other"], "lead", origin="page")
    assert kept(ben) is kept(ann)


def test_of_many_sets_of_sources_the_last_are_kept_and_all_sources_always(store):
    log = GradedLog(store)
    log.answers(1)
    viewers = [
        limited(store, f"person {number}", f"source {number}") for number in range(MOST_KEPT + 1)
    ]
    of_all = log.read(answers_of, None)
    marks = [read(Seen(store, viewer), log_revision) for viewer in viewers * 2]
    # Figures that are read again never have the mark of earlier ones.
    assert len(set(marks)) == len(marks)
    assert log.read(answers_of, None) is of_all


def test_whoever_reads_an_older_state_does_not_take_a_change_away(sqlite_store):
    log = GradedLog(sqlite_store)
    log.answers(2)
    with sqlite_store.reading() as older:
        assert answers_of(older, None).response_ids.tolist() == [1, 2]
        version = log.version()
        log.say_all(version, log.answers(1), label=BAD)
        with sqlite_store.reading() as newer:
            assert answers_of(newer, None).response_ids.tolist() == [1, 2, 3]
        assert len(answers_of(older, version.id).response_ids) == 0
    with sqlite_store.reading() as newer:
        assert answers_of(newer, version.id).response_ids.tolist() == [3]


def test_what_is_written_but_not_committed_is_not_kept(store):
    log = GradedLog(store)
    log.answers(1)
    with store.writing() as connection:
        store_responses(connection, [Response("log", "never", "q", "a", ("p",))])
        assert len(answers_of(connection, None).response_ids) == 2
        connection.rollback()
    assert len(log.read(answers_of, None).response_ids) == 1


def test_changes_that_are_deleted_before_they_are_read_count(store):
    log = GradedLog(store)
    log.answers(1)
    assert len(log.read(answers_of, None).response_ids) == 1
    log.answers(1)
    change = {"id": 2 * MOST_CHANGES, "response_id": 1, "writer": 2**40}
    with store.writing() as connection:
        connection.execute(insert(CHANGE), change)
    assert row_count(store, CHANGE) == 1
    assert len(log.read(answers_of, None).response_ids) == 2


@pytest.mark.parametrize(
    "where", [RowFilter(query_types=("A",)), RowFilter(day_from=20_001), RowFilter(graded=True)]
)
def test_a_filter_of_what_is_kept_gives_the_answers_that_it_finds(store, where):
    log = GradedLog(store)
    ids = [
        *log.answers(2, query_type="A", day=20_000),
        *log.answers(2, query_type="B", day=20_002),
        *log.answers(1),
    ]
    log.review_all(ids[1:3], label=GOOD)
    with store.reading() as connection:
        found = answers_of(connection, None, where)
        assert found.response_ids.tolist() == matching_answers(connection, where).tolist()
    types = found.query_types
    assert set(types.names) == {types.names[code] for code in types.codes}


def test_a_blind_reviewer_gets_nothing_of_what_is_kept_for_others(store):
    log = GradedLog(store)
    ids = log.answers(4, query_type="open") + log.answers(2, query_type="marker")
    version = log.version()
    log.say_all(version, ids, label=BAD, groundedness=0.125)
    lead, mara = (ensure_reviewer(store, "page", name) for name in ("Lead", "Mara"))
    rules = new_queue(
        "blind", RowFilter(query_types=("marker",)), order=QueueOrder.OLDEST, blind_judge=True
    )
    create_queue(store, rules.changed(flagged_only=False, max_items=2), by=lead, assigned=(mara,))

    def types(viewer):
        with Seen(store, viewer).reading() as connection:
            # The parts of a figure read the log once.
            assert answers_of(connection, None) is answers_of(connection, None)
            return [
                name
                for each in (version.id, None)
                for name in answers_of(connection, each).query_types.names
            ]

    for _ in range(2):
        assert types(lead.id) == ["marker", "open"] * 2
        assert types(mara.id) == ["open"] * 2


@pytest.mark.parametrize("is_judged", [True, False])
def test_a_filter_by_feedback_finds_feedback_that_comes_later(store, is_judged):
    log = GradedLog(store)
    version, ids = None, log.answers(12)
    if is_judged:
        version = log.version()
        log.say_all(version, ids, groundedness=0.9, label=GOOD)
    log.review_all(ids, label=GOOD)
    choice = RateChoice(where=RowFilter(user="down"))
    thumbs_down = [Feedback(FeedbackKind.THUMBS, 0)]
    for feedback, n in ({}, 0), (dict.fromkeys(ids[:5], thumbs_down), 5):
        write_to(store, add_feedback, feedback, (), None, utc_now())
        assert log.read(rate_of, version, choice).about.counts["answers"] == n
