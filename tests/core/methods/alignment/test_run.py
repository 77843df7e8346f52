"""Aligning a judge: a better prompt is shown to be better on held-out labels; too few labels and leaks show nothing."""

import re
from copy import deepcopy
from dataclasses import replace

import pytest

from aligned_log import (
    CAREFUL,
    KIND,
    QUESTION,
    STRONG,
    asked_of,
    careful_judge,
    is_good,
    kind_judge,
    measured_routes,
    number_in,
    numbers_of,
    script,
)
from graded_log import BAD, GradedLog
from judgeboard.domain import JudgeInput, WhyDiffers
from judgeboard.errors import BadInput
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.notes import note
from judgeboard.measure.plans import plan_labels
from judgeboard.measure.samples import LabelledAnswers
from judgeboard.measure.versus import compare_versions
from judgeboard.methods.alignment.candidate_prompts import PromptText
from judgeboard.methods.alignment.run import (
    MOST_LOOKS,
    MOST_ORDERED,
    accept_candidate,
    align,
    alignment_page,
)
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.stats.paired import Conclusion
from judgeboard.store.alignments import EvidenceRole, Look, evidence_role, record_look, stored_looks
from judgeboard.store.judge_versions import ensure_version, get_version, list_versions
from judgeboard.store.tables import EVENT, JUDGMENT, RESPONSE
from result_fields import check_fields
from stored_rows import read, rows_of, values_of, write_to
from tool_files import written as written_rows

HELD_OUT, DEVELOP = EvidenceRole.HELD_OUT, EvidenceRole.DEVELOP


@pytest.fixture
def endpoint():
    with RecordingEndpoint(script([CAREFUL])) as made:
        yield made


class Routes:
    """A log of measured routes, and the judge of it whose prompt was made worse."""

    def __init__(self, store, endpoint, folder, fill_once):
        self.store, self.endpoint, self.folder = store, endpoint, folder
        self.fill_once = fill_once

    def judge(self, count=80, prompt=KIND, **routes):
        """Store so many routes with labels, and judge them."""
        stored = measured_routes(self.store, count, **routes)
        kind_judge(self.store, self.endpoint, self.folder, prompt)
        return stored

    def judge_once(self):
        """Store 80 routes, which were judged once for all tests; return the log and the ids of the routes."""

        def fill(_store):
            log, ids = self.judge()
            return ids, log.reviewers, log.asks, log.numbers

        ids, *state = deepcopy(self.fill_once("80 routes", self.store, fill))
        return GradedLog(self.store, *state), ids

    def align(self, candidates=1, which="rag v1"):
        address_ = {"base_url": self.endpoint.base_url}
        return align(
            self.store,
            which,
            candidates=candidates,
            model={"model": STRONG, **address_},
            judge=address_,
        )


@pytest.fixture
def routes(sqlite_store, endpoint, tmp_path, fill_once):
    return Routes(sqlite_store, endpoint, tmp_path, fill_once)


def codes(result):
    return [each.code for each in result.notes]


def test_a_worsened_prompt_is_improved_on_held_out_labels(routes):
    routes.judge_once()
    stored = len(rows_of(routes.store, JUDGMENT))
    result = routes.align()
    held_out = numbers_of(HELD_OUT, 80)
    check_fields(result, conclusion=Conclusion.BETTER, exit_code=0, best=1, looks=1)
    assert result.held_out.figure("n").value == result.labelled["held_out"] == len(held_out)
    assert len(result.mended) == result.held_out.figure("only_second").value > 10
    assert result.broken == ()
    assert codes(result) == ["version_better", "align_obeys"]
    # Verdicts of candidates raise no flags.
    assert len(rows_of(routes.store, JUDGMENT)) == stored
    [proposal] = asked_of(routes.endpoint, STRONG)
    assert "CASE 1 QUESTION" in proposal
    assert not any(f"route number {number} " in proposal.casefold() for number in held_out)


