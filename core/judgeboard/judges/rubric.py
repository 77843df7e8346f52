"""The judge that scores an answer on the dimensions of a rubric."""

import json
import re
from dataclasses import replace
from pathlib import Path

from judgeboard.domain import OVERALL, DimensionScore, JudgeInput, Verdict
from judgeboard.judges.expected_scores import expected_scores
from judgeboard.judges.judge import (
    DEFAULT_DOMAIN,
    JudgeOptions,
    ModelJudge,
)
from judgeboard.judges.prompt import (
    added_sections,
    chat,
    example_params,
    examples_part,
    fill,
    item_task,
)
from judgeboard.judges.replies import Answers, Form, entry_field, number_field
from judgeboard.judges.rubric_file import (
    SCALE,
    Rubric,
    default_rubric,
    read_rubric,
)
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.text import shortened

_MOST_NAMED = 5


def _form(rubric: Rubric) -> Form:
    entries = {}
    for each in rubric.dimensions:
        low, *_, high = each.values
        # The forms of judge models with one criterion: <score>4</score>, [RESULT] 4.
        names = ("score", "rating", "result") if len(rubric.dimensions) == 1 else ()
        score = number_field(low, high, {"enum": list(each.values), "type": "integer"}, names=names)
        entries[each.name] = entry_field("score", score)
    return Form(entries, partial=True)


def _gaps(rubric: Rubric, answers: Answers) -> str | None:
    """Return the dimensions that are missing in a reply, and what is no dimension; None if there are none."""
    missing_names = [name for name in rubric.weights if answers.values.get(name) is None]
    unknown = [shortened(name, 60) for name in answers.others]
    parts = []
    if missing_names:
        parts.append(f"Not scored by the judge: {', '.join(missing_names)}.")
    if unknown:
        more_words = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        parts.append(f"Not of this rubric: {', '.join(unknown[:_MOST_NAMED])}{more_words}.")
    return " ".join(parts) or None


class RubricJudge(ModelJudge):
    """Scores each dimension of a rubric with an integer and a reason.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). ``Verdict.scores`` has one score for
    each dimension and one named "overall", the weighted mean; groundedness and quality stay None.
    """

    prompt_name = kind = "rubric"
    scale = SCALE

    def __init__(
        self,
        endpoint: ModelEndpoint,
        options: JudgeOptions | None = None,
    ) -> None:
        """Make a judge of a chat model; name and domain are the rubric's own by default."""
        options = options or JudgeOptions()
        rubric = options.rubric or default_rubric()
        if isinstance(rubric, Path):
            rubric = read_rubric(rubric)
        rubric = replace(rubric, examples=(*rubric.examples, *options.examples))
        field = options.domain or rubric.domain or DEFAULT_DOMAIN
        params = {
            "domain": field,
            "dimensions": [dimension.as_json() for dimension in rubric.dimensions],
            **example_params(rubric.examples),
        }
        if options.logprobs:
            params["logprobs"] = True
        named_options = options.model_copy(update={"name": options.name or rubric.name})
        super().__init__(endpoint, named_options, params=params)
        self.rubric = rubric
        self._form = _form(rubric)  # reasons come before scores
        sections = self._prompt.sections
        names = [dimension.name for dimension in rubric.dimensions]
        middle = {each.name: each.values[len(each.levels) // 2] for each in rubric.dimensions}
        entries = {name: {"reasoning": "…", "score": score} for name, score in middle.items()}
        example = json.dumps(entries, ensure_ascii=False)
        usual = all(each.ordered and each.scale == SCALE for each in rubric.dimensions)
        levels = []
        for each in rubric.dimensions:
            words = each.name if each.description is None else f"{each.name}: {each.description}"
            lines = [f"## {words}"]
            for level, meaning in zip(reversed(each.values), reversed(each.levels), strict=True):
                lines.append(f"- {level}: {meaning}")
            levels.append("\n".join(lines))
        self._instructions = [
            fill(sections["Role"], domain=field),
            sections["Scale" if usual else "Own scales"],
            *levels,
            sections["Reference"],
            sections["Passages"],
            *([examples_part(rubric.examples)] if rubric.examples else []),
            fill(
                sections["Reply"], fields=", ".join(f'"{name}"' for name in names), example=example
            ),
        ]

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the scores of ``item``."""
        sections = added_sections(self._prompt, item, self.options.dialogue)
        *instructions, reply = self._instructions  # "Reference" is always one of the instructions
        instructions += [section for section in sections if section not in instructions]
        messages = chat([*instructions, reply], item_task(self._prompt, item))
        request = self._request(
            messages, item.external_id, self._form.schema, "scores", logprobs=self.options.logprobs
        )
        replied = await self._ask(request, self._form.parse, item)
        answers = replied.value
        if answers is None:
            return Verdict.of(replied.record)
        # A dimension that is absent or null has no value. Overall is the weighted mean of the others.
        scores = [
            DimensionScore(
                each.name, answers.values.get(each.name), each.scale, answers.reasons.get(each.name)
            )
            for each in self.rubric.dimensions
        ]
        total = self.rubric.overall(
            {name: value for name, value in answers.values.items() if value is not None}
        )
        if total is not None:
            scores.append(DimensionScore(OVERALL, total, SCALE))
        # Expected scores are added where the model says how likely each level is.
        for each in self.rubric.dimensions:
            low, high, level = each.values[0], each.values[-1], answers.values.get(each.name)
            if each.ordered and level is not None and low >= 0 and high <= 9:
                prefix = rf'{re.escape(json.dumps(each.name))}\s*:\s*{{.*?"score"\s*:\s*'
                scores += expected_scores(
                    replied.tokens, [(each.name, int(level), prefix)], low=low, high=high
                )
        return Verdict.of(
            replied.record,
            reasoning=_gaps(self.rubric, answers),
            scores=tuple(scores),
        )
