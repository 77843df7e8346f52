"""The judge's model beside the models that it judges: its own family, its own family's grades, its size."""

from collections.abc import Iterable

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.commands import asks_nobody, import_log, with_families
from judgeboard.health.record import (
    Check,
    GradedAnswers,
    JudgeRecord,
    effect_words,
    not_applicable,
    not_measured,
    state_of,
)
from judgeboard.stats.arrays import BoolArray, grouping
from judgeboard.stats.estimates import MIN_PAIRS, percent, surely_above
from judgeboard.stats.means import difference_of_means
from judgeboard.stats.proportions import share_intervals

MOST_NAMED = 3
NO_GENERATORS = "The log does not say which models wrote the judged answers."


def family(record: JudgeRecord) -> Check:
    """Warn where answers were written by a model of the judge's own family.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), collusion. An unknown family is said to be unknown.
    """
    judge = record.judge_model
    if nobody := asks_nobody(record.version):
        return not_applicable("family", "it asks no model", nobody, share=True)
    if not any(record.generators):
        return not_measured("family", NO_GENERATORS, import_log("generator_model"))
    own = record.models.family(judge)
    if own is None:
        return not_measured("family", f"The family of {judge} is not known.", with_families(record))
    known = {model: n for model, n in record.generators.items() if record.models.family(model) is not None}
    if not known:
        return not_measured("family", _unknown(record.generators), with_families(record))
    mine = sum(n for model, n in known.items() if record.models.family(model) == own)
    share = share_intervals(mine, sum(known.values()))[0]
    rest = sum(record.generators.values()) - sum(known.values())
    of_rest = f" Of {rest:,} more the family is not known." if rest else ""
    if not mine:
        said = f"{judge} ({own}) wrote none of the {share.n:,} answers whose family is known, nor did its family."
    else:
        said = (
            f"{judge} ({own}) judges its own family: {percent(share.value or 0)} of {share.n:,} answers. "
            "Judges tend to prefer their own kind; let a judge of another family look too."
        )
    return Check("family", state_of(warns=mine > 0), share, said + of_rest, with_families(record), share=True)


def self_enhancement(record: JudgeRecord) -> Check:
    """Warn where score − human grade is surely higher on answers of the judge's own family than on others.

    Source: A. Panickssery, S. Bowman, S. Feng, "LLM evaluators recognize and favor their own generations" (NeurIPS
    2024); measured as methods of Judgeboard do: against people, so that a family that writes better is no fault.
    """
    if nobody := asks_nobody(record.version):
        return not_applicable("self_enhancement", "it asks no model", nobody)
    if not any((*record.generators, *(name for graded in record.graded.values() for name in graded.model_names))):
        return not_measured("self_enhancement", NO_GENERATORS, import_log("generator_model"))
    own = record.models.family(record.judge_model)
    if own is None:
        return not_measured(
            "self_enhancement", f"The family of {record.judge_model} is not known.", with_families(record)
        )
    most: tuple[str, Estimate] | None = None
    for measure, graded in record.graded.items():
        mine, others = _sides(record, graded, own)
        rows = mine | others
        if not graded.same:
            continue
        if min(int(mine.sum()), int(others.sum())) < MIN_PAIRS or (most is not None and most[1].n >= int(rows.sum())):
            continue
        distance = (graded.judge - graded.people)[rows]
        groups = grouping(graded.groups[rows], len(distance))
        most = measure, difference_of_means(distance, mine[rows], groups)
    if most is None:
        least = f"{MIN_PAIRS} of {own} and {MIN_PAIRS} of other known families"
        why = f"Too few answers that people graded: it takes {least}."
        return not_measured("self_enhancement", why, f"{with_families(record)}  # after grading some in the desk")
    measure, difference = most
    warns = surely_above(difference, 0)
    said = "grades its own family higher" if warns else "does not surely grade its own family higher"
    sentence = (
        f"Against people, {record.judge_model} {said} ({own}) than others: {measure} differs by "
        f"{effect_words(difference)} on {difference.n:,} graded answers."
    )
    return Check("self_enhancement", state_of(warns=warns), difference, sentence, with_families(record))


def weaker(record: JudgeRecord) -> Check:
    """Warn where the judge is known to be smaller than a model whose answers it judged.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). Sizes are published ones, or an order within one series.
    """
    judge = record.judge_model
    if nobody := asks_nobody(record.version):
        return not_applicable("weaker", "it asks no model", nobody, share=True)
    if not any(record.generators):
        return not_measured("weaker", NO_GENERATORS, import_log("generator_model"))
    order = {model: record.models.smaller(judge, model) for model in record.generators if model}
    known = {model: smaller for model, smaller in order.items() if smaller is not None}
    if not known:
        why = f"Whether {judge} is smaller than {_named(order)} is not known."
        return not_measured("weaker", why, with_families(record))
    n = sum(record.generators[model] for model in known)
    larger = [model for model, smaller in known.items() if smaller]
    share = share_intervals(sum(record.generators[model] for model in larger), n)[0]
    said = f"{judge} is no smaller than the models that wrote the {n:,} answers whose size is known."
    if larger:
        said = (
            f"{judge} is smaller than {_named(larger)}, which wrote {percent(share.value or 0)} of {n:,} answers: "
            "let a stronger judge audit it."
        )
    return Check("weaker", state_of(warns=bool(larger)), share, said, with_families(record), share=True)


def _sides(record: JudgeRecord, graded: GradedAnswers, own: str) -> tuple[BoolArray, BoolArray]:
    families = [record.models.family(model) for model in graded.model_names]
    is_own = np.array([each == own for each in families], dtype=np.bool_)
    is_known = np.array([each is not None for each in families], dtype=np.bool_)
    if not families:
        return np.zeros(len(graded.judge), dtype=np.bool_), np.zeros(len(graded.judge), dtype=np.bool_)
    return is_own[graded.models], (is_known & ~is_own)[graded.models]


def _named(models: Iterable[str]) -> str:
    listed = sorted(models)
    more = f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more


def _unknown(generators: Iterable[str | None]) -> str:
    return f"The family of what wrote the answers is not known: {_named(model for model in generators if model)}."
