"""The loop of self-refine: answer, rate, and again on the feedback until it is good enough."""

from collections.abc import Awaitable, Callable, Sequence

from judgeboard.judges.rating import Rated
from judgeboard.llm.generator import Generated
from judgeboard.refining.attempts import Refinement, RefineRule
from judgeboard.refining.messages import Messages, with_feedback

Answer = Callable[[Messages, int], Awaitable[Generated]]
Rate = Callable[[str, int], Awaitable[Rated]]
KeepAttempt = Callable[[Refinement], Awaitable[bool]]


async def go_on(_attempt: Refinement) -> bool:
    """Keep nothing and want more."""
    return True


async def attempt_until_good(
    answer: Answer,
    rate: Rate,
    messages: Messages,
    rule: RefineRule,
    *,
    done: Sequence[Refinement] = (),
    keep: KeepAttempt = go_on,
) -> list[Refinement]:
    """Return all attempts, those that were ``done`` before among them.

    Each attempt sends the original messages with the feedback of the attempt before it, and of that one alone.

    Args:
        answer: Gives the answer to messages; told the number of the attempt.
        rate: Rates an answer; told the number of the attempt.
        messages: What the user asked.
        rule: When it ends.
        done: Attempts of an earlier, interrupted call; the last one may lack its rating.
        keep: Told of each attempt when its answer came and when its rating came; False ends the loop.
    """
    attempts = list(done)
    while not rule.over(attempts):
        if attempts and not attempts[-1].complete:
            attempt = attempts.pop()
        else:
            feedback = attempts[-1].feedback if attempts else None
            number = len(attempts) + 1
            attempt = Refinement.answered(number, await answer(with_feedback(messages, feedback), number))
            if not await keep(attempt):
                return [*attempts, attempt]
        if attempt.answer is not None:
            attempt = attempt.rated(await rate(attempt.answer, attempt.number))
            if not await keep(attempt):
                return [*attempts, attempt]
        attempts.append(attempt)
    return attempts
