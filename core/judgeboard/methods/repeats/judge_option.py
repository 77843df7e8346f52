"""The option `--repeats` of the command `judge`: a judge judges each answer several times."""

from functools import partial
from typing import Any

from judgeboard.cli import options
from judgeboard.cli.judging import Judging
from judgeboard.errors import BadInput


def judge_repeatedly(repeats: int, judging: Judging) -> int:
    """Judge each answer ``repeats`` times, then measure how far the repeats agree."""
    from judgeboard.cli.judge import summary_lines
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.repeats.command import repeats_lines
    from judgeboard.methods.repeats.run import judge_repeats, repeats_report

    if judging.rejudge or len(judging.options) > 1:
        raise BadInput(
            "--repeats works with one judge and new judgments: remove --jury and --rejudge"
        )
    (judge,) = judging.make_judges([judging.asked])
    summary = judging.ask(judge, judging.max_cost, partial(judge_repeats, repeats=repeats))
    more: dict[str, Any] = dict(judging.warnings)
    lines = summary_lines(summary)
    if summary.ok:
        with judging.store.reading() as connection:
            more["repeats"] = report = repeats_report(
                connection, version=fingerprint(judge.version)
            )
        lines += repeats_lines(report)
    options.show(summary, lines, more)
    return summary.exit_code