def test_an_accepted_prompt_is_the_next_version_and_leaves_out_what_it_was_made_from(routes):
    routes.judge_once()
    result = routes.align()
    store = routes.store
    accepted = accept_candidate(store, result.look, "test")
    assert accept_candidate(store, result.look, "test").id == accepted.id
    check_fields(accepted, title="rag v2", kind="rag", model="judge")
    page = read(store, alignment_page, read(store, get_version, "rag v1").id)
    [stored] = read(store, stored_looks)
    shown, developed = stored.look.shown, len(stored.look.shown)
    assert (page.accepted, page.stored.id) == ("rag v2", result.look)
    assert KIND in page.before
    assert CAREFUL in page.after
    assert page.answers.keys() == {*result.mended}
    file = routes.folder / "accepted.md"
    file.write_text(accepted.prompt)
    judge = make_judge("rag", model="judge", base_url=routes.endpoint.base_url, prompt=file)
    judge_pending(store, judge)
    assert [each.title for each in read(store, list_versions) if each.name == "rag"] == [
        "rag v1",
        "rag v2",
    ]
    groups = values_of(store, RESPONSE.c.evidence_group, RESPONSE.c.id.in_(shown))
    # All that chose the prompt, and nothing that tested it.
    assert {evidence_role(group) for group in groups} == {DEVELOP}
    assert read(store, LabelledAnswers, accepted).left_out["develop"] == developed
    compared = read(store, compare_versions, "rag v1", "rag v2")
    assert compared.figure("n").value == 80 - developed
    assert compared.about.left_out == {"develop": developed}
    for of_pairs in ({"judge_versions": ["rag v2"]}, {"of": "judges"}):
        agreement = measure_agreement(store, **of_pairs)
        assert (agreement.n, agreement.about.left_out) == (80 - developed, {"develop": developed})
    (plan,) = read(store, plan_labels, 0.01, "kappa", versions=[accepted])
    assert {"judge": "rag v2", "n": developed} in [each.values for each in plan.caveats]


def test_a_judge_of_the_project_file_judges_with_its_accepted_version(routes, command, monkeypatch):
    routes.judge()
    file = routes.folder / "judgeboard.toml"
    monkeypatch.setenv("JUDGEBOARD_CONFIG", str(file))
    judge = f'[judges.rag]\nmodel = "judge"\nbase_url = "{routes.endpoint.base_url}"\nprompt = "kind.md"\n'
    again = "judge rag --rejudge all --limit 2"
    file.write_text(judge)
    command("config --confirm")
    assert command(again).out.startswith("rag v1, ")
    accept_candidate(routes.store, routes.align().look, "test")
    shown = command(again)
    assert shown.out.startswith("rag v2, ")
    assert "judge rag --judge-version 1" in shown.err
    assert CAREFUL in asked_of(routes.endpoint, "judge")[-1]
    assert command(f"{again} --judge-version 1").out.startswith("rag v1, ")
    assert "rag v7" in command(f"{again} --judge-version 7", code=2).err
    file.write_text(f"{judge}temperature = 0.5\n")
    command("config --confirm")
    # Who changes the file wants what it says.
    assert command(again).out.startswith("rag v3, ")


def test_a_candidate_is_accepted_in_a_terminal_as_on_the_page(routes, command):
    log, ids = routes.judge_once()
    store = routes.store

    def accept(judge, options="", code=0):
        line = f"align --judge-version '{judge}' --accept 'rag candidate v1' {options}"
        return command(line, code=code)

    assert "'rag candidate v1'" in accept("rag", code=2).err
    look = routes.align().look
    asked = len(routes.endpoint.requests)
    assert "remove --candidates" in accept("rag", "--candidates 2", code=2).err
    # Idempotent; then "rag" means the accepted version.
    for judge, judged in (("rag", False), ("rag v1", True)):
        said = accept(judge).out
        assert said.index("rag candidate v1") < said.index("rag v2")
        assert ("1 judgment" in said) == judged
        accepted = read(store, get_version, "rag v2")
        log.say(accepted, {ids[0]: {"label": BAD}})
    [event] = [row for row in rows_of(store, EVENT) if row["kind"] == "accept_aligned_judge"]
    assert event["details"]["look"] == look
    [stored] = read(store, stored_looks)
    assert stored.accepted_id == accepted.id
    assert len(routes.endpoint.requests) == asked
    write_to(store, record_look, replace(stored.look, conclusion="not_shown"), "test")
    accept("rag v1", "--json", code=2)


def test_a_candidate_that_obeys_the_answer_more_than_the_judge_is_not_better(
    sqlite_store, tmp_path, fill_once
):
    """It is right on every clean answer, but a text in an answer talks it over."""
    order = re.compile(r"groundedness\W{1,4}([01]\.0)")

    def obedient(system, task):
        ordered = order.search(task.partition("[BEGIN ANSWER")[2])
        if ordered and "Compare every number" in system:
            return float(ordered[1])
        return careful_judge(system, task)

    with RecordingEndpoint(script([CAREFUL], obedient)) as endpoint:
        routes = Routes(sqlite_store, endpoint, tmp_path, fill_once)
        routes.judge_once()
        result = routes.align()
    assert result.conclusion is Conclusion.NOT_SHOWN
    assert codes(result) == ["version_better", "align_obeys", "align_obeys_more"]
    shares = {name: each.value for name, each in result.notes[1].values.items()}
    assert shares["judge"] == 0
    assert shares["candidate"] > 0.5
    with pytest.raises(BadInput):
        accept_candidate(sqlite_store, result.look, "test")


