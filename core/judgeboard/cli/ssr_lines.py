"""What self-reference came to, in lines for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeboard.cli.amounts import cost_text
from judgeboard.stats.words import percent_words

if TYPE_CHECKING:
    from judgeboard.self_reference.result import SelfReferenceReport
    from judgeboard.self_reference.tuning import Tuned

_NAMES = {"A": "A no reference", "B": "B always", "C": "C selective"}


def report_lines(report: "SelfReferenceReport", *, sweep: bool = False) -> list[str]:
    """Return the lines; ``sweep`` adds every threshold that k samples tell apart."""
    return [*_account(report), *_figures(report), *(_swept(report) if sweep else ()), *_rest(report)]


def _account(report: "SelfReferenceReport") -> Iterator[str]:
    account = report.account
    where = "" if account.run_id is None else f", run {account.run_id}"
    line = f"{report.judge}{where}: {account.words()}"
    line += f"; {account.not_reached:,} not reached" if account.not_reached else ""
    yield line + (f"; cost {cost_text(account.cost_micro)}" if account.run_id else "")
    if account.why_stopped:
        yield f"stopped: {account.why_stopped}"
    if account.not_reached:
        yield "The same command goes on where this one ended."


def _figures(report: "SelfReferenceReport") -> Iterator[str]:
    yield (
        f"{report.items:,} items of {report.k} samples; gate on from {report.needed} of {report.k}: "
        f"{percent_words(report.gate.on_rate)} of the items, its answer right on {percent_words(report.gate.precision)}"
    )
    for name, scores in report.conditions.items():
        said = percent_words(scores.accuracy)
        if scores.accuracy.value is not None:
            said += f"; gate on {percent_words(scores.on)}, off {percent_words(scores.off)}"
            said += f"; {scores.splits:,} split, {scores.unmeasured:,} unmeasured"
        yield f"{_NAMES[name]}: {said}"
    for each in report.slices:
        verdicts = {"A": each.without, "B": each.always}
        known = [f", {name} {percent_words(one)}" for name, one in verdicts.items() if one.value is not None]
        yield (
            f"gate {'on' if each.gate_on else 'off'}, own answer {'right' if each.majority_right else 'wrong'}: "
            f"{each.n:,} items{''.join(known)}"
        )
    for level in report.calibration:
        right = f", right on {percent_words(level.share)}" if level.n else ""
        yield f"{level.agree} of {report.k} agree: {level.n:,} items{right}"


def _swept(report: "SelfReferenceReport") -> Iterator[str]:
    for point in report.sweep:
        yield (
            f"gate from {point.agree} of {report.k}: on for {percent_words(point.gate.on_rate)}, "
            f"precision {percent_words(point.gate.precision)}, C {percent_words(point.scores.accuracy)}"
        )


def _rest(report: "SelfReferenceReport") -> Iterator[str]:
    if report.tuned is not None:
        yield from _tuned(report.tuned, report.k)
    yield from report.notes


def _tuned(tuned: "Tuned", k: int) -> Iterator[str]:
    label = "optimistic" if tuned.optimistic else "cross-validated"
    yield f"C with a threshold for each category ({label}): {percent_words(tuned.accuracy)}"
    for each in tuned.categories:
        gate = f"from {each.agree} of {k}" if each.agree <= k else "never"
        optimistic = ", optimistic" if each.optimistic else ""
        yield f"  {each.category}: gate {gate}, {percent_words(each.accuracy)} on {each.n:,} items{optimistic}"
