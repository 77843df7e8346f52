"""Self-reflection: a bad answer is made anew once, and the better grounded of the two is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from judgeboard.blocking import blocking
from judgeboard.domain import JudgeInput, Verdict, checked_quality
from judgeboard.errors import BadInput
from judgeboard.judge_choice import make_judge
from judgeboard.judges.protocol import Judge
from judgeboard.llm.callable_chat import CallableChat, Chat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.generator import Generator
from judgeboard.methods.generation import Messages, checked_messages, rebuilt_messages


class Outcome(StrEnum):
    """What came of making an answer anew; only ``kept_new`` puts another in the place of the original."""

    KEPT_NEW = "kept_new"
    KEPT_ORIGINAL = "kept_original"
    SECOND_FAILED = "second_failed"
    IDENTICAL = "identical"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class ReflectRule:
    """Which answers are worth a second try.

    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026).

    Attributes:
        max_quality: Quality of at most this, 1 to 4.
        min_chars: Characters of at least this: a very short answer means that the context was empty.
        query_types: Of these types alone: for simple and SQL questions low quality is usually missing data.

    Raises:
        BadInput: One of them is out of its range.
    """

    max_quality: int = 2
    min_chars: int = 50
    query_types: tuple[str, ...] = ("complex",)

    def __post_init__(self) -> None:
        try:
            checked_quality(self.max_quality)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if self.min_chars < 0:
            raise BadInput(f"an answer has 0 characters or more, not {self.min_chars}")
        object.__setattr__(self, "query_types", tuple(sorted(set(self.query_types))))

    def concerns(self, answer: str, query_type: str) -> bool:
        """Whether an answer is of a kind that is made anew, whatever its quality."""
        return len(answer) >= self.min_chars and query_type in self.query_types

    def wants_another(self, before: Verdict) -> bool:
        """Whether a verdict calls for another answer; one that leaves a score unmeasured does not."""
        measured = before.quality is not None and before.groundedness is not None
        return measured and before.quality is not None and before.quality <= self.max_quality


def is_same(original: str, new: str) -> bool:
    """Whether a new answer is the old one; white space around it does not count."""
    return original.strip() == new.strip()


def outcome_of(before: float | None, after: float | None) -> Outcome:
    """Return which of two answers is kept, by their groundedness: the new one only where it is strictly higher.

    Args:
        before: Of the original, by the same judge version.
        after: Of the new answer; None where its judgment failed, or left it unmeasured.
    """
    if after is None or before is None:
        return Outcome.SECOND_FAILED
    return Outcome.KEPT_NEW if after > before else Outcome.KEPT_ORIGINAL


@dataclass(frozen=True, slots=True)
class Reflected:
    """The answer to give out, which of the two it is, and what the judge said of both.

    ``after`` is None where no second answer was judged; ``outcome`` is None where none was asked for. ``other`` is the
    answer that was not kept, None where there is none.
    """

    answer: str
    kept: Literal["original", "new"]
    before: Verdict
    after: Verdict | None = None
    outcome: Outcome | None = None
    other: str | None = None
    error: str | None = None


async def reflect(
    query: str,
    answer: str,
    passages: Sequence[str] | None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    *,
    generate: Chat | Generator,
    judge: str | Judge = "lexical",
    query_type: str = "complex",
    rule: ReflectRule | None = None,
    **options: Any,
) -> Reflected:
    """Judge an answer; where it is bad, have it made anew once, and keep the better grounded of the two.

    Whatever goes wrong with the second answer or its judgment, the original is kept.

    Args:
        query: What the user asked.
        answer: What the assistant said.
        passages: What was retrieved; None where that is not known, and then nothing is made anew.
        messages: What the assistant was given; rebuilt from query and passages where None.
        generate: Makes an answer: a function ``messages → text``, sync or async, or a `Generator`.
        judge: A kind of judge, made for this call, or one that `make_judge` made and its maker closes.
        query_type: The type of the question.
        rule: Which answers are made anew; the defaults of `ReflectRule`.
        options: Fields of `JudgeOptions` for a kind of judge: model, base_url, …

    Raises:
        BadInput: There is no such judge, its options do not make one, or no message is the user's.
        EndpointRefused: The judge's endpoint refuses the key, the model or the address.
    """
    if options and not isinstance(judge, str):
        raise BadInput(f"{', '.join(sorted(options))}: a judge that is made already takes no options")
    given = rebuilt_messages(query, passages) if messages is None else checked_messages(messages)
    item = JudgeInput(0, query, answer, None if passages is None else tuple(passages), query_type)
    made = make_judge(judge, **options) if isinstance(judge, str) else judge
    try:
        return await _reflect(item, given, _generator(generate), made, rule or ReflectRule())
    finally:
        if isinstance(judge, str):
            await made.aclose()


reflect_blocking = blocking(reflect)


async def _reflect(
    item: JudgeInput, messages: Messages, generator: Generator, judge: Judge, rule: ReflectRule
) -> Reflected:
    before = await judge.judge(item)
    if not rule.concerns(item.answer, item.query_type) or not rule.wants_another(before):
        return Reflected(item.answer, "original", before)
    new = await generator.generate(messages)
    if new.text is None:
        return Reflected(item.answer, "original", before, outcome=Outcome.NO_ANSWER, error=new.record.error)
    if is_same(item.answer, new.text):
        return Reflected(item.answer, "original", before, outcome=Outcome.IDENTICAL)
    after = await judge.judge(replace(item, answer=new.text))
    outcome = outcome_of(before.groundedness, after.groundedness)
    if outcome is Outcome.KEPT_NEW:
        return Reflected(new.text, "new", before, after, outcome, other=item.answer)
    return Reflected(item.answer, "original", before, after, outcome, other=new.text, error=after.error)


def _generator(generate: Chat | Generator) -> Generator:
    if isinstance(generate, Generator):
        return generate
    return Generator(ModelEndpoint(CallableChat(generate), getattr(generate, "__name__", "callable")))
