"""The judge of groundedness and quality: its file of domain and examples, the form of its verdict, the judge."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict

from judgeboard.domain import (
    Claim,
    ClaimStatus,
    JudgeInput,
    JudgeVersion,
    Verdict,
    checked_groundedness,
    checked_quality,
)
from judgeboard.formats.yaml_file import CLOSED, Text, read_yaml, unless_null
from judgeboard.judges.judge import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, JudgeOptions, ModelJudge
from judgeboard.judges.material import (
    Example,
    check_examples,
    example_params,
    examples_part,
    examples_prompt,
    fence_token,
    fenced,
    fill,
    load_prompt,
)
from judgeboard.judges.reply_forms import closed, expected_scores, require_exactly
from judgeboard.llm.asking import Asked, UnusableReply, ask, read_json_object
from judgeboard.llm.chat import ChatRequest, Message
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.prices import Price


def _span(quote: str | None, text: str | None) -> tuple[int | None, int | None]:
    if not quote or text is None:
        return None, None
    start = text.find(quote)
    return (None, None) if start < 0 else (start, start + len(quote))


def located(claim: Claim, answer: str, passages: Sequence[str] | None) -> Claim:
    """Return ``claim`` with the offsets of its quotes, in characters; None where a quote does not stand verbatim.

    A quote that stands several times is located where it stands first. A passage is looked at only under the number
    that the judge gave (from 1).
    """
    answer_start, answer_end = _span(claim.answer_quote, answer)
    number = claim.passage
    named = passages[number - 1] if passages and number is not None and 1 <= number <= len(passages) else None
    passage_start, passage_end = _span(claim.passage_quote, named)
    return replace(
        claim,
        answer_start=answer_start,
        answer_end=answer_end,
        passage_start=passage_start,
        passage_end=passage_end,
    )


RAG_SCORES = {"groundedness": (0.0, 1.0, False), "quality": (1.0, 4.0, True)}
"""The scores of an example for the rag judge: lowest, highest, whether an integer."""


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """What a judge file says; what it leaves out is as without one."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    domain: Text | None = None
    examples: Annotated[tuple[Example, ...], unless_null(())] = ()


def read_judge_file(path: Path) -> JudgeFile:
    """Read a judge file.

    Raises:
        BadInput: It cannot be read or used; the message names file, line and field.
    """
    file = read_yaml(path)
    judge_file = file.read(JudgeFile)
    check_examples(file, judge_file.examples, RAG_SCORES)
    return judge_file


_NULLABLE_TEXT = {"type": ["string", "null"]}
_CLAIM_FIELDS: dict[str, Any] = {
    "text": {"type": "string"},
    "status": {"type": "string", "enum": [status.value for status in ClaimStatus]},
    "answer_quote": _NULLABLE_TEXT,
    "passage": {"type": ["integer", "null"]},
    "passage_quote": _NULLABLE_TEXT,
}


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """A verdict that passed validation; ``groundedness`` is None exactly where it was not asked for.

    ``replaced`` tells that its texts held characters that cannot be stored, which became U+FFFD.
    """

    groundedness: float | None
    quality: int
    reasoning: str
    claims: tuple[Claim, ...] | None
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class VerdictForm:
    """Which fields a verdict has: ``groundedness`` where passages are known, ``claims`` on request."""

    groundedness: bool = True
    claims: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The names, in the order in which a model should write them: reasons before scores."""
        claims = ("claims",) if self.claims else ()
        return (*claims, "reasoning", *(("groundedness",) if self.groundedness else ()), "quality")

    @property
    def schema(self) -> Mapping[str, Any]:
        """The strict JSON schema. No ranges: some servers refuse them and none keeps to them."""
        return _schema(self)

    @property
    def example(self) -> str:
        """A verdict of this form as JSON, for models that are asked in words alone."""
        claim = {
            "text": "the wall is 30 m high",
            "status": ClaimStatus.SUPPORTED,
            "answer_quote": "30 m",
            "passage": 1,
            "passage_quote": "a wall of 30 m",
        }
        values = {"claims": [claim], "reasoning": "…", "groundedness": 0.65, "quality": 3}
        return json.dumps({name: values[name] for name in self.fields}, ensure_ascii=False)

    def parse(self, text: str) -> ParsedVerdict:
        """Read and validate a reply; one bad field makes the whole of it unusable.

        Strictly: true is not 1, 85 is not 0.85, 3.0 is not a quality; the integers 0 and 1 are groundedness; fields
        that were not asked for are errors (a groundedness of null is not).

        Raises:
            UnusableReply: With the reason, like "groundedness 85 is above 1".
        """
        reply = read_json_object(text)
        content = reply.content
        if not self.groundedness and "groundedness" in content and content["groundedness"] is None:
            del content["groundedness"]
        require_exactly(content, self.fields)
        try:
            groundedness = checked_groundedness(content.get("groundedness"))
            quality = checked_quality(content["quality"])
        except ValueError as error:
            raise UnusableReply(str(error)) from None
        if groundedness is None and self.groundedness:
            raise UnusableReply("groundedness is null")
        if quality is None:
            raise UnusableReply("quality is null")
        return ParsedVerdict(
            groundedness=groundedness,
            quality=quality,
            reasoning=_text(content, "reasoning"),
            claims=_claims(content["claims"]) if self.claims else None,
            replaced=reply.replaced,
        )


@cache
def _schema(form: VerdictForm) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "claims": {"type": "array", "items": closed(_CLAIM_FIELDS)},
        "reasoning": {"type": "string"},
        "groundedness": {"type": "number", "description": "from 0.0 to 1.0"},
        "quality": {"type": "integer", "enum": [1, 2, 3, 4]},
    }
    return closed({name: properties[name] for name in form.fields})


def _text(content: dict[str, Any], name: str, where: str = "") -> str:
    value = content[name]
    if not isinstance(value, str):
        raise UnusableReply(f"{where}{name} must be a text, not {value!r}")
    return value


def _text_or_none(content: dict[str, Any], name: str, where: str) -> str | None:
    return None if content[name] is None else _text(content, name, where)


def _claims(given: Any) -> tuple[Claim, ...]:
    if not isinstance(given, list):
        raise UnusableReply(f"claims must be a list, not {given!r}")
    return tuple(_claim(entry, f"claim {number}: ") for number, entry in enumerate(given, start=1))


def _claim(given: Any, where: str) -> Claim:
    if not isinstance(given, dict):
        raise UnusableReply(f"{where}must be an object, not {given!r}")
    require_exactly(given, tuple(_CLAIM_FIELDS), where)
    status, passage = _text(given, "status", where), given["passage"]
    if status not in set(ClaimStatus):
        raise UnusableReply(f"{where}status must be one of {', '.join(ClaimStatus)}, not {status!r}")
    if passage is not None and (isinstance(passage, bool) or not isinstance(passage, int) or abs(passage) > 10**6):
        raise UnusableReply(f"{where}passage must be the number of a passage, not {passage!r}")
    return Claim(
        text=_text(given, "text", where),
        status=ClaimStatus(status),
        answer_quote=_text_or_none(given, "answer_quote", where),
        passage=passage,
        passage_quote=_text_or_none(given, "passage_quote", where),
    )


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
