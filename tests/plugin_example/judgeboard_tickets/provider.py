"""The gateway to our chat models. It speaks OpenAI's API, and takes its key in a header of its own."""

from judgeboard.llm.openai_provider import body, read
from judgeboard.llm.provider import Provider

GATEWAY = Provider(
    name="gateway",
    base_url="https://gateway.example/v1",
    path="/chat/completions",
    body=body,
    read=read,
    headers=lambda key: {"x-gateway-key": key},
    models=("house-",),
)
