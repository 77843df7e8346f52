"""The judge that scores an answer on the dimensions of a rubric."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judgeboard.domain import DimensionScore, JudgeInput, JudgeVersion, Verdict
from judgeboard.judges.judge import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, JudgeOptions, ModelJudge
from judgeboard.judges.material import (
    example_params,
    examples_part,
    examples_prompt,
    fence_token,
    fenced,
    fill,
    load_prompt,
)
from judgeboard.judges.reply_forms import closed, expected_scores, refuse_others
from judgeboard.judges.rubric_file import (
    LEVELS,
    OVERALL,
    SCALE,
    Dimension,
    Rubric,
    default_rubric,
    overall,
    read_rubric,
)
from judgeboard.llm.asking import Asked, UnusableReply, ask, read_json_object
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint

_FIELDS = ("reasoning", "score")
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class ScoredRubric:
    """A reply that passed validation: one entry a dimension, then the overall score; ``note`` says what is amiss."""

    scores: tuple[DimensionScore, ...]
    note: str | None
    replaced: bool = False


def rubric_schema(rubric: Rubric) -> dict[str, Any]:
    """Return the strict JSON schema of a verdict on ``rubric``; reasons come before scores."""
    entry = closed({"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": list(LEVELS)}})
    return closed({dimension.name: entry for dimension in rubric.dimensions})


def rubric_reply_example(rubric: Rubric) -> str:
    """Return a verdict of this form as JSON, for models that are asked in words alone."""
    return json.dumps({one.name: {"reasoning": "…", "score": 3} for one in rubric.dimensions}, ensure_ascii=False)


def parse_scores(text: str, rubric: Rubric) -> ScoredRubric:
    """Read and validate a reply; one bad field makes the whole of it unusable.

    Strictly: 3.0 is not 3 and true is not 1. A dimension that is absent or null is missing, not bad: it has no value,
    and the overall score is the weighted mean of the others. A dimension that the rubric has not is named in the note.

    Raises:
        UnusableReply: With the reason; also where no dimension was scored at all.
    """
    reply = read_json_object(text)
    given = {name: _score(reply.content.get(name), name) for name in rubric.weights}
    found = {name: one[0] for name, one in given.items() if one[0] is not None}
    total = overall(found, rubric.weights)
    if total is None:
        raise UnusableReply("no dimension of the rubric was scored")
    scores = [DimensionScore(name, value, SCALE, why) for name, (value, why) in given.items()]
    return ScoredRubric(
        (*scores, DimensionScore(OVERALL, total, SCALE)), _note(given, found, reply.content), reply.replaced
    )


def _score(given: Any, name: str) -> tuple[int | None, str | None]:
    if given is None:
        return None, None
    if not isinstance(given, dict):
        raise UnusableReply(f"{name} must be an object with reasoning and score, not {given!r}")
    refuse_others(given, _FIELDS, f"{name}: ")
    reasoning, score = given.get("reasoning"), given.get("score")
    if reasoning is not None and not isinstance(reasoning, str):
        raise UnusableReply(f"{name}: reasoning must be a text, not {reasoning!r}")
    if score is None:
        return None, reasoning
    if isinstance(score, bool) or not isinstance(score, int) or score not in LEVELS:
        raise UnusableReply(f"{name}: score must be an integer from 1 to 5, not {score!r}")
    if reasoning is None:
        raise UnusableReply(f"{name}: the field 'reasoning' is missing")
    return score, reasoning


def _note(given: Mapping[str, Any], found: Mapping[str, Any], content: Mapping[str, Any]) -> str | None:
    missing = [name for name in given if name not in found]
    unknown = [name if len(name) <= 60 else f"{name[:59]}…" for name in content if name not in given]
    parts = []
    if missing:
        parts.append(f"Not scored by the judge: {', '.join(missing)}.")
    if unknown:
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        parts.append(f"Not of this rubric: {', '.join(unknown[:_MOST_NAMED])}{more}.")
    return " ".join(parts) or None


_TEMPERATURE = 0


class RubricJudge(ModelJudge):
    """Asks a chat model for an integer and a sentence on each dimension of a rubric.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). A verdict is in ``Verdict.scores``: one entry a dimension
    and one named "overall", their weighted mean; groundedness and quality stay None.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        rubric: Rubric,
        *,
        name: str | None = None,
        domain: str | None = None,
        max_output: int = DEFAULT_MAX_OUTPUT,
        logprobs: bool = False,
    ) -> None:
        """Make a judge of a model and a rubric.

        Args:
            endpoint: Who is asked; closed with the judge.
            rubric: What is scored; all of it but its name is part of the version.
            name: What people call the judge; the rubric's name by default.
            domain: What the prompt says the judge is an evaluator of; the rubric's own by default.
            max_output: Tokens a reply may have.
            logprobs: Also keep expected scores, where the endpoint gives token probabilities.
        """
        self._logprobs = logprobs
        self.rubric = rubric
        super().__init__(endpoint)
        self._max_output = max_output
        field = domain or rubric.domain or DEFAULT_DOMAIN
        self._instructions = _instructions(rubric, field)
        self.version = JudgeVersion(
            name=name or rubric.name,
            kind="rubric",
            model=endpoint.model,
            params={
                "temperature": _TEMPERATURE,
                "max_output": max_output,
                "domain": field,
                "dimensions": [dimension.as_json() for dimension in rubric.dimensions],
                **example_params(rubric.examples),
                **({"logprobs": True} if logprobs else {}),
            },
            prompt=load_prompt("rubric").text + examples_prompt(rubric.examples),
            scale=SCALE,
        )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Ask for the scores of ``item``, with one repair where the reply cannot be used.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        request = ChatRequest(
            messages=[{"role": "system", "content": self._instructions}, {"role": "user", "content": _task(item)}],
            schema=rubric_schema(self.rubric),
            schema_name="scores",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=item.external_id,
            logprobs=self._logprobs,
        )
        asked = await ask(self._endpoint.chat, request, lambda text: parse_scores(text, self.rubric), repair=_repair)
        return _verdict(asked, self._endpoint)


