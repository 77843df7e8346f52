"""The group `labels`: what people's labels say about all answers, and how many a figure needs."""

from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.measure.choice import By, GradeName
    from judgeboard.measure.label_plans import Question
    from judgeboard.stats.rates import Target


@options.group("judgeboard labels rate --by query_type", "judgeboard labels plan --reach 0.05")
def labels_command() -> None:
    """Measure with people's labels: rate, plan, thresholds.

    `rate` estimates how many of all answers are bad. `plan` shows how many labels that takes.
    `threshold` and `stand` show what a judge's scores are good for.
    """


@options.command(
    "judgeboard labels rate --by query_type",
    "judgeboard labels rate --judge-version 'rag v3' --target these --json",
    "judgeboard labels rate --grade groundedness --where source=app",
    "judgeboard labels rate --where from=2026-03-01 --labels-from to=2026-02-28",
    group=labels_command,
)
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the primary judge)."
)
@click.option(
    "--by",
    metavar="query_type|source|generator|time|length|rule|metadata.KEY",
    help="Also measure each slice separately (default: all answers together).",
)
@options.with_default(
    "--target",
    type=click.Choice(["app", "these"]),
    default="app",
    help="What the rate describes. app: all answers of the app; the logged answers are a sample of them. these: "
    "only the logged answers; if all of them are labelled, the rate is exact.",
)
@options.where
@options.with_default(
    "--grade",
    type=click.Choice(["label", "groundedness", "quality"]),
    default="label",
    help="What to estimate. label: the share of bad answers. groundedness, quality: the mean grade of all answers.",
)
@click.option(
    "--labels-from",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Use the labels of other answers, for example of an earlier month (default: labels of the same answers). "
    "Write the filter as for --where. The result is right only if the judge's error rates are equal on both sets of "
    "answers.",
)
@options.implied_labels
def labels_rate(
    judge_version: str | None,
    by: "By | None",
    target: "Target",
    where: RowFilter,
    grade: "GradeName",
    labels_from: tuple[str, ...],
    implied_labels: bool,
) -> None:
    """Estimate how many of all answers are bad.

    People's labels of a random sample correct the judge's verdicts on all answers. A label counts
    if its answer is from the random sample or from a queue in random order. If people labelled all
    flagged answers, all labels of flagged answers count. If people labelled all answers without a
    flag, all labels of these answers count.
    """
    from judgeboard.measure.rates import measure_rate
    from judgeboard.reports.rates import rate_lines

    elsewhere = options.selection(labels_from) if labels_from else None
    result = measure_rate(
        options.seen(options.open_store()),
        judge_version=judge_version,
        by=by,
        target=target,
        where=where,
        grade=grade,
        labels_from=elsewhere,
        implied_labels=implied_labels,
    )
    options.show(result, rate_lines(result))


@options.command(
    "judgeboard labels plan",
    "judgeboard labels plan --reach 0.05 --target these --by query_type --json",
    "judgeboard labels plan --reach 0.1 --for kappa --judge-version 'rag v3'",
    "judgeboard labels plan --reach 0.04 --for judges --judge-version 'rag v2' --judge-version 'rag v3'",
    group=labels_command,
    rows="plans",
)
@options.with_default(
    "--reach",
    default=0.05,
    metavar="X",
    type=options.FiniteRange(0, 1, min_open=True, max_open=True),
    help="Goal of the plan, between 0 and 1. For rate and kappa: half the width of the 95 % interval (0.05 means ±5 "
    "percentage points, or ±0.05 for kappa). For judges: the smallest difference that you want to find, with "
    "probability 0.8.",
)
@options.with_default(
    "--for",
    "question",
    type=click.Choice(["rate", "kappa", "judges"]),
    default="rate",
    help="What the labels are to show. rate: the share of bad answers. kappa: the agreement of the judge with people. "
    "judges: which of two judge versions agrees more with people.",
)
@options.judge_version(
    "judge_versions",
    multiple=True,
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the primary judge). Give it twice "
    "for --for judges.",
)
@options.with_default(
    "--target",
    type=click.Choice(["app", "these"]),
    default="app",
    help="What the figure is about. app: all answers that the app gives, of which the log is a sample. these: "
    "the logged answers only.",
)
@click.option(
    "--by", type=click.Choice(["query_type"]), help="Also show a plan for each query type."
)
@options.where
def labels_plan(
    reach: float,
    question: "Question",
    judge_versions: tuple[str, ...],
    target: "Target",
    by: str | None,
    where: RowFilter,
) -> None:
    """Show how many answers to label to reach a goal. It also shows how many minutes the labelling takes.

    The plan uses the labels of random samples that the log already has. With fewer than 30 such
    labels, it assumes the worst case. The minutes are computed from the median time of a review.
    `judgeboard queue create NAME --plan rate --n N` draws the answers.
    """
    from judgeboard.formats.output import text_lines
    from judgeboard.measure.plans import plan_labels, plan_versions

    with options.reading() as connection:
        versions = plan_versions(connection, judge_versions)
        plans = plan_labels(
            connection,
            reach,
            question,
            versions=versions,
            where=where,
            target=target,
            by_query_type=by is not None,
        )
    lines: list[str] = []
    for plan in plans:
        if "query_type" in plan.about.where:  # a query type has no other sentences
            lines += ("", plan.sentence)
        else:
            # Commands of queues are suggested, on stderr.
            sentences = (plan.headline, *plan.caveats, *plan.next)
            lines += (each.text for each in sentences if "command" not in each.values)
        # The strata of a plan that is made anew are no advice.
        if plan.headline.code in {"plan_label", "plan_label_at_least"}:
            figures = plan.table("minutes", "by_lot", "bad_share", "explained", "design_effect")
            lines += text_lines(plan.table("answers", "labelled", "more"))
            lines += text_lines(figures.without(["Stratum"]))
    options.show({"plans": plans}, lines)
    commands = (each.values["command"] for each in plans[0].next if "command" in each.values)
    if (command := next(commands, None)) is not None:
        options.suggest_command(str(command))
