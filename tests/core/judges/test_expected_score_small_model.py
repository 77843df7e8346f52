"""Token probabilities, as a real server gives them."""

import asyncio
import math

import pytest

from judgeboard.llm.chat import ChatRequest, Reply
from judgeboard.llm.endpoint_chat import EndpointChat


@pytest.mark.llm
def test_a_real_server_gives_them(small_model):
    async def ask():
        chat = EndpointChat("smollm2", base_url=small_model, timeout_s=120)
        try:
            messages = [{"role": "user", "content": "Say a digit from 1 to 4, nothing else."}]
            return await chat.complete(
                ChatRequest(
                    messages, None, "", max_output=6, parameters={"temperature": 0}, logprobs=True
                )
            )
        finally:
            await chat.aclose()

    reply_ = asyncio.run(ask())
    assert isinstance(reply_, Reply)
    assert reply_.dropped_parameters == ()
    assert reply_.tokens
    assert "".join(token.text for token in reply_.tokens) == reply_.text
    for token in reply_.tokens:
        chances = [math.exp(logprob) for _, logprob in token.alternatives]
        assert 1 < len(chances) <= 11
        assert 0 < sum(chances) < 1 + 1e-3
