"""The fields of each kind of file, with the names that other tools give them, most telling first."""

from collections.abc import Mapping

FieldNames = Mapping[str, tuple[str, ...]]

RESPONSE_FIELDS: FieldNames = {
    "external_id": (
        *("external_id", "id", "response_id", "record_id", "trace_id", "context_trace_id", "run_id", "request_id"),
        *("sample_id", "span_id", "context_span_id", "uuid"),
    ),
    "source": ("source",),
    "query": (
        *("query", "question", "user_input", "user_query", "user_question", "input", "prompt", "input_text"),
        *("input_value", "attributes_input_value", "instruction", "search_query"),
    ),
    "answer": (
        *("answer", "response", "output", "prediction", "completion", "generated_answer", "actual_output"),
        *("model_answer", "model_response", "model_output", "generated_text", "generation", "final_answer"),
        *("llm_answer", "llm_response", "llm_output", "bot_answer", "reply", "output_text", "output_value"),
        "attributes_output_value",
    ),
    # Where both stand, a test case's `context` is the ideal one and `retrieval_context` what was retrieved.
    "context": (
        *("retrieved_contexts", "retrieved_context", "retrieval_context", "context", "contexts", "passages"),
        *("retrieved_passages", "retrieved_documents", "retrieved_docs", "retrieved_chunks", "documents", "docs"),
        *("source_documents", "chunks", "passage", "document"),
    ),
    "query_type": (
        *("query_type", "type", "category", "task_type", "question_type", "query_category", "task", "intent"),
    ),
    "generator_model": (
        *("generator_model", "model", "generator", "model_name", "generator_name", "llm_model", "llm", "model_id"),
        *("llm_model_name", "attributes_llm_model_name", "engine"),
    ),
    "generator_cost": ("generator_cost", "cost", "total_cost", "token_cost", "llm_cost_total"),
    "messages": ("messages", "input_messages", "llm_input_messages", "chat_messages", "conversation"),
    "reference": (
        *("reference", "ground_truth", "ideal", "expected_output", "expected_answer", "expected_response"),
        *("reference_answer", "gold_answer", "golden_answer", "ground_truths", "target"),
    ),
    "asked_at": (
        *("asked_at", "ts", "timestamp", "created_at", "time", "date", "datetime", "start_time", "logged_at"),
        *("requested_at", "request_time"),
    ),
    "metadata": ("metadata", "meta"),
    "thumbs": ("thumbs", "thumb", "thumbs_up", "thumbsup", "user_thumbs", "liked", "is_liked", "upvoted"),
    "stars": ("stars", "star", "star_rating", "user_stars", "rating_stars", "five_star_rating"),
    "feedback": ("feedback", "user_feedback", "rating", "user_rating", "feedbacks"),
    "kind": ("kind",),
}

GRADE_FIELDS: FieldNames = {
    "pair_id": ("pair_id",),
    "external_id": (
        *("external_id", "response_id", "record_id", "trace_id", "request_id", "sample_id", "span_id", "answer_id"),
        "id",
    ),
    "source": ("source",),
    "annotator": (
        *("annotator", "reviewer", "grader", "rater", "labeler", "annotator_id", "reviewer_id", "completed_by"),
        *("author", "annotated_by"),
    ),
    "label": ("label", "human_label", "gold_label", "verdict"),
    "groundedness": ("groundedness", "human_groundedness", "faithfulness", "groundedness_score"),
    "quality": ("quality", "human_quality", "quality_score"),
    "spans": ("spans", "highlights"),
    "aspects": ("aspects", "scores", "dimensions"),
    "scale": ("scale",),
    # Of grades of pairs only: which of the answers, in which order they were shown.
    "preference": ("preference", "preferred", "winner"),
    "shown": ("shown", "order", "order_shown"),
    "note": ("note", "notes", "comment", "comments", "explanation", "reason"),
    "corrected_answer": ("corrected_answer", "correction", "edited_answer"),
    "at": (
        *("at", "graded_at", "reviewed_at", "annotated_at", "created_at", "timestamp", "ts", "time", "date"),
        "updated_at",
    ),
}

VERDICT_FIELDS: FieldNames = {
    "external_id": GRADE_FIELDS["external_id"],
    "source": ("source",),
    "judge": ("judge", "judge_name", "evaluator", "scorer", "detector", "judge_model", "evaluator_name"),
    "label": ("label", "verdict", "prediction", "predicted_label"),
    "groundedness": ("groundedness", "faithfulness", "groundedness_score", "faithfulness_score"),
    "quality": ("quality", "quality_score"),
    "scores": ("scores", "dimensions"),
    "scale": ("scale",),
    "reasoning": ("reasoning", "explanation", "rationale", "reason", "critique", "comment"),
    "raw": ("raw", "raw_output", "raw_reply", "raw_response", "judge_output"),
    "status": ("status",),
    "error": ("error", "error_message"),
}

# A column of this name means the field only beside `external_id`, as in Judgeboard's own exports: elsewhere a
# "source" is a document's address or a score's origin, and a "kind" anything.
OWN_EXPORT_ONLY = frozenset({"source", "kind"})
