"""The fields of files about pairs, samples and repeats, with the names that other tools give them."""

from judgeboard.importers.column_names import RESPONSE_FIELDS, VERDICT_FIELDS, FieldNames

_QUESTION = RESPONSE_FIELDS["query"]
_QUERY_TYPE = ("query_type", "subset", "category", "task_type", "question_type", "type", "domain")
_JUDGE = VERDICT_FIELDS["judge"]
_VERSION = ("judge_version", "fingerprint")
_GOLD = ("gold", "gold_label", "gold_preference")
_ITEM: FieldNames = {
    "external_id": ("external_id", "pair_id", "id", "item_id", "question_id", "record_id", "sample_id", "uuid"),
    "source": ("source",),
    "question": _QUESTION,
    "options": ("options", "choices"),
    "answer_a": ("answer_a", "answer_1", "output_a", "output_1", "completion_a", "candidate_a", "text_a"),
    "answer_b": ("answer_b", "answer_2", "output_b", "output_2", "completion_b", "candidate_b", "text_b"),
    "query_type": _QUERY_TYPE,
    "reference": RESPONSE_FIELDS["reference"],
    "model_a": ("model_a", "model_1", "generator_a"),
    "model_b": ("model_b", "model_2", "generator_b"),
    "response_a": ("response_a", "response_id_a", "response_a_id"),
    "response_b": ("response_b", "response_id_b", "response_b_id"),
    "gold": _GOLD,
    "metadata": ("metadata", "meta"),
}

PAIR_FIELDS: FieldNames = {
    **_ITEM,
    "judge": _JUDGE,
    "verdict_order_ab": ("verdict_order_ab", "verdict_ab"),
    "verdict_order_ba": ("verdict_order_ba", "verdict_ba"),
    "raw": VERDICT_FIELDS["raw"],
    "raw_ab": ("raw_ab",),
    "raw_ba": ("raw_ba",),
    "human": ("human", "human_preference", "annotations"),
}

COMPARISON_FIELDS: FieldNames = {
    "external_id": ("pair_id", "external_id", "id"),
    "source": ("source",),
    "judge": _JUDGE,
    "judge_version": _VERSION,
    "order": ("order", "shown", "order_shown"),
    "verdict": ("verdict", "preference", "winner"),
    "aspect": ("aspect", "criterion", "dimension"),
    "condition": ("condition",),
    "reference": RESPONSE_FIELDS["reference"],
    "reasoning": VERDICT_FIELDS["reasoning"],
    "raw": VERDICT_FIELDS["raw"],
    "status": VERDICT_FIELDS["status"],
    "error": VERDICT_FIELDS["error"],
    "ask": ("ask",),
}

SAMPLE_FIELDS: FieldNames = {
    **_ITEM,
    "judge": ("judge", "judge_name", "model", "judge_model", "model_name"),
    "judge_version": _VERSION,
    "samples": ("samples", "sampled_answers"),
    "models": ("models",),
    "statuses": ("statuses",),
    "raw": VERDICT_FIELDS["raw"],
    "verdicts": ("verdicts",),
}

REPEAT_FIELDS: FieldNames = {
    "external_id": ("external_id", "id", "response_id", "record_id", "sample_id", "uuid"),
    "source": ("source",),
    "question": _QUESTION,
    "answer": RESPONSE_FIELDS["answer"],
    "reference": RESPONSE_FIELDS["reference"],
    "query_type": _QUERY_TYPE,
    "generator_model": ("generator_model", "answer_model", "generator"),
    "judge": ("judge", "judge_name", "model", "judge_model", "model_name"),
    "rubric": ("rubric", "score_rubric", "criteria"),
    "scale": ("scale",),
    "samples": ("samples", "scores"),
    "raw": (*VERDICT_FIELDS["raw"], "feedbacks"),
    "metadata": ("metadata", "meta"),
}
