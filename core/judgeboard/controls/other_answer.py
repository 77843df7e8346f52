"""Known-bad: the answer to another question."""

from judgeboard.controls.text import AnswerText


def other_answer(original: AnswerText, donor: AnswerText) -> AnswerText | None:
    """Return the question and passages with the answer that ``donor`` has, None where that is no other."""
    same = donor.query.split() == original.query.split() or donor.answer.split() == original.answer.split()
    return original._replace(answer=donor.answer) if not same and donor.answer.strip() else None
