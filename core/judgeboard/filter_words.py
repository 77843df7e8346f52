"""A filter in words."""

from collections.abc import Mapping

from judgeboard.filters import RowFilter
from judgeboard.times import day_words


def describe(where: RowFilter, titles: Mapping[int, str] | None = None) -> str:
    """Return a filter in words, "all answers" where nothing narrows.

    Args:
        where: The filter.
        titles: What to call judge versions, by id; one that is not among them is called by its number.
    """
    return ", ".join(_words(where, titles or {})) or "all answers"


def _words(given: RowFilter, titles: Mapping[int, str]) -> list[str]:
    listed = (
        given.query_types,
        tuple(rule.replace("_", " ") for rule in given.rules),
        tuple(f"flag {state}" for state in given.states),
        tuple(f"source {source}" for source in given.sources),
        tuple(f"written by {model}" for model in given.models),
        tuple(f"latest judgment {status}" for status in given.statuses),
        tuple(f"kind {kind.replace('_', ' ')}" for kind in given.kinds),
    )
    words = [" or ".join(values) for values in listed if values]
    words += _judge_words(given, titles)
    words += _range_words("score", given.min_score, given.max_score)
    words += _range_words("quality", given.min_quality, given.max_quality)
    words += _between(given)
    words += [
        said
        for narrows, said in (
            (given.judge_side not in {None, "none"}, f"judge {given.judge_side}"),
            (given.user is not None, _USER_WORDS.get(given.user or "", "")),
            (given.graded is True, "graded"),
            (given.graded is False, "not graded"),
            (given.text is not None, f"“{given.text}”"),
        )
        if narrows
    ]
    for counted, noun in ((given.ids, "id"), (given.response_ids, "chosen answer")):
        if counted is not None and (counted or noun != "id"):
            words.append(f"{noun} {counted[0]}" if noun == "id" and len(counted) == 1 else f"{len(counted)} {noun}s")
    return words


def _judge_words(given: RowFilter, titles: Mapping[int, str]) -> list[str]:
    version = None
    if given.judge_version is not None:
        version = titles.get(given.judge_version, f"judge version {given.judge_version}")
    # Where something is missing, its judge is named in the same breath: "judged by" beside it would say the contrary.
    whose = version or given.judge or "the primary judge"
    missing = []
    if given.judge_side == "none":
        missing.append(f"without a usable verdict of {whose}")
    if given.unscored is not None:
        missing.append(f"judged by {whose} without a {given.unscored}")
    return missing or [f"judged by {name}" for name in (given.judge, version) if name]


_USER_WORDS = {
    "down": "user thumbs down",
    "middle": "user in between",
    "up": "user thumbs up",
    "none": "no user feedback",
}


def _range_words(name: str, low: float | None, high: float | None) -> list[str]:
    if low is not None and high is not None:
        return [f"{name} {low:g}" if low == high else f"{name} {low:g} to {high:g}"]
    if low is not None:
        return [f"{name} from {low:g}"]
    return [] if high is None else [f"{name} up to {high:g}"]


def _between(given: RowFilter) -> list[str]:
    if given.no_time:
        return ["without a time"]
    if given.day_from is not None and given.day_to is not None:
        if given.day_from == given.day_to:
            return [day_words(given.day_from)]
        return [f"{day_words(given.day_from)} to {day_words(given.day_to)}"]
    if given.day_from is not None:
        return [f"from {day_words(given.day_from)}"]
    return [] if given.day_to is None else [f"up to {day_words(given.day_to)}"]
