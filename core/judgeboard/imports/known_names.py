"""Names of columns that several kinds of files share, the most specific name first."""

QUESTION = (
    *(
        "query",
        "question",
        "user_input",
        "user_query",
        "user_question",
        "input",
        "prompt",
        "input_text",
    ),
    *("input_value", "attributes_input_value", "instruction", "search_query"),
    *(
        "user_message",
        "user_msg",
        "user_prompt",
        "user_utterance",
        "user_text",
        "customer_question",
    ),
    *("customer_query", "customer_message", "query_text", "question_text", "prompt_text", "inputs"),
)
ANSWER = (
    # Beside one of these, a column `answer` has the right answer.
    *(
        "generated_answer",
        "model_answer",
        "predicted_answer",
        "llm_answer",
        "rag_answer",
        "bot_answer",
    ),
    *(
        "answer",
        "response",
        "output",
        "prediction",
        "completion",
        "actual_output",
        "model_response",
        "model_output",
    ),
    *(
        "generated_text",
        "generation",
        "final_answer",
        "llm_response",
        "llm_output",
        "reply",
        "output_text",
        "output_value",
    ),
    *(
        "attributes_output_value",
        "bot_response",
        "bot_reply",
        "bot_message",
        "bot_msg",
        "chatbot_response",
    ),
    *(
        "chatbot_answer",
        "chatbot_reply",
        "assistant_response",
        "assistant_answer",
        "assistant_reply",
    ),
    *(
        "assistant_message",
        "assistant_output",
        "ai_response",
        "ai_answer",
        "ai_reply",
        "ai_message",
        "ai_output",
    ),
    *("gpt_response", "gpt_answer", "rag_response", "generated_response", "generated_output"),
    *("actual_answer", "actual_response", "answer_text", "response_text"),
    *("agent_answer", "generated_texts", "predictions", "outputs"),
)
REFERENCE = (
    *(
        "reference",
        "ground_truth",
        "ideal",
        "expected_output",
        "expected_answer",
        "expected_response",
    ),
    *("reference_answer", "gold_answer", "golden_answer", "ground_truths", "target"),
    *(
        "reference_response",
        "reference_output",
        "ground_truth_answer",
        "gold_response",
        "golden_response",
    ),
    *(
        "correct_answer",
        "right_answer",
        "best_answer",
        "ideal_answer",
        "ideal_response",
        "generation_gt",
    ),
)
QUERY_TYPE_OF_PAIR = (
    "query_type",
    "subset",
    "category",
    "task_type",
    "question_type",
    "type",
    "domain",
)
RESPONSE_ID = (
    *(
        "external_id",
        "response_id",
        "record_id",
        "trace_id",
        "request_id",
        "sample_id",
        "span_id",
        "answer_id",
    ),
    *(
        "message_id",
        "interaction_id",
        "completion_id",
        "generation_id",
        "observation_id",
        "log_id",
        "example_id",
        "item_id",
        "uid",
        "id",
    ),
)
JUDGE = ("judge", "judge_name", "evaluator", "scorer", "detector", "judge_model", "evaluator_name")
MODEL_AS_JUDGE = ("judge", "judge_name", "model", "judge_model", "model_name")
JUDGE_VERSION = ("judge_version", "fingerprint")
REASONING = ("reasoning", "explanation", "rationale", "reason", "critique", "comment")
RAW = ("raw", "raw_output", "raw_reply", "raw_response", "judge_output")
ERROR = ("error", "error_message")
CONVERSATION = (
    *("conversation_id", "conversation", "thread_id", "thread", "session_id", "session", "chat_id"),
    *("dialogue_id", "dialog_id"),
)
METADATA = ("metadata", "meta")