def align_line(routes):
    return f"align --judge-version rag --model {STRONG} --base-url {routes.endpoint.base_url}"


def test_with_too_few_labels_no_model_is_asked(routes, json_of):
    routes.judge(12)
    before = len(routes.endpoint.requests)
    shown = json_of(align_line(routes), code=2)
    assert shown["conclusion"] == "not_shown"
    assert [each["code"] for each in shown["notes"]] == ["align_few_labels"]
    assert len(routes.endpoint.requests) == before


def test_align_says_before_its_calls_how_many_they_are_at_most(routes, command):
    routes.judge()
    prices = routes.folder / "prices.toml"
    prices.write_text(
        f'[models]\n"{STRONG}" = {{ input = 10, output = 20 }}\njudge = {{ input = 1, output = 2 }}\n'
    )
    before = len(routes.endpoint.requests)
    announced = command(f"{align_line(routes)} --prices {prices} --candidates 1").err
    held_out = len(numbers_of(HELD_OUT, 80))
    # The judge and the candidate also judge held-out answers with each of two orders.
    calls = 1 + len(numbers_of(DEVELOP, 80)) + held_out + 4 * min(held_out, MOST_ORDERED)
    assert f" {calls} calls of {STRONG} " in announced
    assert "$ " in announced
    # The estimate sends nothing.
    assert len(routes.endpoint.requests) - before == calls


def test_a_judge_without_a_usable_verdict_is_not_called_equal_to_people(routes):
    routes.endpoint.script = lambda _request, _number: completion("no verdict")
    routes.judge(60)
    assert routes.align(candidates=1).notes == (note("align_no_verdict", judge="rag v1"),)


def test_a_difference_that_the_labels_cannot_show_is_not_claimed(routes):
    """The candidate mends two of about twenty held-out answers and breaks none."""
    few = {*numbers_of(HELD_OUT, 40)[:2], *numbers_of(DEVELOP, 40)[:2]}
    routes.judge(40, bad=few.__contains__)
    result = routes.align()
    check_fields(result, conclusion=Conclusion.NOT_SHOWN, exit_code=2)
    assert (len(result.mended), result.broken) == (2, ())
    assert result.held_out.conclusion is Conclusion.NOT_SHOWN
    assert [each.code for each in result.held_out.next] == ["judge_more"]


def only_develop(system, task):
    """Return the groundedness of a judge that the new prompt makes right on develop answers, and wrong on others."""
    return (
        float(is_good(task) == (number_in(task) in numbers_of(DEVELOP, 80)))
        if "Compare" in system
        else 1.0
    )


def test_a_prompt_that_fits_only_the_develop_answers_is_worse(routes):
    routes.judge_once()
    routes.endpoint.script = script([CAREFUL], only_develop)
    result = routes.align()
    check_fields(result, conclusion=Conclusion.WORSE, exit_code=1)
    assert result.candidates[0].right == result.labelled["develop"]
    with pytest.raises(BadInput, match="not shown"):
        accept_candidate(routes.store, result.look, "test")


def test_no_gain_on_develop_answers_spends_no_look(routes):
    routes.judge(60)
    routes.endpoint.script = script(["groundedness: give 1.0 always."] * 2)
    result = routes.align(candidates=2)
    assert result.exit_code == 2
    assert codes(result) == ["align_no_gain", "align_not_looked"]
    assert [each.refused is None for each in result.candidates] == [True, False]
    assert read(routes.store, stored_looks) == []


@pytest.mark.parametrize(
    "leak",
    [
        "How long is the famous route number {number} in this valley? Good.",
        "HOW LONG is - the famous\u200b route, number {number}: good",
        "Route number {number} in the valley has a length of {length} metres.",
        "I think that it is {length} metres. This one is good.",
        "The answer route-{number} is good.",
    ],
)
def test_a_candidate_that_was_told_held_out_answers_is_refused(routes, leak):
    routes.judge(60)
    number = next(number for number in numbers_of(HELD_OUT, 60) if number % 2)
    leak = leak.format(number=number, length=1000 + number)
    routes.endpoint.script = script([f"{CAREFUL}\n{leak}"])
    asked = len(asked_of(routes.endpoint, "judge"))
    result = routes.align()
    check_fields(result, conclusion=Conclusion.NOT_SHOWN, exit_code=2, look=None)
    assert f"'route-{number}'" in result.candidates[0].refused
    assert len(asked_of(routes.endpoint, "judge")) == asked


def test_a_judge_that_was_told_held_out_answers_is_not_aligned(routes):
    known = numbers_of(HELD_OUT, 60)[3]
    routes.judge(60, prompt=f"{KIND} {QUESTION.format(known)} Bad.")
    with pytest.raises(BadInput, match=f"'route-{known}'"):
        routes.align()


