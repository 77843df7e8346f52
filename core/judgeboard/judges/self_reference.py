"""The judge that solves the question first and compares with and without its own solution."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from judgeboard.domain import JudgeVersion, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.judge import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, ModelJudge
from judgeboard.judges.material import fence_token, fenced, fill, load_prompt
from judgeboard.judges.pairwise import PairwiseJudge, SolvedQuestion
from judgeboard.judges.reply_forms import closed, letter_in, letters_of, require_exactly
from judgeboard.llm.asking import UnusableReply, ask, read_json_object
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint

TEMPERATURE = 0.7
DEFAULT_SOLVE_OUTPUT = 1024

_FIELDS = ("reasoning", "answer")


class Solved(NamedTuple):
    """One sample: ``answer`` (an option letter, or a free text) where the record's status is ok, else None."""

    answer: str | None
    record: StepRecord


class SelfSolver:
    """Asks a chat model for its own answer to a question.

    Source: "Selective Self-Reference for LLM-as-a-Judge" (FARS, Analemma): k = 5 samples at T = 0.7.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        temperature: float = TEMPERATURE,
        domain: str = DEFAULT_DOMAIN,
        max_output: int = DEFAULT_SOLVE_OUTPUT,
    ) -> None:
        """Make a solver of a model.

        Args:
            endpoint: Who is asked; whoever made it closes it.
            temperature: Of the samples, 0 to 2.
            domain: What the prompt says the model is an expert of.
            max_output: Tokens a reply may have.
        """
        self.temperature = temperature
        self.max_output = max_output
        self._endpoint = endpoint
        self._domain = domain

    @property
    def prompt(self) -> str:
        """The text of the prompt file, which is part of the version."""
        return load_prompt("self_solve").text

    async def solve(self, item: SolvedQuestion, number: int) -> Solved:
        """Sample an answer, with one repair where the reply cannot be used.

        Args:
            item: The question.
            number: Which sample this is, from 0: recorded replies are looked up by it.

        Raises:
            EndpointRefused: No question can succeed until the key, the address or the model's name is mended.
            ValueError: The question is forgotten.
        """
        asked = await ask(self._endpoint.chat, self.request(item, number), _reader(item.options), repair=_repair)
        return Solved(asked.value, asked.record(self._endpoint.price))

    def request(self, item: SolvedQuestion, number: int) -> ChatRequest:
        """Return what `solve` puts to the model; arguments and errors as there."""
        if item.question is None:
            raise ValueError(f"the question of {item.external_id!r} is forgotten")
        options, passages = item.options or (), item.passages or ()
        token = fence_token((item.question, *options, *passages))
        letters = letters_of(options)
        names = letters or tuple(str(number) for number in range(1, len(options) + 1))
        material = [
            fenced("QUESTION", item.question, token),
            *(fenced(f"OPTION {name}", option, token) for name, option in zip(names, options, strict=True)),
            *(fenced(f"PASSAGE {place}", passage, token) for place, passage in enumerate(passages, start=1)),
        ]
        sections = load_prompt("self_solve").sections
        instructions = [
            fill(sections["Role"], domain=self._domain),
            *([sections["Passages"]] if passages else []),
            fill(sections["Options"], letters=", ".join(letters)) if letters else sections["Free"],
            fill(sections["Reply"], example=_example(letters)),
        ]
        return ChatRequest(
            messages=[
                {"role": "system", "content": "\n\n".join(instructions)},
                {
                    "role": "user",
                    "content": fill(sections["Task"], fence=token, material="\n\n".join(material)),
                },
            ],
            schema=_schema(letters),
            schema_name="solution",
            max_output=self.max_output,
            parameters={"temperature": self.temperature},
            subject=f"{item.external_id}:sample:{number}",
        )


def read_solution(text: str, options: Sequence[str]) -> str:
    """Return the answer of a reply: an option letter where there are options, else a text that is not empty.

    Raises:
        UnusableReply: With the reason, like "answer must be one of A, B, C, D, not 'Paris'".
    """
    content = read_json_object(text).content
    require_exactly(content, _FIELDS)
    for name in _FIELDS:
        if not isinstance(content[name], str):
            raise UnusableReply(f"{name} must be a text, not {content[name]!r}")
    answer = content["answer"].strip()
    letters = letters_of(options)
    if letters:
        letter = letter_in(answer, options)
        if letter is None:
            raise UnusableReply(f"answer must be one of {', '.join(letters)}, not {answer!r}")
        return letter
    if not answer:
        raise UnusableReply("answer is empty")
    return str(answer)


def _reader(options: Sequence[str] | None) -> Callable[[str], str]:
    return partial(read_solution, options=options or ())


def _schema(letters: Sequence[str]) -> Mapping[str, Any]:
    answer: dict[str, Any] = {"type": "string"}
    if letters:
        answer["enum"] = list(letters)
    return closed({"reasoning": {"type": "string"}, "answer": answer})


def _example(letters: Sequence[str]) -> str:
    return json.dumps({"reasoning": "…", "answer": letters[0] if letters else "…"}, ensure_ascii=False)


def _repair(error: str) -> str:
    return fill(load_prompt("self_solve").sections["Repair"], error=error)


SELF_REFERENCE = "ssr"
"""The kind of every judge version that samples its own answers beside comparing pairs."""


class SelfReferenceJudge(ModelJudge):
    """Solves a question ``k`` times, and compares its two answers with or without the outcome as reference.

    Source: "Selective Self-Reference for LLM-as-a-Judge" (FARS, Analemma). Samples and verdicts are of one judge
    version: with other samples the judge may be shown another reference.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        k: int = 5,
        name: str = SELF_REFERENCE,
        temperature: float = TEMPERATURE,
        domain: str = DEFAULT_DOMAIN,
        max_output: int = DEFAULT_MAX_OUTPUT,
        solve_output: int = DEFAULT_SOLVE_OUTPUT,
    ) -> None:
        """Make a judge of a model.

        Args:
            endpoint: Who is asked, for samples and verdicts; closed with the judge.
            k: Samples of each question.
            name: What people call the judge.
            temperature: Of the samples, 0 to 2; verdicts are asked for at 0.
            domain: What the prompts say the model is an expert of.
            max_output: Tokens a verdict may have.
            solve_output: Tokens a sample may have.

        Raises:
            BadInput: ``k`` or the temperature is outside its range.
        """
        if k < 1:
            raise BadInput(f"--k must be at least 1, not {k}")
        if not 0 <= temperature <= 2:
            raise BadInput(f"--temperature must lie from 0 to 2, not {temperature:g}")
        super().__init__(endpoint)
        self.k = k
        self.price = endpoint.price
        self.solver = SelfSolver(endpoint, temperature=temperature, domain=domain, max_output=solve_output)
        self.pairwise = PairwiseJudge(endpoint, name=name, domain=domain, max_output=max_output)
        verdicts = self.pairwise.version
        sampling = {"samples": k, "sample_temperature": temperature, "sample_max_output": solve_output}
        self.version = JudgeVersion(
            name=name,
            kind=SELF_REFERENCE,
            model=verdicts.model,
            params={**verdicts.params, **sampling},
            prompt=f"{self.solver.prompt}\n{verdicts.prompt}",
            scale=verdicts.scale,
        )
