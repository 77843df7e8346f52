"""Self-refine around a chat call that a program makes already; nothing is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.blocking import run_blocking
from judgeboard.domain import JudgeInput, Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judge_choice import make_judge
from judgeboard.judges.rating import KIND, Rated, RatingJudge
from judgeboard.llm.callable_chat import CallableChat, Chat, call
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.generator import Generated
from judgeboard.refining.attempts import Keeping, Refinement, RefineRule
from judgeboard.refining.loop import attempt_until_good
from judgeboard.refining.messages import Messages, checked_messages, request_text
from judgeboard.storable_text import storable


@dataclass(frozen=True, slots=True)
class Refined:
    """What self-refine came to: the answer that is given out, whether it passed, and every attempt.

    ``answer`` is None only where no attempt gave one. ``feedback`` is what the judge still wants changed in it.
    """

    answer: str | None
    passed: bool
    rating: int | None
    feedback: str | None
    attempts: tuple[Refinement, ...]

    @property
    def judge_cost_micro(self) -> int | None:
        """What the ratings of all attempts cost, in millionths; None as soon as one is unknown."""
        return _sum(one.judging for one in self.attempts if one.judging is not None)

    @property
    def cost_micro(self) -> int | None:
        """What answers and ratings of all attempts cost, in millionths; None as soon as one is unknown."""
        steps = [step for one in self.attempts for step in (one.answering, one.judging) if step is not None]
        return _sum(steps)


class Refiner:
    """A chat call with self-refine around it: await it, or use ``blocking`` where no event loop runs."""

    def __init__(self, chat: Chat, judge: str | RatingJudge | Chat, rule: RefineRule, options: dict[str, Any]) -> None:
        self._chat = chat
        self._judge = judge
        self._rule = rule
        self._options = options

    async def __call__(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Return the answer to ``messages`` (or to one text), refined until it is good enough.

        An answer that is never good enough is returned with ``passed`` False and the feedback, not raised.

        Args:
            messages: What the chat call is given; the last message of the user is what is augmented and rated.
            passages: What the answer should rest on, shown to the judge; None where there is nothing of the kind.

        Raises:
            BadInput: No message is the user's, or the chat call gave no text.
            EndpointRefused: The judge's endpoint refuses the key, the model or the address.
            Exception: Whatever the chat call raises.
        """
        given = checked_messages(messages)
        judge, close = self._rating_judge()
        shown = None if passages is None else tuple(passages)

        async def rate(answer: str, _number: int) -> Rated:
            return await judge.rate(JudgeInput(0, request_text(given), answer, shown))

        try:
            attempts = await attempt_until_good(self._answer, rate, given, self._rule)
        finally:
            if close:
                await judge.aclose()
        return _refined(attempts, self._rule)

    def blocking(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Return the same, waiting for it.

        Raises:
            BadInput: As above, and where an event loop runs already (in a notebook): await the object itself there;
                or where the judge is one that was made already, whose connections belong to one event loop.
        """
        if isinstance(self._judge, RatingJudge):
            raise BadInput(
                "name the judge's model (model=…) where the call blocks: a judge that is made belongs to a loop"
            )
        return run_blocking(self, messages, passages=passages)

    def _rating_judge(self) -> tuple[RatingJudge, bool]:
        """The judge, and whether it is to be closed after the call."""
        if isinstance(self._judge, RatingJudge):
            return self._judge, False
        if isinstance(self._judge, str):
            made = make_judge(self._judge, **self._options)
            if not isinstance(made, RatingJudge):
                raise BadInput(f"self-refine needs a judge that gives feedback: {KIND!r}, not {self._judge!r}")
            return made, True
        return RatingJudge(ModelEndpoint(CallableChat(self._judge), getattr(self._judge, "__name__", "callable"))), True

    async def _answer(self, messages: Messages, _number: int) -> Generated:
        given = await call(self._chat, messages)
        if isinstance(given, Generated):
            return given
        if not isinstance(given, str):
            raise BadInput(f"the chat call must return a text, not {type(given).__name__}")
        if not given.strip():
            return Generated(None, StepRecord(Status.UNPARSABLE, raw=given, error="the answer is empty"))
        return Generated(given, StepRecord(Status.OK, raw=storable(given)[0]))


def refine(
    chat: Chat | Callable[..., Any],
    judge: str | RatingJudge | Chat = KIND,
    *,
    success_rating: int = 4,
    max_repeats: int = 3,
    keep: Keeping = "last",
    **options: Any,
) -> Refiner:
    """Put self-refine around a chat call: answer, have a separate model rate it, answer again on its feedback.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025). Both calls go through ``messages → text``
    functions, sync or async; tools that the chat call uses run inside it::

        better = judgeboard.refine(my_chat, model="llama-3.1-8b-instruct", base_url="http://localhost:8000/v1")
        result = await better([{"role": "user", "content": "How warm is it in Paris?"}])

    Args:
        chat: The call that is made already: messages in, text out.
        judge: ``rating`` (a chat model, named by ``options``), a `RatingJudge`, or a function ``messages → text`` of
            another model: what it answers is read as strictly as a model's reply.
        success_rating: An answer rated so (1 to 4) or better is returned.
        max_repeats: Further attempts after the first.
        keep: Which answer is returned where none was good enough.
        options: Fields of `JudgeOptions` for a judge by name: model, base_url, api_key, …

    Raises:
        BadInput: A setting is out of its range.
    """
    if options and not isinstance(judge, str):
        raise BadInput(f"{', '.join(sorted(options))}: a judge that is made already takes no options")
    return Refiner(chat, judge, RefineRule(success_rating, max_repeats, keep), options)


def _refined(attempts: Sequence[Refinement], rule: RefineRule) -> Refined:
    kept = rule.kept(attempts)
    said = None if kept is None else kept.rating
    return Refined(
        answer=None if kept is None else kept.answer,
        passed=rule.passed(attempts),
        rating=None if said is None else said.rating,
        feedback=None if said is None else said.feedback,
        attempts=tuple(attempts),
    )


def _sum(steps: Any) -> int | None:
    costs = [step.cost_micro for step in steps]
    return None if None in costs else sum(costs)
