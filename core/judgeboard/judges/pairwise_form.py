"""The form of a pairwise verdict: the schema that a model is asked for, the validation of what it sends."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import Preference, Shown
from judgeboard.errors import BadInput
from judgeboard.judges.closed_form import closed, require_exactly
from judgeboard.llm.json_reply import UnusableReply, read_json_object

FIRST, SECOND, TIE = "first", "second", "tie"
LONGEST_ASPECT = 60

_FIELDS = ("reasoning", "verdict")
_MEANS = {
    Shown.AB: {FIRST: Preference.A, SECOND: Preference.B, TIE: Preference.TIE},
    Shown.BA: {FIRST: Preference.B, SECOND: Preference.A, TIE: Preference.TIE},
}


@dataclass(frozen=True, slots=True)
class ParsedComparison:
    """A reply that passed validation: the verdict (first, second, tie) and the reasoning of each aspect."""

    verdicts: Mapping[str, str]
    reasonings: Mapping[str, str]
    replaced: bool = False

    def preferences(self, shown: Shown) -> dict[str, Preference]:
        """Return the verdicts in terms of the stored answers, which were shown in this order."""
        return {aspect: _MEANS[shown][verdict] for aspect, verdict in self.verdicts.items()}

    @property
    def reasoning(self) -> str:
        """The reasoning as one text; of several aspects each in a line that names it."""
        if len(self.reasonings) == 1:
            return next(iter(self.reasonings.values()))
        return "\n".join(f"{aspect}: {said}" for aspect, said in self.reasonings.items())


def checked_aspects(aspects: Sequence[str]) -> tuple[str, ...]:
    """Return the aspects of a comparison.

    Raises:
        BadInput: There is none, one is named twice, or a name is empty, too long or cannot be shown.
    """
    if not aspects or len(set(aspects)) < len(aspects):
        raise BadInput("a comparison needs at least one aspect, each of them named once")
    for aspect in aspects:
        if not aspect.strip() or len(aspect) > LONGEST_ASPECT or not aspect.isprintable():
            raise BadInput(f"an aspect is a name of 1 to {LONGEST_ASPECT} characters that can be shown, not {aspect!r}")
    return tuple(aspects)


def comparison_schema(aspects: Sequence[str]) -> dict[str, Any]:
    """Return the strict JSON schema of a verdict on these aspects; reasons come before verdicts."""
    verdict = {"type": "string", "enum": [FIRST, SECOND, TIE]}
    entry = closed({"reasoning": {"type": "string"}, "verdict": verdict})
    return closed(dict.fromkeys(aspects, entry))


def comparison_example(aspects: Sequence[str]) -> str:
    """Return a verdict of this form as JSON, for models that are asked in words alone."""
    return json.dumps({aspect: {"reasoning": "…", "verdict": TIE} for aspect in aspects}, ensure_ascii=False)


def parse_comparison(text: str, aspects: Sequence[str]) -> ParsedComparison:
    """Read and validate a reply; one bad field makes the whole of it unusable.

    Strictly: "First" and "A" are no verdicts, and every aspect must be there: half a verdict would make the two orders
    of a pair differ in what they speak of.

    Raises:
        UnusableReply: With the reason, like "overall: verdict must be one of first, second, tie, not 'A'".
    """
    reply = read_json_object(text)
    require_exactly(reply.content, aspects, "")
    entries = {aspect: _entry(reply.content[aspect], aspect) for aspect in aspects}
    return ParsedComparison(
        {aspect: verdict for aspect, (verdict, _) in entries.items()},
        {aspect: reasoning for aspect, (_, reasoning) in entries.items()},
        reply.replaced,
    )


def _entry(given: Any, aspect: str) -> tuple[str, str]:
    if not isinstance(given, dict):
        raise UnusableReply(f"{aspect} must be an object with reasoning and verdict, not {given!r}")
    require_exactly(given, _FIELDS, f"{aspect}: ")
    reasoning, verdict = given["reasoning"], given["verdict"]
    if not isinstance(reasoning, str):
        raise UnusableReply(f"{aspect}: reasoning must be a text, not {reasoning!r}")
    if not isinstance(verdict, str) or verdict not in _MEANS[Shown.AB]:
        raise UnusableReply(f"{aspect}: verdict must be one of first, second, tie, not {verdict!r}")
    return verdict, reasoning
