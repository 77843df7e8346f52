"""The judge that answers the question itself first, then compares with and without its own answer as reference."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from judgeboard.domain import PairItem
from judgeboard.errors import BadInput
from judgeboard.judges.judge import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, ModelJudge
from judgeboard.judges.material import chat, fence_token, fenced_parts, fill, numbered
from judgeboard.judges.pairwise import PairwiseJudge
from judgeboard.judges.reply_forms import TEXT, Form, letter_in, letters_of, text_field
from judgeboard.llm.asking import Replied, UnusableReply
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint

TEMPERATURE = 0.7
DEFAULT_SOLVE_OUTPUT = 1024


def read_solution(text: str, options: Sequence[str]) -> str:
    """Return the answer of a reply: an option letter where there are options, else a text that is not empty.

    Raises UnusableReply with the reason, like "answer must be one of A, B, C, D, not 'Paris'".
    """
    letters = letters_of(options)
    answer: str = _form(letters).parse(text).content["answer"].strip()
    if letters:
        letter = letter_in(answer, options)
        if letter is None:
            raise UnusableReply(f"answer must be one of {', '.join(letters)}, not {answer!r}")
        return letter
    if not answer:
        raise UnusableReply("answer is empty")
    return answer


@cache
def _form(letters: tuple[str, ...]) -> Form:
    return Form({"reasoning": TEXT, "answer": text_field(enum=list(letters)) if letters else TEXT})


SELF_REFERENCE = "ssr"
"""The kind of judge versions that sample their own answers and compare pairs."""


class SelfReferenceJudge(ModelJudge):
    """Answers a question ``k`` times, and compares the two answers of a pair with or without the result as reference.

    Source: "Selective Self-Reference for LLM-as-a-Judge" (FARS, Analemma): k = 5 samples at T = 0.7. Samples and
    verdicts belong to one judge version, because other samples can give another reference.
    """

    prompt_name = "self_solve"
    kind = SELF_REFERENCE

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
        """Make a judge that takes ``k`` samples per question; the endpoint is closed with it.

        ``temperature`` (0 to 2) is that of the samples; verdicts use 0. ``max_output`` is the maximum number of tokens
        in a verdict, ``solve_output`` that in a sample.
        """
        if k < 1:
            raise BadInput(f"--k must be at least 1, not {k}")
        if not 0 <= temperature <= 2:
            raise BadInput(f"--temperature must lie from 0 to 2, not {temperature:g}")
        super().__init__(endpoint)
        self.k = k
        self.price = endpoint.price
        self._temperature = temperature
        self._domain = domain
        self._solve_output = solve_output
        self.pairwise = PairwiseJudge(endpoint, name=name, domain=domain, max_output=max_output)
        verdicts = self.pairwise.version
        sampling = {"samples": k, "sample_temperature": temperature, "sample_max_output": solve_output}
        prompt = f"{self._prompt.text}\n{verdicts.prompt}"
        self.version = replace(verdicts, kind=SELF_REFERENCE, params={**verdicts.params, **sampling}, prompt=prompt)

    async def solve(self, item: PairItem, number: int) -> Replied[str]:
        """Sample an answer, an option letter or a free text; ``number`` (from 0) finds the recorded reply.

        Raises ValueError if the question is forgotten.
        """
        return await self._ask(self.solve_request(item, number), partial(read_solution, options=item.options or ()))

    def solve_request(self, item: PairItem, number: int) -> ChatRequest:
        """Return the request of `solve`; arguments and errors as there."""
        if item.question is None:
            raise ValueError(f"the question of {item.external_id!r} is forgotten")
        options, passages = item.options or (), item.passages or ()
        token = fence_token((item.question, *options, *passages))
        letters = letters_of(options)
        names = letters or tuple(str(number) for number in range(1, len(options) + 1))
        material = fenced_parts(
            token,
            ("QUESTION", item.question),
            *((f"OPTION {name}", option) for name, option in zip(names, options, strict=True)),
            *numbered("PASSAGE", passages),
        )
        sections = self._prompt.sections
        example = json.dumps({"reasoning": "…", "answer": letters[0] if letters else "…"}, ensure_ascii=False)
        instructions = (
            fill(sections["Role"], domain=self._domain),
            *([sections["Passages"]] if passages else []),
            fill(sections["Options"], letters=", ".join(letters)) if letters else sections["Free"],
            fill(sections["Reply"], example=example),
        )
        return ChatRequest(
            messages=chat(instructions, fill(sections["Task"], fence=token, material=material)),
            schema=_form(letters).schema,
            schema_name="solution",
            max_output=self._solve_output,
            parameters={"temperature": self._temperature},
            subject=f"{item.external_id}:sample:{number}",
        )
