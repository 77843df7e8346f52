"""A judge that scores answers for an audit: an opinion beside another judge's, kept apart from those that count."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from judgeboard.domain import JudgeInput, JudgeVersion, Verdict
from judgeboard.judge_kinds import AUDIT
from judgeboard.judges.protocol import Judge

MEASURES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "rag": frozenset({"groundedness", "quality"}),
        "lexical": frozenset({"groundedness"}),
        "rating": frozenset({"quality"}),
        "grade": frozenset({"label"}),
        "rubric": frozenset(),
    }
)
"""What the verdicts of each kind of judge say, dimensions apart."""


class IndependentSupreme:
    """Judges answers as ``judge`` does, as a version of kind audit; approach 2 of methods.md §4.

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024).
    """

    def __init__(self, judge: Judge, *, name: str = "supreme") -> None:
        """Take a judge of any kind; it is closed with this one."""
        self._judge = judge
        version = judge.version
        params = {**version.params, "approach": 2, "judge": version.kind}
        self.version: JudgeVersion = replace(version, name=name, kind=AUDIT, params=params)

    @property
    def measures(self) -> frozenset[str]:
        """What its verdicts can be compared on; of a kind that is not known here, all that a verdict may have."""
        return MEASURES.get(str(self.version.params["judge"]), frozenset({"groundedness", "quality", "label"}))

    @property
    def endpoint_host(self) -> str | None:
        """Host and port that the texts are sent to."""
        return self._judge.endpoint_host

    @property
    def priced(self) -> bool:
        """Whether the cost of a call is known."""
        return self._judge.priced

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        return await self._judge.judge(item)

    async def aclose(self) -> None:
        """Close the judge."""
        await self._judge.aclose()
