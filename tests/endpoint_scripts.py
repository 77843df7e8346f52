"""Scripts for the recording endpoint: replies in turn, and endpoints that refuse a part of a request."""

from judgeboard.llm.recording_endpoint import ScriptedReply, failure


def in_turn(replies):
    """Answer the first request with the first reply and so on; the last one stays."""
    return lambda _request, number: replies[min(number, len(replies) - 1)]


def rejects_format(then, *names):
    """Answer 400 to the reply formats in ``names`` (json_schema, json_object), else like ``then``."""

    def script(request, number):
        asked = request.get("response_format", {}).get("type")
        if asked in names:
            return failure(
                400, f"response_format type {asked!r} is not supported", param="response_format"
            )
        return then(request, number)

    return script


def rejects_parameter(then, name, message):
    """Answer 400 with ``message`` to a request that carries the parameter ``name``, else like ``then``."""

    def script(request, number):
        if name in request:
            return failure(400, message, param=name, code="unsupported_parameter")
        return then(request, number)

    return script


def rejects_temperature(then):
    """Behave like a reasoning model asked for a temperature."""
    return rejects_parameter(
        then, "temperature", "Unsupported value: only the default temperature is supported."
    )


def rejects_max_tokens(then):
    """Behave like a model that wants its maximum under the newer name."""
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    return rejects_parameter(then, "max_tokens", message)


def rate_limited(then, times, headers=None):
    """Answer 429 to the first ``times`` requests, with ``headers`` like retry-after, then like ``then``."""
    limited = ScriptedReply({"error": {"message": "Rate limit reached"}}, 429, headers or {})
    return lambda request, number: limited if number < times else then(request, number)
