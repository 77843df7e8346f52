"""Tables of requests to models beside judgments: comparisons, generations, audits, verdicts on anchors."""

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from judgeboard.domain import Label, Preference, Shown
from judgeboard.store.tables.columns import (
    OF_PAIR,
    BigId,
    Step,
    Stored,
    column,
    one_of,
    score_ranges,
    step_indexes,
    table_of,
)


class Comparison(Step, table=True):
    """A judge's comparison of a pair in one order of the answers."""

    is_recorded = True
    of_responses = OF_PAIR

    pair_id: int = column(BigId, refers="pair")
    judge_version_id: int = column(BigId, refers="judge_version")
    ask: int = column(default=0)
    condition: str = column(default="plain")
    reference: str | None = column(forgotten=True, comment="The answer shown as correct, in the condition `reference`.")
    shown: Shown = column(one_of(Shown, "shown"))
    reasoning: str | None = column(forgotten=True)

    __table_args__ = (
        *step_indexes("comparison", "pair_id"),
        UniqueConstraint("pair_id", "judge_version_id", "condition", "shown", "ask"),
        CheckConstraint("condition IN ('plain', 'reference')", name="condition"),
    )


COMPARISON = table_of(Comparison)


class ComparisonScore(Stored, table=True):
    """A comparison's preference on one aspect; it names a stored answer, not the place where it was shown."""

    comparison_id: int = column(BigId, refers="comparison")
    aspect: str
    preference: Preference = column(one_of(Preference, "preference"))

    __table_args__ = (UniqueConstraint("comparison_id", "aspect"),)


COMPARISON_SCORE = table_of(ComparisonScore)


class Generation(Step, table=True):
    """A call to a model that answers."""

    # A call that made no answer, or the same answer again, is still about the answer that it began with.
    of_responses = (
        "SELECT OLD.response_id UNION ALL SELECT other.response_id FROM generation AS other "
        "WHERE other.run_id = OLD.run_id AND other.subject = OLD.subject"
    )

    subject: str = column(comment="Response, prompt or suite case, within the run.")
    number: int
    model: str | None
    response_id: int | None = column(BigId, refers="response")

    __table_args__ = (
        *step_indexes("generation"),
        UniqueConstraint("run_id", "subject", "number"),
        Index("ix_generation_response", "response_id"),
    )


GENERATION = table_of(Generation)


class JudgmentReview(Step, table=True):
    """A supreme judge's review of a judgment."""

    of_responses = "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id"

    judgment_id: int = column(BigId, refers="judgment")
    judge_version_id: int = column(BigId, refers="judge_version")
    ask: int = column(default=0)
    correct: bool | None
    reasoning: str | None = column(forgotten=True)
    inclusion_probability: float = column(default=1.0)

    __table_args__ = (
        *step_indexes("judgment_review", "judgment_id"),
        UniqueConstraint("judgment_id", "judge_version_id", "ask"),
    )


JUDGMENT_REVIEW = table_of(JudgmentReview)


class AnchorJudgment(Step, table=True):
    """A verdict on an anchor. It never replaces the current judgment of its answer."""

    in_record = False
    of_responses = "OLD.response_id"

    response_id: int = column(BigId, refers="response")
    judge_version_id: int = column(BigId, refers="judge_version")
    ask: int = column(default=0)
    groundedness: float | None
    quality: int | None
    label: Label | None = column(one_of(Label, "label"))

    __table_args__ = (
        *step_indexes("anchor_judgment", "response_id"),
        UniqueConstraint("run_id", "response_id"),
        *score_ranges(),
    )


ANCHOR_JUDGMENT = table_of(AnchorJudgment)
