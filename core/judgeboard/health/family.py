"""The judge's model compared with the models of the judged answers: family, self-enhancement, size."""

from collections.abc import Iterable, Mapping
from itertools import islice

import numpy as np

from judgeboard.domain import JURY, Estimate
from judgeboard.health.calls import import_log, with_families
from judgeboard.health.models import ModelTable, model_table
from judgeboard.health.record import (
    Check,
    JudgeRecord,
    not_applicable,
    not_measured,
    state_of,
)
from judgeboard.measure.notes import Note, note
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.settings.model import load_settings
from judgeboard.stats.arrays import grouping
from judgeboard.stats.estimates import MIN_PAIRS, surely_above
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import difference_of_means
from judgeboard.store.engine import Readable
from judgeboard.store.health import generators_of_run

MOST_NAMED = 3


def family(record: JudgeRecord) -> Check:
    """Warn if the judge's own family, or the judge's model itself, wrote some of the answers.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), collusion.
    """
    judge = record.judge_model
    if (check := _without_models("family", record, share=True)) is not None:
        return check
    own = record.models.family(judge)
    comparable = _comparable(judge, record.generators, record.models)
    if own is None and not any(_is_same(judge, model) for model in comparable):
        return not_measured("family", with_families(record), note("family_unknown", model=judge))
    if not comparable:
        models = [model for model in record.generators if model]
        return not_measured(
            "family", with_families(record), note("families_unknown", models=_first(models))
        )
    mine = sum(n for model, n in comparable.items() if _is_own(judge, model, record.models))
    share = share_intervals(mine, sum(comparable.values()))[0]
    warning = family_warning(judge, record.generators, record.models)
    notes = [warning or note("no_own_family", judge=judge, family=own or judge)]
    if rest := sum(record.generators.values()) - sum(comparable.values()):
        notes.append(note("family_partly_known", answers=rest))
    return Check(
        "family", state_of(warns=mine > 0), share, tuple(notes), with_families(record), share=True
    )


def family_warning(
    judge_model: str | None, generators: Mapping[str | None, int], models: ModelTable | None = None
) -> Note | None:
    """Return a warning if the family of a judge's model wrote answers, or will; None if not, or if unknown.

    ``generators`` counts answers by model. A model of an unknown family is compared with itself
    only.
    """
    models = models or model_table(load_settings().families)
    own_models = [
        model
        for model in _comparable(judge_model, generators, models)
        if _is_own(judge_model, model, models)
    ]
    if judge_model is None or not own_models:
        return None
    own = models.family(judge_model)
    if own is None:
        return note("judges_own_answers", judge=judge_model)
    return note("judges_own_family", judge=judge_model, family=own, models=_first(own_models))


def _is_same(judge_model: str | None, model: str | None) -> bool:
    return bool(judge_model and model) and str(judge_model).casefold() == str(model).casefold()


def _is_own(judge_model: str | None, model: str | None, models: ModelTable) -> bool:
    own = models.family(judge_model)
    return _is_same(judge_model, model) or (own is not None and models.family(model) == own)


def _comparable(
    judge_model: str | None, generators: Mapping[str | None, int], models: ModelTable
) -> dict[str, int]:
    """Return the answers by model, of models that can be compared with the judge's model.

    If the judge's family is known, these are the models of known families. Otherwise these are all
    models, because the judge's model is compared by name only.
    """
    by_name = models.family(judge_model) is None
    return {
        model: n
        for model, n in generators.items()
        if model and (by_name or models.family(model) is not None)
    }


def run_warning(store: Readable, judge_model: str | None, run_id: int | None) -> Note | None:
    """Return `family_warning` for the answers that a run judged; None without such answers."""
    if judge_model is None or run_id is None:
        return None
    with store.reading() as connection:
        generators = generators_of_run(connection, run_id)
    return family_warning(judge_model, generators) if generators else None