def make_rubric_judge(options: JudgeOptions) -> RubricJudge:
    """Make the judge of ``options``; without a rubric the default one is used.

    Raises:
        BadInput: The rubric file cannot be used, no model, no key for OpenAI's own endpoint, an address that is none.
    """
    given = options.rubric
    rubric = read_rubric(given) if isinstance(given, Path) else given or default_rubric()
    return RubricJudge(
        options.endpoint("the rubric judge"),
        replace(rubric, examples=(*rubric.examples, *options.examples)),
        name=options.name,
        domain=None if options.domain == DEFAULT_DOMAIN else options.domain,
        max_output=options.max_output,
        logprobs=options.logprobs,
    )


def _instructions(rubric: Rubric, domain: str) -> str:
    sections = load_prompt("rubric").sections
    fields = ", ".join(f'"{dimension.name}"' for dimension in rubric.dimensions)
    return "\n\n".join(
        [
            fill(sections["Role"], domain=domain),
            sections["Scale"],
            *(_words(dimension) for dimension in rubric.dimensions),
            sections["Reference"],
            sections["Passages"],
            *([examples_part(rubric.examples)] if rubric.examples else []),
            fill(sections["Reply"], fields=fields, example=rubric_reply_example(rubric)),
        ]
    )


def _words(dimension: Dimension) -> str:
    head = dimension.name if dimension.description is None else f"{dimension.name}: {dimension.description}"
    levels = zip(reversed(LEVELS), reversed(dimension.levels), strict=True)
    return "\n".join([f"## {head}", *(f"- {level}: {words}" for level, words in levels)])


def _task(item: JudgeInput) -> str:
    reference = [] if item.reference is None else [item.reference]
    passages = item.passages or ()
    token = fence_token((item.query, item.answer, *reference, *passages))
    material = [
        fenced("QUESTION", item.query, token),
        *(fenced(f"PASSAGE {number}", passage, token) for number, passage in enumerate(passages, start=1)),
        *(fenced("REFERENCE ANSWER", text, token) for text in reference),
        fenced("ANSWER", item.answer, token),
    ]
    return fill(load_prompt("rubric").sections["Task"], fence=token, material="\n\n".join(material))


def _repair(error: str) -> str:
    return fill(load_prompt("rubric").sections["Repair"], error=error)


def _verdict(asked: Asked[ScoredRubric], endpoint: ModelEndpoint) -> Verdict:
    scored = asked.value
    attempts = asked.attempts
    if scored is not None and scored.replaced:
        *earlier, last = attempts
        attempts = (*earlier, replace(last, detail="characters that cannot be stored became U+FFFD"))
    return Verdict.of(
        replace(asked, attempts=attempts).record(endpoint.price),
        reasoning=scored.note if scored else None,
        scores=(*scored.scores, *_expected(asked, scored)) if scored else (),
    )


def _expected(asked: Asked[ScoredRubric], scored: ScoredRubric) -> tuple[DimensionScore, ...]:
    """The expected score of each dimension that has an integer, by the digit behind its name in the reply."""
    digits = [
        (score.dimension, int(score.value), rf'{re.escape(json.dumps(score.dimension))}\s*:\s*{{.*?"score"\s*:\s*')
        for score in scored.scores
        if score.value is not None and score.dimension != OVERALL
    ]
    return expected_scores(asked.tokens, digits, low=min(LEVELS), high=max(LEVELS))
