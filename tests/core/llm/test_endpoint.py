"""Prices come from a file; recorded replies stand in for a model."""

import asyncio
from decimal import Decimal

import pytest

from judgeboard.errors import BadInput
from judgeboard.llm.chat import ChatRequest, NoReply, RecordedChat, read_replies
from judgeboard.llm.endpoint import price_of
from judgeboard.settings.sections import Price


def usd(input_, output):
    """The price of a million tokens."""
    return Price(Decimal(input_), Decimal(output))


@pytest.fixture
def own_prices(tmp_path):
    """Return ``own_prices(text)``: a file of prices."""

    def written(text):
        file = tmp_path / "prices.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return written


@pytest.fixture
def replies(tmp_path):
    """Return ``replies(text)``: what a file of recorded replies has."""

    def read(text):
        file = tmp_path / "replies.jsonl"
        file.write_text(text, encoding="utf-8")
        return read_replies(file)

    return read


def test_a_known_model_has_a_price_and_a_dated_name_the_same():
    price = price_of("gpt-4o-mini")
    assert price == usd("0.15", "0.60")
    assert price_of("gpt-4o-mini-2024-07-18") == price


def test_an_unknown_model_has_none():
    assert price_of("llama-3.1-8b-instruct") is None
    assert price_of("gpt-4o-realtime-preview") is None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "127.0.0.1:11434",
        "127.8.8.8",
        "[::1]:8000",
        "0.0.0.0:80",
        "LOCALHOST:1",
        "10.0.0.7",
        "172.16.3.4:80",
        "192.168.1.20:1234",
        "[fd00::7]",
        "vllm:8000",
        "ollama",
        "gpu.local",
        "vllm.default.svc.cluster.local",
        "host.docker.internal:11434",
        "models.localhost",
    ],
)
def test_a_model_on_an_own_machine_costs_nothing(host):
    assert price_of("llama-3.1-8b-instruct", host=host) == usd(0, 0)


@pytest.mark.parametrize(
    "host",
    [
        "api.openai.com",
        "localhost.example.org",
        "11.0.0.7",
        "172.32.0.1:80",
        "[2001:4860:4860::8888]:443",
        "8.8.8.8",
    ],
)
def test_a_model_on_another_machine_has_no_known_price(host):
    assert price_of("llama-3.1-8b-instruct", host=host) is None


def test_a_known_price_counts_at_an_own_endpoint_too(own_prices):
    own = own_prices('[models]\n"llama-*" = { input = 1, output = 1 }\n')
    assert price_of("llama-3.1-8b-instruct", own, "localhost:8000") == usd(1, 1)
    # A gateway to a paid model.
    assert price_of("gpt-4o-mini", host="localhost:4000") == price_of("gpt-4o-mini")


def test_a_cost_is_in_whole_micro_dollars():
    # 1,000,000 input tokens at 0.15 USD and 500,000 output tokens at 0.60 USD: 0.45 USD.
    price = usd("0.15", "0.60")
    assert price.cost_micro(1_000_000, 500_000) == 450_000
    assert price.cost_micro(3, 0) == 0
    assert price.cost_micro(10, 0) == 2


def test_the_users_file_wins_and_may_price_a_model_at_nothing(own_prices):
    own = own_prices(
        '[models]\n"local-*" = { input = 0, output = 0 }\n"local-big" = { input = 1, output = 2.5 }\n'
        '"gpt-4o-mini" = { input = 1, output = 1 }\n'
    )
    assert price_of("local-small", own) == usd(0, 0)
    assert price_of("local-big", own) == usd(1, "2.5")
    assert price_of("gpt-4o-mini", own) == usd(1, 1)
    assert price_of("gpt-4o", own) == price_of("gpt-4o")


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "",
        "models = 3",
        '[models]\n"m" = 3',
        '[models]\n"m" = { input = -1, output = 0 }',
    ]
    + [f'[models]\n"m" = {{ input = {bad}, output = 0 }}' for bad in ("true", '"1"', "nan", "inf")],
)
def test_a_file_that_is_no_price_file_is_said_so(own_prices, text):
    own = own_prices(text)
    with pytest.raises(BadInput, match=r"prices\.toml"):
        price_of("m", own)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        price_of("m", tmp_path / "none.toml")


def ask(chat, subject, *, repair=False):
    request = ChatRequest([], {}, "verdict", 512, subject=subject, repair=repair)
    return asyncio.run(chat.complete(request))


def test_replies_are_found_by_response_and_turn(replies):
    recorded = replies(
        '{"response_id": "a", "raw": "first"}\n\n{"response_id": "a", "raw": "second"}\n'
        '{"response_id": 7, "raw": {"quality": 3}}\n'
    )
    chat = RecordedChat(recorded)
    first, second, number = ask(chat, "a"), ask(chat, "a", repair=True), ask(chat, "7")
    assert (first.text, second.text, number.text) == ("first", "second", '{"quality": 3}')
    assert ask(chat, "a") == first


def test_a_response_without_a_recording_gets_no_reply():
    reply = ask(RecordedChat({"a": ["x"]}), "b")
    assert isinstance(reply, NoReply)
    assert reply.reason.endswith("'b'")
    assert reply.attempts == ()


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "[" * 200_000,
        '{"response_id": "a"}',
        '{"response_id": true, "raw": "x"}',
        '{"raw": "x"}',
    ],
)
def test_a_bad_line_is_named(replies, line):
    with pytest.raises(BadInput, match="line 2"):
        replies('{"response_id": "a", "raw": "x"}\n' + line)


def test_a_file_without_a_reply_is_refused(replies):
    with pytest.raises(BadInput, match="contains no reply"):
        replies("\ufeff\n")
