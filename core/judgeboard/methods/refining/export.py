"""The exported table of attempts at better answers."""

from sqlalchemy import Float, and_, cast

from judgeboard.methods.refining.tables import REFINEMENT
from judgeboard.store.export import exported_columns, exported_query
from judgeboard.store.tables import GENERATION, JUDGMENT, RESPONSE, VERSION

# Finished attempts; source and external id identify the logged answer to improve.
_ANSWER, _BEFORE = RESPONSE.alias(), JUDGMENT.alias()
_ATTEMPTS = (
    exported_columns(REFINEMENT, "id response_id judgment_id judgment_before_id")
    .add_columns(
        _ANSWER.c.source.label("answer_source"),
        _ANSWER.c.external_id.label("answer_id"),
        _ANSWER.c.answer,
        GENERATION.c.model.label("generator_model"),
        GENERATION.c.status.label("generation_status"),
        (cast(GENERATION.c.cost_micro, Float) / 1_000_000.0).label("generation_cost"),
        VERSION.c.name.label("judge"),
        VERSION.c.fingerprint.label("judge_version"),
        _BEFORE.c.groundedness.label("groundedness_before"),
        _BEFORE.c.quality.label("quality_before"),
        JUDGMENT.c.groundedness,
        JUDGMENT.c.quality,
        JUDGMENT.c.reasoning.label("evaluation"),
    )
    .outerjoin(_ANSWER, _ANSWER.c.id == REFINEMENT.c.response_id)
    .outerjoin(_BEFORE, _BEFORE.c.id == REFINEMENT.c.judgment_before_id)
    .outerjoin(JUDGMENT, JUDGMENT.c.id == REFINEMENT.c.judgment_id)
    .outerjoin(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
    .outerjoin(
        GENERATION,
        and_(
            *(GENERATION.c[name] == REFINEMENT.c[name] for name in ("run_id", "subject", "number"))
        ),
    )
)

REFINEMENTS = exported_query(_ATTEMPTS, response=REFINEMENT.c.root_response_id)
