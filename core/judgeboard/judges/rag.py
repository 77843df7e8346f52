"""The RAG judge: groundedness and quality of an answer, by a chat model."""

from dataclasses import replace
from functools import lru_cache

from judgeboard.domain import JudgeInput, JudgeVersion, Verdict
from judgeboard.judges.claim_quotes import located
from judgeboard.judges.examples import Example, example_params, examples_part, examples_prompt
from judgeboard.judges.expected_score import expected_scores
from judgeboard.judges.fences import fence_token, fenced
from judgeboard.judges.judge_file import JudgeFile, read_judge_file
from judgeboard.judges.model_judge import ModelJudge
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, JudgeOptions
from judgeboard.judges.prompt_file import fill, load_prompt
from judgeboard.judges.verdict_schema import ParsedVerdict, VerdictForm
from judgeboard.llm.asking import Asked, ask
from judgeboard.llm.chat import ChatRequest, Message
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.prices import Price

_TEMPERATURE = 0


class RagJudge(ModelJudge):
    """Asks a chat model how far an answer rests on its passages and how well it serves its question.

    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026). Where the log carries no
    passages, only quality is asked for and groundedness stays unmeasured.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        name: str = "rag",
        domain: str = DEFAULT_DOMAIN,
        max_output: int = DEFAULT_MAX_OUTPUT,
        claims: bool = False,
        examples: tuple[Example, ...] = (),
        logprobs: bool = False,
    ) -> None:
        """Make a judge of a chat model.

        Args:
            endpoint: Who is asked; closed with the judge.
            name: What people call the judge.
            domain: What the prompt says the judge is an evaluator of.
            max_output: Tokens a reply may have.
            claims: Also ask for the claims of the answer.
            examples: Answers with the verdicts that they deserve, to show the model.
            logprobs: Also keep the expected quality, where the endpoint gives token probabilities.
        """
        super().__init__(endpoint)
        self._domain = domain
        self._max_output = max_output
        self._claims = claims
        self._examples = examples
        self._logprobs = logprobs
        params = {"temperature": _TEMPERATURE, "max_output": max_output, "domain": domain, "claims": claims}
        self.version = JudgeVersion(
            name=name,
            kind="rag",
            model=endpoint.model,
            params=params | example_params(examples) | ({"logprobs": True} if logprobs else {}),
            prompt=load_prompt("rag").text + examples_prompt(examples),
        )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Ask for the verdict on ``item``, with one repair where the reply cannot be used.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        form = VerdictForm(groundedness=item.passages is not None, claims=self._claims)
        request = ChatRequest(
            messages=rag_messages(item, domain=self._domain, form=form, examples=self._examples),
            schema=form.schema,
            schema_name="verdict",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=item.external_id,
            logprobs=self._logprobs,
        )
        asked = await ask(self._endpoint.chat, request, form.parse, repair=_repair)
        return _verdict(asked, item, self._endpoint.price)


def rag_messages(
    item: JudgeInput, *, domain: str, form: VerdictForm, examples: tuple[Example, ...] = ()
) -> list[Message]:
    """Return the system and the user message that ask for a verdict on ``item``, its texts fenced."""
    texts = (item.query, item.answer, *(item.passages or ()))
    token = fence_token(texts)
    passages = [
        fenced(f"PASSAGE {number}", passage, token) for number, passage in enumerate(item.passages or (), start=1)
    ]
    material = "\n\n".join([fenced("QUESTION", item.query, token), *passages, fenced("ANSWER", item.answer, token)])
    nothing_retrieved = item.passages is not None and not item.passages
    task = fill(load_prompt("rag").sections["Task"], fence=token, material=material)
    instructions = [_instructions(domain, form, nothing_retrieved)]
    if examples:
        instructions.append(examples_part(examples, shown=form.fields))
    return [
        {"role": "system", "content": "\n\n".join(instructions)},
        {"role": "user", "content": task},
    ]


@lru_cache(maxsize=32)
def _instructions(domain: str, form: VerdictForm, nothing_retrieved: bool) -> str:
    sections = load_prompt("rag").sections
    parts = [
        fill(sections["Role"], domain=domain),
        sections["Groundedness"] if form.groundedness else sections["No passages logged"],
        *([sections["Nothing retrieved"]] if nothing_retrieved else []),
        sections["Quality"],
        *([sections["Claims"]] if form.claims else []),
        fill(sections["Reply"], fields=", ".join(form.fields), example=form.example),
    ]
    return "\n\n".join(parts)


def _repair(error: str) -> str:
    return fill(load_prompt("rag").sections["Repair"], error=error)


def _verdict(asked: Asked[ParsedVerdict], item: JudgeInput, price: Price | None) -> Verdict:
    parsed = asked.value
    attempts = asked.attempts
    if parsed is not None and parsed.replaced:
        *earlier, last = attempts
        attempts = (*earlier, replace(last, detail="characters that cannot be stored became U+FFFD"))
    claims = None
    if parsed is not None and parsed.claims is not None:
        claims = tuple(located(claim, item.answer, item.passages) for claim in parsed.claims)
    digits = [("quality", parsed.quality, r'"quality"\s*:\s*')] if parsed else []
    return Verdict.of(
        replace(asked, attempts=attempts).record(price),
        groundedness=parsed.groundedness if parsed else None,
        quality=parsed.quality if parsed else None,
        reasoning=parsed.reasoning if parsed else None,
        claims=claims,
        scores=expected_scores(asked.tokens, digits, low=1, high=4),
    )


def make_rag_judge(options: JudgeOptions) -> RagJudge:
    """Make the judge of ``options``: over its endpoint, or from its recorded replies.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies or judge file.
    """
    file = JudgeFile() if options.judge_file is None else read_judge_file(options.judge_file)
    endpoint = options.endpoint("the rag judge")
    return RagJudge(
        endpoint,
        name=options.name or "rag",
        domain=file.domain if file.domain and options.domain == DEFAULT_DOMAIN else options.domain,
        max_output=options.max_output,
        claims=options.claims,
        examples=(*file.examples, *options.examples),
        logprobs=options.logprobs,
    )
