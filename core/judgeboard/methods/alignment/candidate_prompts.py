"""Candidates: changed prompts that a model proposes for a judge. Verdicts of candidates are not stored."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from judgeboard.domain import JudgeInput, JudgeVersion, StepRecord, Verdict
from judgeboard.errors import BadInput
from judgeboard.flags.rules import sampling_number
from judgeboard.judges.injections import Asks, injected, style_of
from judgeboard.judges.judge import Judge
from judgeboard.judges.prompt import (
    chat,
    fence_token,
    fenced,
    fill,
    load_prompt,
    numbered,
    read_prompt,
    with_sections,
)
from judgeboard.judges.replies import NOTE, TEXT, Form
from judgeboard.llm.asking import Reading, UnusableReply, ask, unsent_requests
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.measure.verdict_changes import Side, side_of
from judgeboard.runs.estimates import LOOKED_AT, PlannedCalls, estimate_planned
from judgeboard.runs.judging import make_judge
from judgeboard.runs.method import RunOptions, ask_each, require_price
from judgeboard.runs.runner import INTERRUPTED, Answered
from judgeboard.settings.model import Cuts
from judgeboard.store.reviews import Review
from judgeboard.store.strata import BAD, GOOD, UNUSABLE
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdict_pairs import JudgedText
from judgeboard.text import MAX_NAME, shortened

CRITERIA: Mapping[str, str] = {"rag": "Groundedness", "grade": "System"}
"""For each kind of judge that can be aligned, the section of its prompt that candidates replace."""

MAX_OUTPUT = 2048
_CASES = 8  # answers that the model sees for one candidate
_PASSAGES = 5  # passages of each answer
_LONGEST = 600  # characters of each text
_FORM = Form({"why": NOTE, "instructions": TEXT}, lines=False)
_EXAMPLE = json.dumps({"why": "…", "instructions": "…"}, ensure_ascii=False)
NO_REASON = "not recorded"
_CODES = {Side.BAD: BAD, Side.GOOD: GOOD, None: UNUSABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A changed prompt. ``right`` counts the develop answers on which the candidate agrees with people.

    If the candidate was not scored, ``right`` is None and ``refused`` says why.
    """

    number: int
    why: str | None = None
    prompt: str | None = field(default=None, repr=False)
    refused: str | None = None
    right: int | None = None


class Case(NamedTuple):
    """A develop answer on which the judge and people differ."""

    item: JudgeInput
    judged: JudgedText
    bad: bool
    review: Review | None

    @property
    def reason(self) -> str:
        """The reason that a person recorded for the difference."""
        return (
            NO_REASON
            if self.review is None
            else (self.review.grade.why_differs or NO_REASON).replace("_", " ")
        )


