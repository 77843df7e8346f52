"""Self-refine around a chat call that uses a tool: the weather scene of Spring AI's recursive advisors.

The assistant asks a weather tool that answers -125, 15 or -255 °C. A second model rates each answer
from 1 to 4; the impossible temperatures fail, and the assistant is asked again with the feedback.
Without options it needs no model; the assistant and the judge are scripted::

    python examples/weather.py

With an OpenAI-compatible endpoint, the assistant and the judge are real models::

    python examples/weather.py --base-url http://localhost:8000/v1 --model llama-3.1-8b-instruct --judge-model qwen3-14b
"""

import argparse
import json
import random
import re
from collections.abc import Callable
from typing import Any

import judgeboard

QUESTION = "What is the temperature in Paris right now, in degrees Celsius?"
TEMPERATURES = (-125, 15, -255)

Messages = list[dict[str, Any]]
Tool = Callable[[str], int]


def weather_tool(seed: int) -> Tool:
    """Return a tool that reports one of three temperatures, two of which nowhere on Earth has."""
    draw = random.Random(seed)  # noqa: S311 - a scene that can be repeated, not a secret

    def temperature(city: str) -> int:
        found = draw.choice(TEMPERATURES)
        print(f"  tool: {city} has {found} °C")
        return found

    return temperature


def scripted_assistant(tool: Tool) -> Callable[[Messages], str]:
    """Return a chat call that calls the tool and reports its result, without a model."""

    def chat(_messages: Messages) -> str:
        return f"It is {tool('Paris')} °C in Paris."

    return chat


def scripted_judge(messages: Messages) -> str:
    """Rate an answer as a model would: it fails temperatures that cannot be."""
    answer = messages[-1]["content"].split("[BEGIN ANSWER")[1]
    found = re.search(r"(-?\d+) °C", answer)
    if found is not None and -90 <= int(found[1]) <= 60:
        rating = {
            "evaluation": "The temperature is possible and the answer is direct.",
            "rating": 4,
            "feedback": "",
        }
    else:
        rating = {
            "evaluation": "No place on Earth is that cold.",
            "rating": 1,
            "feedback": "The temperature cannot be right: ask the weather tool again and check its result.",
        }
    return json.dumps(rating)


def model_assistant(tool: Tool, model: str, base_url: str | None) -> Callable[[Messages], str]:
    """Return a chat call to a real model whose tool calls are answered inside of it."""
    from openai import OpenAI

    client = OpenAI(base_url=base_url, api_key=None if base_url is None else "unused")
    described: Any = {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The current temperature of a city in degrees Celsius.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }

    def chat(messages: Messages) -> str:
        talk: Any = list(messages)
        for _ in range(4):
            reply = (
                client.chat.completions.create(model=model, messages=talk, tools=[described])
                .choices[0]
                .message
            )
            if not reply.tool_calls:
                return reply.content or ""
            talk.append(reply)
            for asked in reply.tool_calls:
                if asked.type != "function":
                    continue
                found = tool(json.loads(asked.function.arguments).get("city", "Paris"))
                talk.append({"role": "tool", "tool_call_id": asked.id, "content": f"{found} °C"})
        return ""

    return chat


def main(arguments: list[str] | None = None) -> judgeboard.Refined:
    """Play the scene, print every attempt, and return what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base-url", help="an OpenAI-compatible address; OpenAI's own by default")
    parser.add_argument("--model", help="the assistant; a scripted one by default")
    parser.add_argument("--judge-model", help="the judge; the assistant's model by default")
    parser.add_argument("--success-rating", type=int, default=4)
    parser.add_argument("--max-repeats", type=int, default=15, help="as in the scene's source")
    parser.add_argument("--seed", type=int, default=6, help="of the tool")
    chosen = parser.parse_args(arguments)

    tool = weather_tool(chosen.seed)
    limits = {"success_rating": chosen.success_rating, "max_repeats": chosen.max_repeats}
    if chosen.model is None:
        better = judgeboard.refine(scripted_assistant(tool), scripted_judge, **limits)
    else:
        address = {} if chosen.base_url is None else {"base_url": chosen.base_url}
        chat = model_assistant(tool, chosen.model, chosen.base_url)
        better = judgeboard.refine(
            chat, "rating", model=chosen.judge_model or chosen.model, **address, **limits
        )

    result = better.blocking(QUESTION)
    for attempt in result.attempts:
        rated = attempt.rating
        outcome = (
            attempt.status
            if rated is None
            else f"rated {rated.rating}: {rated.evaluation} {rated.feedback}"
        )
        print(f"attempt {attempt.number}: {attempt.answer}\n  {outcome}")
    print(f"{'passed' if result.passed else 'not passed'}: {result.answer}")
    return result


if __name__ == "__main__":
    main()
