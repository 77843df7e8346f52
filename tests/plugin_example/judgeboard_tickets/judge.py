"""A judge that uses no model."""

import re

from judgeboard import JudgeInput, JudgeVersion, Status, Verdict
from judgeboard.judges.judge import JudgeOptions


class CitedJudge:
    """Judges which share of the sentences cites a passage, such as [1]."""

    address = None  # nothing leaves the process
    priced = True  # its calls have a known cost: none

    def __init__(self, options: JudgeOptions) -> None:
        self.version = JudgeVersion(
            name=options.name or "cited", kind="cited", params={"formula": 1}
        )

    async def judge(self, item: JudgeInput) -> Verdict:
        sentences = re.findall(r"[^.!?]+[.!?]", item.answer) or [item.answer]
        cited = sum(bool(re.search(r"\[\d+\]", sentence)) for sentence in sentences)
        return Verdict(
            status=Status.OK,
            groundedness=cited / len(sentences),
            reasoning=f"{cited} of {len(sentences)} sentences cite a passage.",
            cost_micro=0,
        )

    async def aclose(self) -> None:
        pass
