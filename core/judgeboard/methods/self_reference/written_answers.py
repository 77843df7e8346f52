"""Answers of pairs, written by a generator: each reasons and concludes with an option."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

from judgeboard.domain import RunState
from judgeboard.judges.pairwise import solution_form
from judgeboard.judges.prompt import fence_token, fenced, fill, load_prompt
from judgeboard.judges.replies import lettered, letters_of
from judgeboard.llm.asking import Generator, UnusableReply, unsent_requests
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.provider import is_own_host
from judgeboard.runs.estimates import LOOKED_AT, PlannedCalls, estimate_planned
from judgeboard.runs.generation import Messages
from judgeboard.runs.method import RunAccount, RunOptions, ask_each, require_price
from judgeboard.runs.runner import INTERRUPTED, Answered, blocking
from judgeboard.store.runs import Counts

UNREADABLE = "an answer whose conclusion cannot be read"
NO_ANSWER = "a call without an answer"
BOTH_RIGHT, BOTH_WRONG = "two right conclusions", "two wrong conclusions"
NOT_REACHED = "answers that were not asked for"

_SIDES = ("a", "b")


@dataclass(slots=True)
class WrittenPairs:
    """Rows of a pair file whose answers a generator wrote, and how many pairs were left out, by reason."""

    account: RunAccount
    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class _Task(NamedTuple):
    place: int
    side: str
    letter: str


def conclusion(answer: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option that an answer gives as "Answer: B"; None if it gives none, or several.

    The line may have the option's letter, its text, or both ("B. Rome"), and nothing else.
    """
    try:
        letter: str = solution_form(tuple(options)).parse_value(answer).value
    except UnusableReply:
        return None
    return letter


def answer_messages(pair: Mapping[str, Any], letter: str) -> Messages:
    """Return the request for an answer to the question of a pair that concludes with an option."""
    options = "\n".join(lettered(pair["options"]))
    token = fence_token((pair["question"], options))
    material = "\n\n".join(
        (fenced("QUESTION", pair["question"], token), fenced("OPTIONS", options, token))
    )
    section = load_prompt("written_answer").sections["Answer"]
    return (
        {"role": "user", "content": fill(section, letter=letter, fence=token, material=material)},
    )


def _tasks(place: int, pair: Mapping[str, Any]) -> list[_Task]:
    listed = lettered(pair["options"])
    return [
        _Task(place, side, letters_of(pair["options"])[listed.index(pair[f"answer_{side}"])])
        for side in _SIDES
    ]


async def write_answers_async(
    pairs: Sequence[Mapping[str, Any]], generator: Generator, **options: Unpack[RunOptions]
) -> WrittenPairs:
    """Let a generator write the two answers of each pair, one for its right and one for its wrong option.

    ``pairs`` are rows of `pair_of_question`. Recorded replies have the id of the question and the
    letter ("70/A"). A pair is left out if a call fails, a conclusion cannot be read, or not exactly
    one answer concludes right: the generator may not write what it was asked for. The generator is
    closed at the end. ``options`` are fields of `RunOptions`; nothing is stored.
    """
    require_price(
        options.get("max_cost"), priced=generator.endpoint.priced, model=generator.endpoint.model
    )
    answers: dict[tuple[int, str], str | None] = {}
    tasks = [task for place, pair in enumerate(pairs) for task in _tasks(place, pair)]

    async def ask(task: _Task) -> Answered[_Task, str | None]:
        pair = pairs[task.place]
        replied = await generator.generate(
            answer_messages(pair, task.letter), subject=f"{pair['id']}/{task.letter}"
        )
        return Answered(task, replied.value, replied.record)

    def keep(step: Answered[_Task, str | None]) -> None:
        answers[step.task.place, step.task.side] = step.result

    try:
        if (on_estimate := options.get("on_estimate")) is not None:
            with unsent_requests() as requests:
                for task in tasks[:LOOKED_AT]:
                    await ask(task)
            if (estimate := estimate_planned([PlannedCalls(len(tasks), requests)])) is not None:
                on_estimate(estimate)
        runner = await ask_each(tasks, ask, keep, **options)
    finally:
        await generator.endpoint.aclose()
    written = WrittenPairs(
        _account(generator.endpoint, runner.counts, runner.stopped_because, 2 * len(pairs))
    )
    for place, pair in enumerate(pairs):
        row = _row(
            pair,
            {side: answers.get((place, side), NOT_REACHED) for side in _SIDES},
            generator.endpoint.model,
        )
        if isinstance(row, str):
            written.left_out[row] += 1
        else:
            written.rows.append(row)
    return written


write_answers = blocking(write_answers_async)


def _account(
    endpoint: ModelEndpoint, counts: Counts, why_stopped: str | None, calls: int
) -> RunAccount:
    cost_micro = counts.total_cost_micro
    if counts.asked == calls:
        why_stopped = None  # the stop came after the last call
    ended = {None: RunState.DONE, INTERRUPTED: RunState.INTERRUPTED}
    return RunAccount(
        not_reached=calls - counts.asked,
        cost=None if cost_micro is None else cost_micro / 1_000_000,
        own_endpoint=is_own_host(endpoint.host),
        state=ended.get(why_stopped, RunState.STOPPED),
        why_stopped=why_stopped,
        **counts.by_status,
    )


def _row(
    pair: Mapping[str, Any], answers: Mapping[str, str | None], model: str
) -> dict[str, Any] | str:
    """Return the row of a pair with its written answers, or why it is left out."""
    texts = {side: answer for side, answer in answers.items() if answer is not None}
    if NOT_REACHED in texts.values():
        return NOT_REACHED
    if len(texts) < len(_SIDES):
        return NO_ANSWER
    concludes = {side: conclusion(text, pair["options"]) for side, text in texts.items()}
    if None in concludes.values():
        return UNREADABLE
    right = [side for side in _SIDES if concludes[side] == pair["reference"]]
    if len(right) != 1:
        return BOTH_RIGHT if right else BOTH_WRONG
    row = dict(pair) | {"gold": right[0]}
    for side in _SIDES:
        row |= {
            f"answer_{side}": texts[side],
            f"concludes_{side}": concludes[side],
            f"model_{side}": model,
        }
    return row
