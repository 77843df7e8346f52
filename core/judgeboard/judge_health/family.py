"""Family: does the judge judge its own kind?"""

from collections.abc import Iterable

from judgeboard.judge_health.check import Check, not_applicable, not_measured, state_of
from judgeboard.judge_health.commands import asks_nobody, import_log, with_families
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.stats.proportions import share_intervals
from judgeboard.stats.words import percent

NAME = "family"
MOST_NAMED = 3
NO_GENERATORS = "The log does not say which models wrote the judged answers."


def family(record: JudgeRecord) -> Check:
    """Warn where answers were written by a model of the judge's own family.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), collusion. An unknown family is said to be unknown.
    """
    judge = record.judge_model
    if nobody := asks_nobody(record.version):
        return not_applicable(NAME, "it asks no model", nobody, share=True)
    if not any(record.generators):
        return not_measured(NAME, NO_GENERATORS, import_log("generator_model"))
    own = record.models.family(judge)
    if own is None:
        return not_measured(NAME, f"The family of {judge} is not known.", with_families(record))
    known = {model: n for model, n in record.generators.items() if record.models.family(model) is not None}
    if not known:
        return not_measured(NAME, _unknown(record.generators), with_families(record))
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
    return Check(NAME, state_of(warns=mine > 0), share, said + of_rest, with_families(record), share=True)


def named(models: Iterable[str]) -> str:
    """Return a few names of models, the rest counted."""
    listed = sorted(models)
    more = f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more


def _unknown(generators: Iterable[str | None]) -> str:
    return f"The family of what wrote the answers is not known: {named(model for model in generators if model)}."
