"""What a judge's comparisons came to, in words."""

from judgeboard.domain import Estimate
from judgeboard.pairs.report import ALL, PairGroup, PairReport
from judgeboard.stats.words import percent_words

_UNUSABLE = {
    "drop": "",
    "tie": " An unusable verdict counts as a tie against gold and people.",
    "wrong": " An unusable verdict counts as wrong against gold and people.",
}


def group_title(group: PairGroup) -> str:
    """Return what a group is of: "all pairs, overall"."""
    return f"{'all pairs' if group.slice == ALL else group.slice}, {group.aspect}"


def outcome_words(group: PairGroup) -> str:
    """Return how the pairs of a group came out, in one line."""
    counts = group.counts
    said = f"{counts.pairs:,} pairs: A better {counts.wins_a:,}, B better {counts.wins_b:,}, tie {counts.ties:,}"
    if group.one_order:
        said += "; asked in one order only"
    else:
        said += f"; inconsistent: {counts.flips:,} name both answers, {counts.tie_win:,} a tie in one order"
    return f"{said}; unmeasured {counts.unmeasured:,}"


def figures_of(group: PairGroup) -> list[tuple[str, Estimate]]:
    """Return the statistics of a group under the names that people read."""
    # Of one order the two accuracies are one.
    gold = (
        [("right by gold", group.accuracy_consistent)]
        if group.one_order
        else [
            ("right by gold, mean of the orders", group.accuracy_orders_mean),
            ("right by gold, consistent verdicts", group.accuracy_consistent),
        ]
    )
    return [
        ("self-consistency", group.self_consistency),
        ("names the answer shown first", group.first_position),
        *gold,
        ("as the majority of people", group.people),
    ]


def group_lines(group: PairGroup) -> list[str]:
    """Return a group in lines for a terminal."""
    lines = [f"{group_title(group)}: {outcome_words(group)}"]
    for name, estimate in figures_of(group):
        n = f" (n {estimate.n:,})" if estimate.value is not None else ""
        lines.append(f"  {name}: {percent_words(estimate)}{n}")
    if group.people_split:
        split = "1 verdict" if group.people_split == 1 else f"{group.people_split:,} verdicts"
        lines.append(f"  left out there: {split} on pairs without a majority of people")
    return lines


def report_sentence(report: PairReport) -> str:
    """Return what was counted, in one sentence: asked = ok + the rest, and how unusable verdicts count."""
    return f"{report.judge}: {report.account.words('comparisons asked')}.{_UNUSABLE[report.unusable_as]}"
