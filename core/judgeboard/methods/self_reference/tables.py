"""The table of the answers that a judge gave to the questions of pairs."""

from sqlalchemy import UniqueConstraint

from judgeboard.store.columns import OF_PAIR, BigId, Step, column, step_indexes, table_of


class Sample(Step, table=True, is_recorded=True, of_responses=OF_PAIR):
    """One of several attempts of a model at a question."""

    pair_id: int = column(BigId, refers="pair")
    judge_version_id: int = column(BigId, refers="judge_version")
    ask: int = column(default=0)
    number: int
    answer: str | None = column(forgotten=True)
    correct: bool | None = column(
        comment="Whether the answer is right by the imported file; NULL: not known."
    )

    __table_args__ = (
        *step_indexes("sample", "pair_id"),
        UniqueConstraint("pair_id", "judge_version_id", "number", "ask"),
    )


SAMPLE = table_of(Sample)
