"""What the figures of agreement are called, on the page, in the report and in a terminal."""

from judgeboard.stats.pair_statistics import STATISTICS as STATISTICS  # noqa: PLC0414 - read from here by the pages

_LEFT_OUT = {
    "ties": "on which as many people said one as the other",
    "only_gold": "that only a lead has graded",
    "without_verdict": "without a usable verdict of this version",
    "inconsistent": "on which the judge contradicts itself when the order is turned round",
    "unusable": "with a verdict that cannot be used",
    "one_person": "that one person rated",
    "revealed": "on which somebody spoke only after the rest was revealed",
    "one_judge": "that one judge rated",
    "incomplete": "without a usable verdict every time",
}


def statistic_name(name: str) -> str:
    """Return a figure's name in words."""
    return STATISTICS[name].name if name in STATISTICS else name.replace("_", " ")


def is_share(name: str) -> bool:
    """Return whether a figure is a share, shown in percent."""
    return name in STATISTICS and STATISTICS[name].share


def left_out_words(why: str) -> str:
    """Return why items were left out, after their number."""
    return _LEFT_OUT.get(why, why.replace("_", " "))
