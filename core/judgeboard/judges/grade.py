"""The judge that marks an answer as correct or incorrect."""

from judgeboard.domain import DimensionScore, JudgeInput, Label, Verdict
from judgeboard.judges.judge import ModelJudge
from judgeboard.judges.prompt import marking_messages
from judgeboard.judges.replies import mark_form

GRADE_FORM = mark_form("Grade", "correct", "score", "result")


class GradeJudge(ModelJudge):
    """Judges whether an answer, including its reasons, is correct.

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024), the "teacher" model: a binary
    grade in a strict form. The mark is stored as a score, and as a label for the comparison with
    people's labels. The source uses no reference answer. This judge shows the earlier turns and the
    reference answer if the log has them.
    """

    prompt_name = kind = "grade"
    scale = (
        "correct 1, incorrect 0; correct is kept as the label grounded, incorrect as hallucinated"
    )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the mark of ``item`` as a verdict."""
        messages = marking_messages(self._prompt, item, self.options.dialogue)
        reply = await self._ask(
            self._request(messages, item.external_id), GRADE_FORM.parse_value, item
        )
        if reply.value is None:
            return Verdict.of(reply.record)
        return Verdict.of(
            reply.record,
            label=Label.GROUNDED if reply.value else Label.HALLUCINATED,
            scores=(DimensionScore("correct", float(reply.value), "0-1"),),
        )
