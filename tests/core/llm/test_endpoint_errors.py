"""Which error is about the request's form, which about the row."""

import json

import pytest

from judgeboard.llm.provider import Rejected, read_error


def error(message: str, param: str | None = None, code: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "param": param, "code": code}})


@pytest.mark.parametrize(
    ("body", "rejected"),
    [
        # With a param, only the param counts.
        (error("Invalid parameter: json_schema is not supported", "response_format"), Rejected.REPLY_FORMAT),
        (error("Invalid schema", "response_format.json_schema"), Rejected.REPLY_FORMAT),
        (error("Unsupported value: 'temperature'", "temperature", "unsupported_value"), Rejected.TEMPERATURE),
        (error("Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), Rejected.MAX_TOKENS),
        (error("max_tokens is too large: 512", "max_tokens", "invalid_value"), None),
        (error("temperature is not supported in messages", "messages"), None),
        # Without one, the message must name the part and say that it is not taken.
        (error("response_format: unsupported type json_schema"), Rejected.REPLY_FORMAT),
        (error("This model doesn't support structured output"), Rejected.REPLY_FORMAT),
        (error("temperature is not supported with this model"), Rejected.TEMPERATURE),
        (error("max_tokens is unsupported, use max_completion_tokens"), Rejected.MAX_TOKENS),
        (error("the query asks for the temperature on the summit"), None),
        (error("the request exceeds the maximum context length, temperature must be low"), None),
        (error("invalid request", code="context_length_exceeded"), None),
        (error("no idea"), None),
        # Other dialects.
        ('{"message": "Extra inputs are not permitted: response_format", "object": "error"}', Rejected.REPLY_FORMAT),
        ('{"detail": [{"msg": "Extra inputs are not permitted", "loc": ["temperature"]}]}', Rejected.TEMPERATURE),
        ('{"error": "json_schema is not supported"}', Rejected.REPLY_FORMAT),
        ("failed to parse grammar", Rejected.REPLY_FORMAT),
        ("", None),
        ("[]", None),
        ('{"error": null}', None),
    ],
)
def test_what_an_error_is_about(body: str, rejected: Rejected | None) -> None:
    assert read_error(body).rejected is rejected