class CandidateCalls:
    """Asks for candidates and for verdicts of candidates, within one cost limit."""

    def __init__(
        self,
        spec: Mapping[str, Any],
        endpoint: ModelEndpoint,
        options: RunOptions,
        *,
        max_output: int = MAX_OUTPUT,
    ) -> None:
        self._spec, self._endpoint, self._options, self._max_output = (
            spec,
            endpoint,
            options,
            max_output,
        )
        self.cost_micro: int | None = 0
        if options.get("max_cost") is not None:
            require_price(options["max_cost"], priced=endpoint.priced, model=endpoint.model)
            require_price(
                options["max_cost"], priced=self._judge({}).priced, model=spec.get("model")
            )

    def _judge(self, changes: Mapping[str, Any]) -> Judge:
        return make_judge(**{**self._spec, **changes})

    def _candidate(self, candidate: Candidate) -> Judge:
        name = f"{str(self._spec['name'])[: MAX_NAME - 10]} candidate"
        return self._judge({"prompt": candidate.prompt, "name": name})

    def version_of(self, candidate: Candidate) -> JudgeVersion:
        """Return the judge version of a candidate."""
        return self._candidate(candidate).version

    def _spent(self, record: StepRecord) -> None:
        is_known = self.cost_micro is not None and record.cost_micro is not None
        self.cost_micro = (self.cost_micro or 0) + (record.cost_micro or 0) if is_known else None

    async def show_estimate(
        self,
        candidates: int,
        version: StoredVersion,
        cases: Sequence[Case],
        develop: Sequence[JudgeInput],
        held_out: int,
    ) -> None:
        """Pass an estimate of all calls to ``on_estimate``. Each candidate judges the develop answers."""
        on_estimate = self._options.get("on_estimate")
        if on_estimate is None:
            return
        with unsent_requests() as proposals:
            await self.propose(1, version, cases)
        judge = self._judge({})
        try:
            with unsent_requests() as verdicts:
                for item in develop[:LOOKED_AT]:
                    await judge.judge(item)
        finally:
            await judge.aclose()
        verdict_calls = PlannedCalls(candidates * len(develop) + held_out, verdicts)
        estimate = estimate_planned([PlannedCalls(candidates, proposals), verdict_calls])
        if estimate is not None:
            on_estimate(estimate)

    async def propose(
        self, number: int, version: StoredVersion, cases: Sequence[Case]
    ) -> Candidate:
        """Ask for a candidate; each number shows other cases."""
        current, section = read_prompt(version.prompt or ""), CRITERIA[version.kind]

        def parse(text: str) -> Reading[tuple[str | None, str]]:
            reading = _FORM.parse(text)
            values = reading.value.values
            try:
                prompt = with_sections(
                    current, f"# {section}\n{values['instructions']}", "the instructions"
                )
            except BadInput as error:
                raise UnusableReply(str(error)) from None
            if prompt.text == current.text:
                raise UnusableReply("the instructions are unchanged")
            return Reading((values["why"], prompt.text), reading.notes)

        sections = load_prompt("align").sections
        candidate_cases = chosen_cases(cases, number)
        texts = [(case, _texts(place, case)) for place, case in enumerate(candidate_cases, start=1)]
        instructions = current.sections[section]
        token = fence_token([instructions, *(text for _, parts in texts for _, text in parts)])
        lines = [fenced("INSTRUCTIONS", instructions, token)]
        for reason, group in groupby(texts, key=lambda each: each[0].reason):
            lines.append(f"People decided differently. Their reason: {reason}.")
            for case, parts in group:
                lines += [fenced(title, text, token) for title, text in parts]
                judge, people = ("good", "bad") if case.bad else ("bad", "good")
                lines.append(f"The judge called this answer {judge}. People call it {people}.")
        task = fill(sections["Task"], fence=token, material="\n\n".join(lines))
        reply = fill(sections["Reply"], example=_EXAMPLE)
        request = ChatRequest(
            messages=chat((sections["Role"], sections["Rules"], reply), task),
            schema=_FORM.schema,
            schema_name="instructions",
            max_output=self._max_output,
            subject=f"candidate {number}",
        )
        proposal = await ask(
            self._endpoint,
            request,
            parse,
            repair=lambda error: fill(sections["Repair"], error=error),
        )
        self._spent(proposal.record)
        if proposal.value is None:
            return Candidate(
                number=number, refused=proposal.record.error or proposal.record.status.value
            )
        return Candidate(number=number, why=proposal.value[0], prompt=proposal.value[1])

    async def verdicts(
        self, candidate: Candidate, items: Sequence[JudgeInput], cuts: Cuts
    ) -> dict[int, int]:
        """Return the candidate's verdicts (``GOOD``, ``BAD``, ``UNUSABLE``) by response id, without storing any."""
        judge = self._candidate(candidate)
        codes: dict[int, int] = {}

        async def ask(item: JudgeInput) -> Answered[JudgeInput, Verdict]:
            # The name under which recorded replies are found.
            candidate_item = replace(
                item, external_id=f"candidate {candidate.number}/{item.external_id}"
            )
            verdict = await judge.judge(candidate_item)
            return Answered(item, verdict, verdict)

        def keep(step: Answered[JudgeInput, Verdict]) -> None:
            self._spent(step.record)
            cut = cuts.of(step.task.query_type)
            codes[step.task.response_id] = _CODES[
                side_of(step.result.label, step.result.groundedness, cut)
            ]

        options = self._options.copy()
        if (most := options.get("max_cost")) is not None:
            options["max_cost"] = most - (self.cost_micro or 0) / 1_000_000
        try:
            runner = await ask_each(items, ask, keep, **options)
        finally:
            await judge.aclose()
        if runner.stopped_because == INTERRUPTED:
            raise KeyboardInterrupt
        if len(codes) < len(items):
            raise BadInput(
                f"stopped: {runner.stopped_because}. No candidate was compared on held-out labels"
            )
        return codes


