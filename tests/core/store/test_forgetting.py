"""What was forgotten is nowhere in the database any more, whichever way it got there; figures stay as they were."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

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
from judgeboard.store.grades import ImportedGrade, insert_grades
from judgeboard.store.judgments import NewJudgment, step_values
from judgeboard.store.pairs import store_pairs
from judgeboard.store.preferences import ImportedPreference, load_preferences, store_preferences
from judgeboard.store.responses import key_of
from judgeboard.store.runs import start_import_run
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import GENERATION, JUDGMENT, JUDGMENT_REVIEW, RESPONSE
from stored_rows import insert_row, values_of

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
        self.response = self._add(
            "secret",
            "it is",
            passages=(SECRET,),
            messages=({"role": "user", "content": SECRET},),
            reference=SECRET,
            metadata={"user": SECRET},
        )
        self.other = case.answer("other", answer="plainly this")
        self.run = case.write(start_import_run, self.version, "me").id
        made = {"kind": ResponseKind.CONTROL, "derived_from": self.response}
        self._judge(self.response, self._add("secret/control", "it was", **made))
        self._grade()
        self._pairs()
        self._attempts()

    def _add(self, name, words, **fields):
        answer = Response("log", name, f"who is {SECRET}?", f"{words} {SECRET}", **fields)
        return self.case.add(answer).new[0]

    def _judge(self, *response_ids):
        verdict = Verdict.of(
            SAID,
            groundedness=0.3,
            reasoning=f"since {SECRET}",
            claims=(Claim(SECRET, ClaimStatus.SUPPORTED),),
            scores=(DimensionScore("care", 2, "1-5", f"for {SECRET}"),),
        )
        judgments = [NewJudgment(each, 0, 0, verdict) for each in response_ids]
        self.case.write(store_judgments, self.version, self.run, judgments)
        said = step_values(SAID, self.run, NOW) | {"reasoning": f"right about {SECRET}"}
        for judgment in self.case.rows(JUDGMENT):
            ids = {"judge_version": self.version.id, "judgment": judgment["id"]}
            insert_row(self.case.store, JUDGMENT_REVIEW, ids, **said)

    def _grade(self):
        grade = Grade(
            quality=2, spans=({"text": SECRET},), note=SECRET, corrected_answer=f"no, {SECRET}"
        )
        of_ada = ImportedGrade("secret", "ada", grade, "log", response_id=self.response)
        self.case.write(insert_grades, [of_ada], None, NOW)

    def _pairs(self):
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
        pairs = self.case.write(store_pairs, [bench, linked]).new
        comparisons = [
            NewComparison(
                *(pair_id, Shown.AB, SAID, {"overall": Preference.B}),
                condition=REFERENCE,
                reference=SECRET,
                reasoning=f"as {SECRET}",
            )
            for pair_id in pairs
        ]
        lost = [NewComparison(pair_id, Shown.BA, LOST, condition=REFERENCE) for pair_id in pairs]
        self.case.write(store_comparisons, self.version, self.run, [*comparisons, *lost])
        tries = [NewSample(pairs[0], 0, SECRET, SAID), NewSample(pairs[0], 1, None, LOST)]
        self.case.write(store_samples, self.version, self.run, tries)
        preference = GivenPreference(
            "ada", {"overall": AspectPreference(Preference.A)}, grade=Grade(note=f"I know {SECRET}")
        )
        self.case.write(
            store_preferences, [ImportedPreference("p", "bench", preference, pair_id=pairs[0])]
        )

    def _attempts(self):
        made = Response(
            *("log", "secret/again", f"who is {SECRET}?", f"surely {SECRET}"),
            kind=ResponseKind.REGENERATED,
            derived_from=self.response,
        )
        subject = str(self.response)
        calls = [
            NewGeneration(subject, 1, "m", SAID, made),
            # The same answer again: it was not stored a second time.
            NewGeneration(subject, 2, "m", SAID, None),
            NewGeneration(subject, 3, "m", LOST, None),
        ]
        self.case.write(store_generations, self.run, calls, NOW)
        for number in (1, 2):
            self.refine(subject, number, SECRET, root_response_id=self.response)

    def refine(self, subject, number, secret, **ids):
        """Store the feedback on an attempt."""
        end = Refinement(
            run_id=self.run,
            method="refine",
            subject=subject,
            number=number,
            outcome="failed",
            feedback=f"leave out {secret}",
            **ids,
        )
        self.case.write(insert_refinements, [end])

    def forget(self, name):
        return self.case.write(forget_response, name, actor="me")

    def places_of(self, words):
        """The tables in which any cell of any row holds these words, those of the search among them."""
        with self.case.store.reading() as connection:
            return {
                name
                for name in inspect(connection).get_table_names()
                for row in connection.execute(text(f'SELECT * FROM "{name}"')).all()
                if any(words in cell_text(cell) for cell in row)
            }

    def figures(self):
        read = self.case.read
        return [
            read(load_comparisons, [self.version.id]),
            [
                sample.status
                for one in read(load_samples, self.version.id)
                for sample in one.samples
            ],
            [(one.aspect, one.preference) for one in read(load_preferences)],
            [(row["groundedness"], row["quality"]) for row in self.case.rows(JUDGMENT)],
        ]


def cell_text(cell):
    return str(bytes(cell) if isinstance(cell, memoryview) else cell)


@pytest.fixture
def story(case):
    return Story(case)


def test_nothing_of_it_is_left_and_figures_and_what_was_not_made_from_it_stay(story):
    told = "response judgment judgment_score judgment_review review pair comparison sample"
    assert story.places_of(SECRET) >= {*told.split(), "generation", "refinement"}
    before = story.figures()
    ids = story.forget("secret")
    assert story.places_of(SECRET) == set()
    assert story.figures() == before
    assert story.other not in ids
    assert "response" in story.places_of("plainly this")
    calls = story.case.rows(GENERATION)
    # Calls that made no answer are blanked too.
    assert [(call["response_id"] is None, call["raw"], call["error"]) for call in calls] == [
        (False, None, None),
        (True, None, None),
        (True, None, None),
    ]


def test_forgetting_a_side_of_a_recorded_pair_takes_the_pair_with_it(story):
    pair = Pair("bench", "alone", "which Numbat?", "the Numbat", "no Numbat")
    (alone,) = story.case.write(store_pairs, [pair]).new
    said = StepRecord(Status.OK, raw="the Numbat")
    comparison = NewComparison(alone, Shown.AB, said, {"overall": Preference.A})
    story.case.write(store_comparisons, story.version, story.run, [comparison])
    story.forget("pair:alone:b")
    assert story.places_of("Numbat") == set()
    assert story.places_of(SECRET)


def attempts_at(story, prompt, secret):
    """Two rated attempts at a prompt of a file, the second asked with the feedback on the first, and a lost call."""
    answered = StepRecord(Status.OK, raw=secret)
    lost = StepRecord(Status.ERROR, raw=secret, error=secret)
    made = [
        Response(
            *("prompts", f"{prompt}~{number}", f"who is {secret}?", f"try {number}"),
            kind=ResponseKind.REGENERATED,
            messages=({"role": "user", "content": f"who is {secret}? Say more of {secret}."},),
        )
        for number in (1, 2)
    ]
    calls = [
        NewGeneration(prompt, 1, "m", answered, made[0]),
        NewGeneration(prompt, 2, "m", answered, made[1]),
        NewGeneration(prompt, 3, "m", lost, None),
    ]
    story.case.write(store_generations, story.run, calls, NOW)
    ids = story.case.read(stored_ids, made)
    for number, one in enumerate(made, start=1):
        story.refine(prompt, number, secret, response_id=ids[key_of(one)])


@pytest.mark.parametrize("named", ["p~1", "p~2"])
def test_one_attempt_at_a_prompt_takes_the_prompt_and_every_other_attempt_with_it(story, named):
    attempts_at(story, "p", "Numbat-12")
    attempts_at(story, "q", "Wombat-34")
    assert story.places_of("Numbat-12") >= {"response", "generation", "refinement"}
    kept = story.places_of("Wombat-34")
    story.forget(named)
    assert story.places_of("Numbat-12") == set()
    assert story.places_of("Wombat-34") == kept
    assert story.places_of(SECRET)


def test_a_control_that_repeats_a_forgotten_answer_goes_with_it(case):
    case.add(
        *(
            Response("log", f"x{n}", f"question {n}?", f"answer {n} {SECRET if n == 0 else ''}")
            for n in range(4)
        )
    )
    assert make_control_answers(case.store, kinds=("other_answer",))[0].made == 4
    # Itself, its own control, and the other's.
    assert len(case.write(forget_response, "x0", actor="test")) == 3
    assert values_of(case.store, RESPONSE.c.id, RESPONSE.c.answer.contains(SECRET)) == []


def test_the_file_holds_nothing_of_what_was_forgotten(sqlite_case):
    store = sqlite_case.store
    path = Path(str(store.engine.url.database))
    sqlite_case.add(Response("log", "x", f"what is {SECRET}?", f"it is {SECRET} " * 400))
    sqlite_case.write(forget_response, "x", actor="test")
    assert store.checkpoint()
    files_with_secret = [
        file for file in path.parent.glob(f"{path.name}*") if SECRET.encode() in file.read_bytes()
    ]
    assert files_with_secret == []


def test_all_answers_of_a_filter_are_forgotten_and_the_event_has_counts_without_texts(story):
    where = parse_where([f"metadata.user={SECRET}"])
    assert story.case.read(count_to_forget, where) == 1
    forgotten = story.case.write(forget_matching, where, actor="me")
    assert story.places_of(SECRET) == set()
    event, *others = story.case.read(latest_events, EventFilter(), limit=1_000)
    about = [other.response_id for other in others if other.kind == "forget"]
    counts = {"answers": 1, "derived": len(about) - 1, "fields": ["metadata.user"]}
    assert (event.kind, event.actor, event.details) == ("forget_answers", "me", counts)
    assert story.response in about
    assert forgotten == ForgottenAnswers(1, len(about) - 1)
    with pytest.raises(NotFound):
        story.case.write(forget_matching, where, actor="me")


def test_many_answers_of_a_filter_are_forgotten_once_each(case, monkeypatch):
    monkeypatch.setattr(forgetting, "_AT_ONCE", 2)
    for number in range(5):
        case.answer(f"x{number}")
    case.add(Response("other", "y", "question?", "so"))
    forgotten = case.write(forget_matching, parse_where(["source=log"]), actor="me")
    assert forgotten == ForgottenAnswers(5, 0)
    assert case.read(count_to_forget, parse_where(["source=other"])) == 1
