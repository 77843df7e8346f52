"""Weaker judge: is the judge known to be smaller than what it judges?"""

from judgeboard.judge_health.check import Check, not_applicable, not_measured, state_of
from judgeboard.judge_health.commands import asks_nobody, import_log, with_families
from judgeboard.judge_health.family import NO_GENERATORS, named
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.stats.proportions import share_intervals
from judgeboard.stats.words import percent

NAME = "weaker"


def weaker(record: JudgeRecord) -> Check:
    """Warn where the judge is known to be smaller than a model whose answers it judged.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). Sizes are published ones, or an order within one series.
    """
    judge = record.judge_model
    if nobody := asks_nobody(record.version):
        return not_applicable(NAME, "it asks no model", nobody, share=True)
    if not any(record.generators):
        return not_measured(NAME, NO_GENERATORS, import_log("generator_model"))
    order = {model: record.models.smaller(judge, model) for model in record.generators if model}
    known = {model: smaller for model, smaller in order.items() if smaller is not None}
    if not known:
        why = f"Whether {judge} is smaller than {named(order)} is not known."
        return not_measured(NAME, why, with_families(record))
    n = sum(record.generators[model] for model in known)
    larger = [model for model, smaller in known.items() if smaller]
    share = share_intervals(sum(record.generators[model] for model in larger), n)[0]
    said = f"{judge} is no smaller than the models that wrote the {n:,} answers whose size is known."
    if larger:
        said = (
            f"{judge} is smaller than {named(larger)}, which wrote {percent(share.value or 0)} of {n:,} answers: "
            "let a stronger judge audit it."
        )
    return Check(NAME, state_of(warns=bool(larger)), share, said, with_families(record), share=True)
