"""What was forgotten is nowhere in the database any more, whichever way it got there; figures stay as they were."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import insert, inspect, select, text

from judgeboard.domain import (
    AspectPreference,
    Attempt,
    Claim,
    ClaimStatus,
    DimensionScore,
    GivenPreference,
    Grade,
    Pair,
    Preference,
    Response,
    ResponseKind,
    Shown,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.errors import NotFound
from judgeboard.methods.control_answers.run import make_control_answers
from judgeboard.methods.refining.queries import insert_refinements
from judgeboard.methods.refining.tables import Refinement
from judgeboard.methods.self_reference.queries import NewSample, load_samples, store_samples
from judgeboard.store import forgetting
from judgeboard.store.comparisons import (
    REFERENCE,
    NewComparison,
    load_comparisons,
    store_comparisons,
)
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.filters import parse_where
from judgeboard.store.forgetting import (
    ForgottenAnswers,
    count_to_forget,
    forget_matching,
    forget_response,
)
from judgeboard.store.generations import NewGeneration, store_generations, stored_ids
from judgeboard.store.grades import GradeOf, ImportedGrade, insert_grades
from judgeboard.store.judgments import NewJudgment, step_values
from judgeboard.store.pairs import store_pairs
from judgeboard.store.preferences import PreferenceOf, load_preferences, store_preferences
from judgeboard.store.responses import external_ids, key_of
from judgeboard.store.runs import start_import_run
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import GENERATION, JUDGMENT, JUDGMENT_REVIEW, RESPONSE
from stored_rows import write_to

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "Quokka-7741"
TRIED = (Attempt("first", "ok", f"raw {SECRET}", detail=SECRET),)
SAID = StepRecord(Status.OK, raw=f"raw {SECRET}", attempts=TRIED)
LOST = StepRecord(Status.ERROR, raw=SECRET, attempts=TRIED, error=f"broke at {SECRET}")


class Story:
    """A logged answer that holds a secret, one that does not, and everything that every method makes of the first."""

    def __init__(self, case):
        self.case = case
        self.version = case.version()
        self.response = case.add(
            Response(
                *("log", "secret", f"who is {SECRET}?", f"it is {SECRET}"),
                passages=(SECRET,),
                messages=({"role": "user", "content": SECRET},),
                reference=SECRET,
                metadata={"user": SECRET},
            )
        ).new[0]
        self.other = case.add(Response("log", "other", "what?", "plainly this")).new[0]
        with case.store.writing() as connection:
            self.run = start_import_run(connection, self.version, "me").id
            self.control = made_worse(connection, self.response)
            for response_id in (self.response, self.control):
                self._judge(connection, response_id)
            self._grade(connection)
            self._pairs(connection)
            self._attempts(connection)

    def _judge(self, connection, response_id):
        verdict = Verdict.of(
            SAID,
            groundedness=0.3,
            reasoning=f"since {SECRET}",
            claims=(Claim(SECRET, ClaimStatus.SUPPORTED),),
            scores=(DimensionScore("care", 2, "1-5", f"for {SECRET}"),),
        )
        store_judgments(
            connection, self.version, self.run, [NewJudgment(response_id, 0, 0, verdict)]
        )
        judgment = select(JUDGMENT.c.id).where(JUDGMENT.c.response_id == response_id)
        audit = {
            "judgment_id": connection.scalar(judgment),
            "judge_version_id": self.version.id,
            "ask": 0,
            "correct": True,
            "reasoning": f"right about {SECRET}",
            "inclusion_probability": 1.0,
        }
        connection.execute(insert(JUDGMENT_REVIEW), audit | step_values(SAID, self.run, NOW))

    def _grade(self, connection):
        grade = Grade(
            quality=2, spans=({"text": SECRET},), note=SECRET, corrected_answer=f"no, {SECRET}"
        )
        insert_grades(
            connection,
            [GradeOf(self.response, "log", ImportedGrade("secret", "ada", grade))],
            None,
            NOW,
        )

    def _pairs(self, connection):
        question, answer = f"who is {SECRET}?", f"it is {SECRET}"
        bench = Pair(
            *("bench", "p", question, answer, f"not {SECRET}"),
            options=(SECRET,),
            reference=SECRET,
            response_a="secret",
            metadata={"of": SECRET},
        )
        linked = Pair(
            "compare", "p", question, answer, "plainly this", sides=(self.response, self.other)
        )
        self.pairs = store_pairs(connection, [bench, linked]).new
        comparisons = [
            NewComparison(
                *(pair_id, Shown.AB, SAID, {"overall": Preference.B}),
                condition=REFERENCE,
                reference=SECRET,
                reasoning=f"as {SECRET}",
            )
            for pair_id in self.pairs
        ]
        lost = [
            NewComparison(pair_id, Shown.BA, LOST, condition=REFERENCE) for pair_id in self.pairs
        ]
        store_comparisons(connection, self.version, self.run, [*comparisons, *lost])
        tries = [NewSample(self.pairs[0], 0, SECRET, SAID), NewSample(self.pairs[0], 1, None, LOST)]
        store_samples(connection, self.version, self.run, tries)
        preference = GivenPreference(
            "ada", {"overall": AspectPreference(Preference.A)}, grade=Grade(note=f"I know {SECRET}")
        )
        store_preferences(connection, [PreferenceOf(self.pairs[0], "bench", "p", preference)])

    def _attempts(self, connection):
        made = Response(
            *("log", "secret/again", f"who is {SECRET}?", f"surely {SECRET}"),
            kind=ResponseKind.REGENERATED,
            derived_from=self.response,
        )
        subject = str(self.response)
        calls = [
            NewGeneration(subject, 1, "m", SAID, made),
            NewGeneration(
                subject, 2, "m", SAID, None
            ),  # the same answer again: it was not stored a second time
            NewGeneration(subject, 3, "m", LOST, None),
        ]
        store_generations(connection, self.run, calls, NOW)
        ends = [
            Refinement(
                run_id=self.run,
                method="refine",
                subject=subject,
                number=number,
                root_response_id=self.response,
                outcome="failed",
                feedback=f"leave out {SECRET}",
            )
            for number in (1, 2)
        ]
        insert_refinements(connection, ends)

    def places_of(self, words):
        """The tables in which any cell of any row holds these words, those of the search among them."""
        with self.case.store.reading() as connection:
            table_names = set()
            for name in inspect(connection).get_table_names():
                rows = connection.execute(text(f'SELECT * FROM "{name}"')).all()
                if any(words in cell_text(cell) for row in rows for cell in row):
                    table_names.add(name)
            return table_names

    def figures(self):
        with self.case.store.reading() as connection:
            tried = load_samples(connection, self.version.id)
            return [
                load_comparisons(connection, [self.version.id]),
                [one.statuses for one in tried],
                [(one.aspect, one.preference) for one in load_preferences(connection)],
                [(row["groundedness"], row["quality"]) for row in self.case.rows(JUDGMENT)],
            ]


def made_worse(connection, response_id):
    made = Response(
        *("log", "secret/control", f"who is {SECRET}?", f"it was {SECRET}"),
        kind=ResponseKind.CONTROL,
        derived_from=response_id,
    )
    return store_responses(connection, [made]).new[0]


def cell_text(cell):
    return (
        bytes(cell).decode("utf-8", "replace")
        if isinstance(cell, bytes | memoryview)
        else str(cell)
    )


@pytest.fixture
def story(case):
    return Story(case)


def test_nothing_of_it_is_left_and_figures_and_what_was_not_made_from_it_stay(story):
    told = "response judgment judgment_score judgment_review review pair comparison sample"
    assert story.places_of(SECRET) >= {*told.split(), "generation", "refinement"}
    before = story.figures()
    ids = write_to(story.case.store, forget_response, "secret", actor="me")
    assert story.places_of(SECRET) == set()
    assert story.figures() == before
    assert story.other not in ids
    assert story.places_of("plainly this") >= {"response"}
    calls = story.case.rows(GENERATION)
    # Calls that made no answer are blanked too.
    assert [(call["response_id"] is None, call["raw"], call["error"]) for call in calls] == [
        *((False, None, None), (True, None, None)),
        (True, None, None),
    ]


def test_forgetting_a_side_of_a_recorded_pair_takes_the_pair_with_it(story):
    with story.case.store.writing() as connection:
        (alone,) = store_pairs(
            connection, [Pair("bench", "alone", "which Numbat?", "the Numbat", "no Numbat")]
        ).new
        comparison = NewComparison(
            alone, Shown.AB, StepRecord(Status.OK, raw="the Numbat"), {"overall": Preference.A}
        )
        store_comparisons(connection, story.version, story.run, [comparison])
    write_to(story.case.store, forget_response, "pair:alone:b", actor="me")
    assert story.places_of("Numbat") == set()
    assert story.places_of(SECRET)


def attempts_at(connection, story, prompt, secret):
    """Two rated attempts at a prompt of a file, the second asked with the feedback on the first, and a lost call."""
    answered, lost = (
        StepRecord(Status.OK, raw=secret),
        StepRecord(Status.ERROR, raw=secret, error=secret),
    )
    made = [
        Response(
            *("prompts", f"{prompt}~{number}", f"who is {secret}?", f"try {number}"),
            kind=ResponseKind.REGENERATED,
            messages=({"role": "user", "content": f"who is {secret}? Say more of {secret}."},),
        )
        for number in (1, 2)
    ]
    calls = [
        NewGeneration(prompt, number, "m", answered, one)
        for number, one in enumerate(made, start=1)
    ]
    store_generations(
        connection, story.run, [*calls, NewGeneration(prompt, 3, "m", lost, None)], NOW
    )
    ids = stored_ids(connection, made)
    ends = [
        Refinement(
            run_id=story.run,
            method="refine",
            subject=prompt,
            number=number,
            root_response_id=None,
            outcome="failed",
            response_id=ids[key_of(one)],
            feedback=f"say more of {secret}",
        )
        for number, one in enumerate(made, start=1)
    ]
    insert_refinements(connection, ends)


@pytest.mark.parametrize("named", ["p~1", "p~2"])
def test_one_attempt_at_a_prompt_takes_the_prompt_and_every_other_attempt_with_it(story, named):
    with story.case.store.writing() as connection:
        attempts_at(connection, story, "p", "Numbat-12")
        attempts_at(connection, story, "q", "Wombat-34")
    assert story.places_of("Numbat-12") >= {"response", "generation", "refinement"}
    kept = story.places_of("Wombat-34")
    write_to(story.case.store, forget_response, named, actor="me")
    assert story.places_of("Numbat-12") == set()
    assert story.places_of("Wombat-34") == kept
    assert story.places_of(SECRET)


def test_a_control_that_repeats_a_forgotten_answer_goes_with_it(case):
    with case.store.writing() as connection:
        answers = [
            Response("log", f"x{n}", f"question {n}?", f"answer {n} {SECRET if n == 0 else ''}")
            for n in range(4)
        ]
        store_responses(connection, answers)
    assert make_control_answers(case.store, kinds=("other_answer",))[0].made == 4
    with case.store.writing() as connection:
        # Itself, its own control, and the other's.
        assert len(forget_response(connection, "x0", actor="test")) == 3
        kept = connection.execute(
            select(RESPONSE.c.external_id).where(RESPONSE.c.answer.contains(SECRET))
        )
        assert kept.scalars().all() == []


def test_the_file_holds_nothing_of_what_was_forgotten(sqlite_case):
    store = sqlite_case.store
    path = Path(str(store.engine.url.database))
    write_to(
        store,
        store_responses,
        [Response("log", "x", f"what is {SECRET}?", f"it is {SECRET} " * 400)],
    )
    write_to(store, forget_response, "x", actor="test")
    assert store.checkpoint()
    files_with_secret = [
        file for file in path.parent.glob(f"{path.name}*") if SECRET.encode() in file.read_bytes()
    ]
    assert files_with_secret == []


def test_all_answers_of_a_filter_are_forgotten_and_the_event_has_counts_without_texts(story):
    where = parse_where([f"metadata.user={SECRET}"])
    with story.case.store.writing() as connection:
        assert count_to_forget(connection, where) == 1
        forgotten = forget_matching(connection, where, actor="me")
    assert story.places_of(SECRET) == set()
    with story.case.store.writing() as connection:
        event, *others = latest_events(connection, EventFilter(), limit=1_000)
        answers = [other for other in others if other.kind == "forget"]
        counts = {"answers": 1, "derived": len(answers) - 1, "fields": ["metadata.user"]}
        assert (event.kind, event.actor, event.details) == ("forget_answers", "me", counts)
        about = [other.response_id or 0 for other in answers]
        assert "secret" in external_ids(connection, about).values()
        assert forgotten == ForgottenAnswers(1, len(answers) - 1)
        with pytest.raises(NotFound):
            forget_matching(connection, where, actor="me")


def test_many_answers_of_a_filter_are_forgotten_once_each(case, monkeypatch):
    monkeypatch.setattr(forgetting, "_AT_ONCE", 2)
    with case.store.writing() as connection:
        store_responses(
            connection, [Response("log", f"x{n}", f"question {n}?", "so") for n in range(5)]
        )
        store_responses(connection, [Response("other", "y", "question?", "so")])
        assert forget_matching(
            connection, parse_where(["source=log"]), actor="me"
        ) == ForgottenAnswers(5, 0)
        assert count_to_forget(connection, parse_where(["source=other"])) == 1
