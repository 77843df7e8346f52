"""Inspect: the samples of a log. The scores of scorers become verdicts."""

from collections.abc import Iterator
from typing import Any

from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    each_row,
    milliseconds,
    objects,
    verdict_row,
    without_nothing,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.llm.chat import last_of_user, text_of
from judgeboard.store.filters import value_at
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed_object

_SAMPLE = Keys("id", "epoch", "input", "output", holds=lambda row: isinstance(row["output"], dict))
# How Inspect writes correct, partly correct, incorrect and no answer.
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


@each_row
def read(sample: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a sample."""
    if not _SAMPLE.fit(sample):
        yield Entry(None, reason="not a sample of Inspect")
        return
    output = parsed_object(sample.get("output"))
    completion = output.get("completion")
    if not completion:
        completion = text_of(value_at(output, ("choices", 0, "message", "content")))
    if not completion:
        problem = (
            value_at(sample, ("error", "message"))
            or output.get("error")
            or "the sample has no completion"
        )
        yield Entry(None, reason=f"no answer: {problem}")
        return
    messages = objects(sample["input"])
    place = last_of_user(messages)
    usage = _usage(output) or _usage(value_at(sample, ("model_usage", str(output.get("model")))))
    scores: dict[str, Any] = {}
    reasons: dict[str, Any] = {}
    for name, score in parsed_object(sample.get("scores")).items():
        value = value_at(score, ("value",))
        values = (
            {f"{name} {part}": each for part, each in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        scores |= {
            part: _LETTERS.get(each, each) if isinstance(each, str) else each
            for part, each in values.items()
        }
        reasons[name] = value_at(score, ("explanation",))
    target = sample.get("target")
    answer = answer_row(
        parsed_object(sample.get("metadata")),
        external_id=sample.get("uuid") or f"{sample['id']}-{sample['epoch']}",
        query=sample["input"] if place is None else text_of(messages[place].get("content")),
        answer=completion,
        reference="\n".join(map(str, target)) if isinstance(target, list) else target or None,
        generator_model=output.get("model"),
        messages=[
            {"role": each.get("role"), "content": text_of(each.get("content"))} for each in messages
        ]
        or None,
        metadata=without_nothing(
            {
                "sample_id": sample["id"],
                "epoch": sample["epoch"],
                "latency_ms": milliseconds(sample.get("total_time")),
            }
        )
        | usage,
    )
    yield Entry(answer, verdict_row("Inspect", scores, reasons))


def _usage(value: Any) -> dict[str, Any]:
    usage = parsed_object(value_at(value, ("usage",)) or value)
    return without_nothing(
        {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
        }
    )


TOOL = Tool(exports=(Export("an Inspect log", "inspect", (_SAMPLE,), read),))