def self_enhancement(record: JudgeRecord) -> Check:
    """Warn if score − human grade is significantly higher for the judge's own family than for others.

    Source: A. Panickssery, S. Bowman, S. Feng, "LLM evaluators recognize and favor their own
    generations" (NeurIPS 2024). Scores are compared with people's grades, so a family that really
    writes better answers causes no warning.
    """
    graded_models = (name for answers in record.graded.values() for name in answers.model_names)
    if (check := _without_models("self_enhancement", record, *graded_models)) is not None:
        return check
    own = record.models.family(record.judge_model)
    if own is None:
        return not_measured(
            "self_enhancement",
            with_families(record),
            note("family_unknown", model=record.judge_model),
        )
    most: tuple[str, Estimate] | None = None
    for measure, answers in record.graded.items():
        families = [record.models.family(model) for model in answers.model_names]
        is_own = np.array([each == own for each in families], dtype=np.bool_)
        is_known = np.array([each is not None for each in families], dtype=np.bool_)
        mine, others = is_own[answers.models], (is_known & ~is_own)[answers.models]
        rows = mine | others
        if not answers.same:
            continue
        if min(int(mine.sum()), int(others.sum())) < MIN_PAIRS or (
            most is not None and most[1].n >= int(rows.sum())
        ):
            continue
        distance = (answers.judge - answers.people)[rows]
        groups = grouping(answers.groups[rows], len(distance))
        most = measure, difference_of_means(distance, mine[rows], groups)
    if most is None:
        few = note("few_graded_of_family", least=MIN_PAIRS, family=own)
        sample_notes = (
            each for answers in record.graded.values() if answers.same for each in answers.of_sample
        )
        command = f"{with_families(record)}  # after grading more answers"
        return not_measured("self_enhancement", command, few, *islice(sample_notes, 1))
    measure, difference = most
    warns = surely_above(difference, 0)
    finding = note(
        "prefers_own_family" if warns else "own_family_not_preferred", family=own, measure=measure
    )
    notes = finding, *record.graded[measure].of_sample
    return Check(
        "self_enhancement", state_of(warns=warns), difference, notes, with_families(record)
    )


def weaker(record: JudgeRecord) -> Check:
    """Warn if the judge is known to be smaller than a model whose answers it judged.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). Sizes are published, or known as an
    order within one series.
    """
    judge = record.judge_model
    if (check := _without_models("weaker", record, share=True)) is not None:
        return check
    order = {model: record.models.smaller(judge, model) for model in record.generators if model}
    smaller_by_model = {model: smaller for model, smaller in order.items() if smaller is not None}
    if not smaller_by_model:
        return not_measured(
            "weaker",
            with_families(record),
            note("sizes_unknown", judge=judge, models=_first(order)),
        )
    n = sum(record.generators[model] for model in smaller_by_model)
    larger = [model for model, smaller in smaller_by_model.items() if smaller]
    share = share_intervals(sum(record.generators[model] for model in larger), n)[0]
    finding = (
        note("judge_smaller", judge=judge, models=_first(larger))
        if larger
        else note("not_smaller", judge=judge)
    )
    return Check(
        "weaker", state_of(warns=bool(larger)), share, (finding,), with_families(record), share=True
    )


def _without_models(
    name: str, record: JudgeRecord, *graded_models: str, share: bool = False
) -> Check | None:
    """Return a finished check if the judge calls no model or the log names no generator; otherwise None."""
    if not kind_of(record.version.kind).calls_host or record.version.kind == JURY:
        code = "jury_calls_no_model" if record.version.kind == JURY else "calls_no_model"
        return not_applicable(name, note(code, judge=record.version.title), share=share)
    if any((*record.generators, *graded_models)):
        return None
    return not_measured(name, import_log("generator_model"), note("generators_unknown"))


def _first(models: Iterable[str]) -> list[str]:
    names = sorted(models)
    more = len(names) - MOST_NAMED
    return names if more <= 0 else [*names[:MOST_NAMED], f"{more:,} more"]