def with_order(item: JudgeInput, asks: Asks) -> JudgeInput:
    """Return an answer with a text that orders a verdict. The id ends with the order, for recorded replies."""
    answer = injected(item.answer, style_of(item.response_id), asks)
    return replace(item, answer=answer, external_id=f"{item.external_id}:{asks}")


def chosen_cases(cases: Sequence[Case], number: int) -> list[Case]:
    """Select the cases for a candidate: if possible half are bad. Cases with a reason of people are preferred."""

    def place(case: Case) -> tuple[bool, float]:
        lot = sampling_number(f"candidate {number}", "", str(case.item.response_id))
        return case.reason == NO_REASON, lot

    sides = [
        sorted((case for case in cases if case.bad is bad), key=place) for bad in (True, False)
    ]
    half = _CASES // 2
    selection = [
        *sides[0][: max(half, _CASES - len(sides[1]))],
        *sides[1][: max(half, _CASES - len(sides[0]))],
    ]
    return sorted(selection[:_CASES], key=lambda case: case.reason)


def _texts(number: int, case: Case) -> list[tuple[str, str]]:
    note = None if case.review is None else case.review.grade.note
    passages = (case.item.passages or ())[:_PASSAGES]
    parts = [
        ("QUESTION", case.item.query),
        *numbered("PASSAGE", passages),
        ("ANSWER", case.item.answer),
    ]
    parts += [
        (title, text)
        for title, text in (("JUDGE'S REASON", case.judged.reasoning), ("NOTE", note))
        if text
    ]
    return [(f"CASE {number} {title}", shortened(text, _LONGEST)) for title, text in parts]


_WORD = re.compile(r"\w+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_NAME = re.compile(r"[^\s,;()\"'`]+")
_VERBATIM = 8  # equal words in a row are a quote
_SHORT = (
    4  # a text of this many words or more counts as quoted if the prompt contains the whole text
)


class PromptText:
    """The text of a prompt, to search for texts and ids of answers. Every prompt may contain the text ``usual``."""

    def __init__(self, text: str, usual: str = "") -> None:
        words, usual_words = _words(text), _words(usual)
        self._runs = {
            n: _runs(words, n) - _runs(usual_words, n) for n in range(_SHORT, _VERBATIM + 1)
        }
        self._names = _names(text) - _names(usual)

    def contains(self, item: JudgeInput, *ids: str) -> bool:
        """Whether the prompt contains an id of the answer, or eight words in a row of answer, question or evidence.

        A shorter text counts if the prompt contains the whole text, and the text has at least four
        words. ``ids`` are further ids of the answer.
        """
        external_id = item.external_id
        has_both = re.search(r"\d", external_id) and re.search(r"[^\W\d]", external_id)
        # A prompt may contain a shorter id by chance, like 12.
        if has_both or len(external_id) >= 6:
            ids = (*ids, external_id)
        texts = (item.query, item.answer, *(item.passages or ()), item.reference or "")
        return any(name in self._names for name in ids) or any(
            self._quotes(text) for text in (*texts, *(turn.text for turn in item.turns))
        )

    def _quotes(self, text: str) -> bool:
        words = _words(text)
        length = min(len(words), _VERBATIM)
        return length >= _SHORT and not self._runs[length].isdisjoint(_runs(words, length))


def _words(text: str) -> list[str]:
    return _WORD.findall(_INVISIBLE.sub("", text.casefold()))


def _runs(words: list[str], n: int) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(n)), strict=False))


def _names(text: str) -> set[str]:
    return {name.strip(".:!?[]") for name in _NAME.findall(text)}
