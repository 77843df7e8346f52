"""Addresses, waits before a call is repeated, and what an error of an endpoint is about."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.errors import BadInput
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.llm.provider import (
    Rejected,
    RetryPolicy,
    asked_wait_s,
    host_of,
    is_address,
    read_error,
)
from judgeboard.runs.judging import make_judge

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-1"}, None),
    ],
)
def test_what_the_endpoint_asks_for(headers, seconds):
    assert asked_wait_s(headers, NOW) == seconds


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1000), st.none() | st.floats(0, 1e6), st.floats(0, 1))
def test_no_wait_is_negative_or_longer_than_the_longest(failures, asked, chance):
    assert 0 <= RetryPolicy().wait_s(failures, asked, chance) <= RetryPolicy().longest_wait_s


def test_waits_grow_and_spread():
    policy = RetryPolicy(first_wait_s=1)
    assert [policy.wait_s(n, None, 1.0) for n in (1, 2, 3, 4)] == [1, 2, 4, 8]
    assert policy.wait_s(3, None, 0.0) == 2


def error(message, param=None, code=None):
    return json.dumps({"error": {"message": message, "param": param, "code": code}})


@pytest.mark.parametrize(
    ("body", "rejected"),
    [
        # With a param, only the param counts.
        (
            error("Invalid parameter: json_schema is not supported", "response_format"),
            Rejected.REPLY_FORMAT,
        ),
        (error("Invalid schema", "response_format.json_schema"), Rejected.REPLY_FORMAT),
        (
            error("Unsupported value: 'temperature'", "temperature", "unsupported_value"),
            Rejected.TEMPERATURE,
        ),
        (
            error("Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"),
            Rejected.MAX_TOKENS,
        ),
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
        (
            '{"message": "Extra inputs are not permitted: response_format", "object": "error"}',
            Rejected.REPLY_FORMAT,
        ),
        (
            '{"detail": [{"msg": "Extra inputs are not permitted", "loc": ["temperature"]}]}',
            Rejected.TEMPERATURE,
        ),
        ('{"error": "json_schema is not supported"}', Rejected.REPLY_FORMAT),
        ("failed to parse grammar", Rejected.REPLY_FORMAT),
        ("", None),
        ("[]", None),
        ('{"error": null}', None),
    ],
)
def test_what_an_error_is_about(body, rejected):
    assert read_error(body).rejected is rejected


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("http://localhost:8000/v1", True),
        ("https://user:secret@proxy.example/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://", False),
        ("http:///v1", False),
        ("http://host:nine/v1", False),
        ("http://host:99999/v1", False),
        ("http://[::1/v1", False),
        ("ftp://host/v1", False),
        ("localhost:8000", False),
    ],
)
def test_what_is_no_address_is_refused_before_a_run_begins(address, good):
    assert is_address(address) is good
    if not good:
        with pytest.raises(BadInput, match="--base-url must be"):
            make_judge("rag", model="m", base_url=address)


def test_a_host_is_named_without_its_password():
    assert host_of("https://user:secret@proxy.example:81/v1") == "proxy.example:81"
    assert host_of(OPENAI.base_url) == "api.openai.com"


def test_naming_a_judge_version_loads_no_client():
    code = (
        "import sys; from judgeboard.runs.judging import make_judge; "
        "print(make_judge('rag', model='m', api_key='k').version.model, 'openai' in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == ["m", "False"]
