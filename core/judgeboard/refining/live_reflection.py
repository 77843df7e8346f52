"""Self-reflection on one answer that a program holds in its hands; nothing is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from judgeboard.blocking import run_blocking
from judgeboard.domain import JudgeInput, Verdict
from judgeboard.errors import BadInput
from judgeboard.judge_choice import make_judge
from judgeboard.judges.protocol import Judge
from judgeboard.llm.callable_chat import CallableChat, Chat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.generator import Generator
from judgeboard.refining.messages import Messages, checked_messages, rebuilt_messages
from judgeboard.refining.reflection import Outcome, ReflectRule, is_same, outcome_of


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


def reflect_blocking(
    query: str,
    answer: str,
    passages: Sequence[str] | None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    *,
    generate: Chat,
    judge: str = "lexical",
    query_type: str = "complex",
    rule: ReflectRule | None = None,
    **options: Any,
) -> Reflected:
    """Do the same as `reflect`, waiting for it: for callers without an event loop.

    Raises:
        BadInput: As `reflect`, and where an event loop runs already (in a notebook): await `reflect` there.
        EndpointRefused: As `reflect`.
    """
    return run_blocking(
        reflect,
        query,
        answer,
        passages,
        messages,
        generate=generate,
        judge=judge,
        query_type=query_type,
        rule=rule,
        **options,
    )


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
