"""Supreme judges: `SupremeJudge` marks another judge's verdict; `IndependentSupreme` judges the answer again."""

from dataclasses import replace

from judgeboard.domain import AUDIT, JudgeInput, Verdict
from judgeboard.judges.judge import Judge, JudgeOptions, ModelJudge
from judgeboard.judges.prompt import marking_messages
from judgeboard.judges.replies import mark_form
from judgeboard.llm.asking import Replied
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.registry.judge_kinds import kind_of

# Not "Grade": a reply may repeat the grade that it reviews.
CORRECTNESS_FORM = mark_form("Correctness", "correct")


class SupremeJudge(ModelJudge):
    """Judges whether a judge's verdict on an answer is correct (the verdict, not the answer).

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024), approach 1, which uses no
    reference answer. This judge gets the earlier turns and the reference answer of the log, because
    the audited judge saw both.
    """

    prompt_name = "supreme"
    kind = AUDIT
    scale = "of a verdict: correct 1, incorrect 0"

    def __init__(self, endpoint: ModelEndpoint, options: JudgeOptions | None = None) -> None:
        super().__init__(endpoint, options, params={"approach": 1})

    async def review(self, item: JudgeInput, verdict: Verdict) -> Replied[bool]:
        """Ask whether ``verdict`` on ``item`` is correct."""
        messages = marking_messages(self._prompt, item, VERDICT=verdict_text(verdict))
        return await self._ask(
            self._request(messages, item.external_id), CORRECTNESS_FORM.parse_value, item
        )


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as the supreme judge reads it: one line for each value."""
    values = {
        "groundedness": None if verdict.groundedness is None else f"{verdict.groundedness:g}",
        "quality": None if verdict.quality is None else str(verdict.quality),
        "label": None if verdict.label is None else verdict.label.value,
        **{
            each.dimension: f"{each.value:g} (of {each.scale})"
            for each in verdict.scores
            if each.value is not None
        },
        "reasoning": verdict.reasoning,
    }
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value is not None)


class IndependentSupreme:
    """Judges the answers again with another judge (approach 2). The judge version has the kind audit.

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024).
    """

    def __init__(self, judge: Judge, *, name: str = "supreme") -> None:
        """Use a judge of any kind. `aclose` closes it."""
        self._judge = judge
        version = judge.version
        params = {**version.params, "approach": 2, "judge": version.kind}
        self.version = replace(version, name=name, kind=AUDIT, params=params)
        self.address = judge.address
        self.priced = judge.priced

    @property
    def measures(self) -> frozenset[str]:
        """The measures on which the verdicts can be compared; all measures for an unknown kind of judge."""
        return kind_of(str(self.version.params["judge"])).measures

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``."""
        return await self._judge.judge(item)

    async def aclose(self) -> None:
        """Close the judge."""
        await self._judge.aclose()