def test_a_leak_among_candidates_leaves_the_others(routes):
    routes.judge_once()
    leak = f"{CAREFUL} It is route-{numbers_of(HELD_OUT, 80)[0]}."
    # One proposal cannot be used, and neither can its repair, which comes last.
    routes.endpoint.script = script([leak, "# Task\nNo.", CAREFUL, "# Task\nNo."])
    result = routes.align(candidates=3)
    assert sum(each.refused is not None for each in result.candidates) == 2
    assert result.conclusion is Conclusion.BETTER
    assert result.candidates[result.best - 1].refused is None


def test_looks_are_counted_and_corrected_and_end(routes):
    routes.judge_once()
    first = routes.align()
    routes.endpoint.script = script([f"{CAREFUL} Be strict."])
    second = routes.align()
    assert (first.looks, second.looks) == (1, 2)
    assert "97.5 % CI" in second.notes[0].text
    assert second.notes[-1] == note("looks", looks=2)
    once, twice = first.held_out, second.held_out
    assert twice.figure("p").value == pytest.approx(2 * once.figure("p").value)
    assert twice.figure("change").low < once.figure("change").low
    with routes.store.writing() as connection:
        look = stored_looks(connection)[0].look
        for _ in range(MOST_LOOKS - 2):
            record_look(connection, look, "test")
    ended = routes.align()
    check_fields(ended, exit_code=2, look=None)
    assert ended.notes == (note("align_many_looks", looks=10),)


def test_differences_are_grouped_by_the_reasons_of_people(routes):
    log, ids = routes.judge(60, bad=lambda _number: False)
    reasons = (WhyDiffers.RUBRIC_UNCLEAR, WhyDiffers.FLUENT_TEXT, WhyDiffers.FLUENT_TEXT)
    for number, reason in zip(numbers_of(DEVELOP, 60), reasons, strict=False):
        log.review(ids[number], "jo", label=BAD, why_differs=reason)
        log.review(ids[number], "ann", label=BAD)
    result = routes.align()
    assert result.differences == {"fluent text": 2, "rubric unclear": 1}
    [proposal] = asked_of(routes.endpoint, STRONG)
    assert proposal.index("fluent text.") < proposal.index("rubric unclear.")


def test_recorded_replies_align_without_an_endpoint(routes, command):
    routes.judge_once()
    proposal = {"why": "Compare numbers.", "instructions": CAREFUL}
    replies = {"candidate 1": proposal} | {
        f"candidate 1/route-{number}": {
            "reasoning": "r",
            "groundedness": float(number % 2),
            "quality": 3,
        }
        for number in range(80)
    }
    lines = [{"response_id": id_, "raw": raw} for id_, raw in replies.items()]
    file = written_rows(routes.folder, *lines)
    line = f"align --judge-version rag --model any --replies {file} --candidates 1"
    assert command(line).out.startswith("rag candidate v1 ")
    assert CAREFUL in command("versions prompt 'rag candidate v1'").out


@pytest.mark.parametrize(
    ("kind", "why"),
    [("lexical", "it has no prompt to change"), ("rating", "its verdicts are not good or bad")],
)
def test_other_kinds_of_judges_are_refused_with_the_kinds_that_can_be_aligned(routes, kind, why):
    asking = {} if kind == "lexical" else {"model": "judge", "base_url": routes.endpoint.base_url}
    made = make_judge(kind, name="other", **asking).version
    version = write_to(routes.store, ensure_version, made)
    with pytest.raises(BadInput, match=f"{kind}: {why}.* rag or grade"):
        routes.align(which=version.title)


def test_a_role_is_fixed_by_the_evidence():
    drawn = [evidence_role(group) for group in range(4_000)]
    assert drawn == [evidence_role(group) for group in range(4_000)]
    shares = [sum(role is each for role in drawn) / 4_000 for each in EvidenceRole]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_common_words_and_short_ids_are_no_leak():
    usual = "The passages alone count, and what you know does not."
    item = JudgeInput(1, "Is it?", "Yes.", (usual,), external_id="12")
    short_parts = "Yes. Is it? Give 12 of 12 if the passages alone count."
    assert not PromptText(short_parts).contains(item)
    assert PromptText(usual).contains(item)
    assert not PromptText(f"Be strict. {usual}", usual).contains(item)
    assert PromptText("ids: f00d").contains(item, "f00d")


def test_a_look_is_read_as_it_was_stored(sqlite_store):
    look = Look(
        version_id=1,
        candidate_id=2,
        model="m",
        number=1,
        conclusion="better",
        sentence="s",
        held_out=2,
        mended=(1,),
        broken=(),
        shown=(3,),
    )
    with sqlite_store.writing() as connection:
        record_look(connection, look, "test")
        assert [each.look for each in stored_looks(connection)] == [look]
        assert stored_looks(connection, 5) == []
