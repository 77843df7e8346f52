"""The judge's model compared with the models that it judges: family, self-enhancement, size."""

from collections.abc import Iterable, Mapping

import numpy as np

from judgeboard.domain import JURY, Estimate
from judgeboard.health.calls import import_log, with_families
from judgeboard.health.models import ModelTable, model_table
from judgeboard.health.record import (
    Check,
    GradedAnswers,
    JudgeRecord,
    effect_words,
    not_applicable,
    not_measured,
    state_of,
)
from judgeboard.judges.kinds import calls_host
from judgeboard.settings.model import load_settings
from judgeboard.stats.arrays import BoolArray, grouping
from judgeboard.stats.estimates import MIN_PAIRS, percent, surely_above
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import difference_of_means
from judgeboard.store.engine import Readable
from judgeboard.store.health import generators_of_run
from judgeboard.text import counted

MOST_NAMED = 3


def family(record: JudgeRecord) -> Check:
    """Warn if the judge's own family, or the judge's model itself, wrote some of the answers.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), collusion.
    """
    judge = record.judge_model
    if (missing := _without_models("family", record, share=True)) is not None:
        return missing
    own = record.models.family(judge)
    known = _comparable(judge, record.generators, record.models)
    if own is None and not any(_is_same(judge, model) for model in known):
        return not_measured("family", f"The family of {judge} is not known.", with_families(record))
    if not known:
        names = _names(model for model in record.generators if model)
        return not_measured("family", f"The families of the generators are not known: {names}.", with_families(record))
    mine = sum(n for model, n in known.items() if _is_own(judge, model, record.models))
    share = share_intervals(mine, sum(known.values()))[0]
    warning = family_warning(judge, record.generators, record.models)
    rest = sum(record.generators.values()) - sum(known.values())
    sentence = warning or f"The model family of {counted(share.n, 'answer')} is known: none is that of {judge} ({own})."
    sentence += f" The family of {counted(rest, 'more answer')} is not known." if rest else ""
    return Check("family", state_of(warns=mine > 0), share, sentence, with_families(record), share=True)


def family_warning(
    judge_model: str | None, generators: Mapping[str | None, int], models: ModelTable | None = None
) -> str | None:
    """Return a warning if the family of a judge's model wrote answers; None if it wrote none or is unknown.

    ``generators`` counts answers by model. A model that has yet to write its answers has the count 0. A model of an
    unknown family is compared with itself only.
    """
    models = models or model_table(load_settings().families)
    own = models.family(judge_model)
    known = _comparable(judge_model, generators, models)
    own_models = [model for model in known if _is_own(judge_model, model, models)]
    if not own_models:
        return None
    answers = sum(known.values())
    share = sum(known[model] for model in own_models) / answers if answers else 0
    of_answers = f"{percent(share)} of {counted(answers, 'answer')}"
    which = of_answers if answers else f"{_names(own_models)} writes the answers"
    if own is None:
        return (
            f"{judge_model} judges its own answers: {which}. Judges tend to prefer these. Add a judge of another model."
        )
    return (
        f"{judge_model} ({own}) judges its own family: {which}. "
        "Judges tend to prefer their own family. Add a judge of another family."
    )


def _is_same(judge_model: str | None, model: str | None) -> bool:
    return bool(judge_model and model) and str(judge_model).casefold() == str(model).casefold()


def _is_own(judge_model: str | None, model: str | None, models: ModelTable) -> bool:
    own = models.family(judge_model)
    return _is_same(judge_model, model) or (own is not None and models.family(model) == own)


def _comparable(judge_model: str | None, generators: Mapping[str | None, int], models: ModelTable) -> dict[str, int]:
    """Return the answers by model, of models that can be compared with the judge's model.

    If the judge's family is known, these are the models of known families. Otherwise they are all models, because the
    judge's model is compared by its name only.
    """
    by_name = models.family(judge_model) is None
    return {model: n for model, n in generators.items() if model and (by_name or models.family(model) is not None)}


