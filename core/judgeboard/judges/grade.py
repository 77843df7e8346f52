"""The judge that marks an answer as correct or incorrect."""

from judgeboard.domain import DimensionScore, JudgeInput, Label, Verdict
from judgeboard.judges.judge import ModelJudge
from judgeboard.judges.prompt import marking_messages
from judgeboard.judges.replies import mark_form

GRADE_FORM = mark_form("Grade", "correct", "score", "result")


class GradeJudge(ModelJudge):
    """Judges whether an answer, including its reasons, is correct.

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024), the "teacher" model: a binary
    grade in a strict form. The mark is stored as a label, to compare it with people's labels, and
    as a score. The source uses no reference answer. This judge shows the earlier turns and the
    reference answer if the log has them.
    """

    prompt_name = kind = "grade"
    scale = (
        "correct 1, incorrect 0; correct is kept as the label grounded, incorrect as hallucinated"
    )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the mark of ``item`` as a verdict."""
        messages = marking_messages(self._prompt, item, self.options.dialogue)
        asked = await self._ask(
            self._request(messages, item.external_id), GRADE_FORM.parse_value, item
        )
        if asked.value is None:
            return Verdict.of(asked.record)
        return Verdict.of(
            asked.record,
            label=Label.GROUNDED if asked.value else Label.HALLUCINATED,
            scores=(DimensionScore("correct", float(asked.value), "0-1"),),
        )