def run_warning(store: Readable, judge_model: str | None, run_id: int | None) -> str | None:
    """Return `family_warning` for the answers that a run judged; None if it judged none."""
    if judge_model is None or run_id is None:
        return None
    with store.reading() as connection:
        generators = generators_of_run(connection, run_id)
    return family_warning(judge_model, generators) if generators else None


def self_enhancement(record: JudgeRecord) -> Check:
    """Warn if score − human grade is significantly higher for the judge's own family than for others.

    Source: A. Panickssery, S. Bowman, S. Feng, "LLM evaluators recognize and favor their own generations" (NeurIPS
    2024). Scores are compared with people's grades, so a family that really writes better answers causes no warning.
    """
    graded_models = (name for graded in record.graded.values() for name in graded.model_names)
    if (missing := _without_models("self_enhancement", record, *graded_models)) is not None:
        return missing
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
        needed = f"at least {MIN_PAIRS} of {own} and {MIN_PAIRS} of other known families are needed."
        why = f"Too few graded answers: {needed}"
        chosen = [each for each in record.graded.values() if each.same and each.has_chosen]
        if chosen:
            why = f"Too few graded answers of a random sample: {chosen[0].too_few_words}, and {needed}"
        return not_measured("self_enhancement", why, f"{with_families(record)}  # after grading more answers")
    measure, difference = most
    warns = surely_above(difference, 0)
    verb = "scores" if warns else "does not significantly score"
    sentence = (
        f"Compared with people, {record.judge_model} {verb} its own family ({own}) higher than others: {measure} "
        f"differs by {effect_words(difference)} on {counted(difference.n, 'graded answer')}"
        f"{record.graded[measure].sample_words}."
    )
    return Check("self_enhancement", state_of(warns=warns), difference, sentence, with_families(record))


def weaker(record: JudgeRecord) -> Check:
    """Warn if the judge is known to be smaller than a model whose answers it judged.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). Sizes are published, or known as an order within one series.
    """
    judge = record.judge_model
    if (missing := _without_models("weaker", record, share=True)) is not None:
        return missing
    order = {model: record.models.smaller(judge, model) for model in record.generators if model}
    known = {model: smaller for model, smaller in order.items() if smaller is not None}
    if not known:
        why = f"The sizes of {judge} and {_names(order)} are not known."
        return not_measured("weaker", why, with_families(record))
    n = sum(record.generators[model] for model in known)
    larger = [model for model, smaller in known.items() if smaller]
    share = share_intervals(sum(record.generators[model] for model in larger), n)[0]
    sentence = f"{judge} is not smaller than the models that wrote the answers (n = {n:,} with known sizes)."
    if larger:
        sentence = (
            f"{judge} is smaller than {_names(larger)}, which wrote {percent(share.value or 0)} of "
            f"{counted(n, 'answer')}. Let a stronger judge audit it."
        )
    return Check("weaker", state_of(warns=bool(larger)), share, sentence, with_families(record), share=True)


def _without_models(name: str, record: JudgeRecord, *graded_models: str, share: bool = False) -> Check | None:
    """Return a finished check if the judge calls no model or the log names no generator; otherwise None."""
    if not calls_host(record.version.kind) or record.version.kind == JURY:
        members = " itself. Check its members instead." if record.version.kind == JURY else "."
        sentence = f"{record.version.title} calls no model{members}"
        return not_applicable(name, "it calls no model", sentence, share=share)
    if any((*record.generators, *graded_models)):
        return None
    why = "The log does not contain the models that wrote the judged answers."
    return not_measured(name, why, import_log("generator_model"))


def _sides(record: JudgeRecord, graded: GradedAnswers, own: str) -> tuple[BoolArray, BoolArray]:
    families = [record.models.family(model) for model in graded.model_names]
    is_own = np.array([each == own for each in families], dtype=np.bool_)
    is_known = np.array([each is not None for each in families], dtype=np.bool_)
    return is_own[graded.models], (is_known & ~is_own)[graded.models]


def _names(models: Iterable[str]) -> str:
    listed = sorted(models)
    more = f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more
