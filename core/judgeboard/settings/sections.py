"""The tables of the project file that stand by name: judges, logs, suites, queues and rules.

The keys of a table are the options of the command that uses it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from judgeboard.domain import QueueOrder
from judgeboard.settings.fields import CLOSED, Assignments, Number, Option, Rates, Text, Texts

_FORBID = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
Share = Annotated[Number, Field(ge=0, le=1)]
Rate = Annotated[Number, Field(ge=0, lt=1)]


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, which is also micro-dollars per token."""

    input: Annotated[Decimal, Field(ge=0, lt=10**6)]
    output: Annotated[Decimal, Field(ge=0, lt=10**6)]

    def cost_micro(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost in micro-dollars, rounded half up. Discounts for cached input are ignored."""
        cost = self.input * prompt_tokens + self.output * completion_tokens
        return int(cost.to_integral_value(ROUND_HALF_UP))


class JudgeSettings(BaseModel):
    """A judge by name: the options of ``judgeboard judge``. Its key never stands here, but in the environment.

    ``price`` and the limits per minute hold for its model. An option that is part of the judge
    version makes a new version with each other value.
    """

    model_config = _FORBID | ConfigDict(populate_by_name=True, validate_default=False)

    kind: Annotated[
        str | None,
        Field(
            description="Kind of judge: rag, rubric, grade, rating, lexical, or a kind of another package (default: "
            "rag)."
        ),
    ] = None
    domain: Annotated[
        str | None,
        Field(
            description="Field of expertise for the judge's prompt, for example 'climbing knowledge' (default: general "
            "knowledge)."
        ),
        Option("Judge"),
    ] = None
    model: Annotated[
        str | None,
        Field(
            description="Name of the chat model, as its endpoint spells it (default: JUDGEBOARD_MODEL)."
        ),
        Option("Model"),
    ] = None
    provider: Annotated[
        str | None,
        Field(
            description="API of the endpoint: openai, anthropic, or a provider of another package (default: chosen by "
            "the model's name)."
        ),
        Option("Model"),
    ] = None
    base_url: Annotated[
        str | None,
        Field(
            description="Address of the endpoint, with /v1 (default: OPENAI_BASE_URL, else the address that this judge "
            "used last, else the provider's own address)."
        ),
        Option("Model"),
    ] = None
    concurrency: Annotated[
        int,
        Field(ge=1, le=1024, description="Maximum number of calls at the same time."),
        Option("Calls"),
    ] = 16
    timeout_s: Annotated[
        float,
        Field(alias="timeout", ge=1, description="Time limit per call, in seconds."),
        Option("Calls"),
    ] = 60
    max_output: Annotated[
        int, Field(ge=1, description="Maximum number of tokens per reply."), Option("Model")
    ] = 512
    claims: Annotated[
        bool,
        Field(description="Also judge each claim of the answer, with quotes from the passages."),
        Option("Judge"),
    ] = False
    dialogue: Annotated[
        Literal["last", "whole"],
        Field(
            description="Answers of a dialogue to judge. last: judge only the last answer; the judge sees the earlier "
            "turns as context. whole: judge the last answer and all answers before it together, with one verdict."
        ),
        Option("Judge"),
    ] = "last"
    temperature: Annotated[
        float,
        Field(
            ge=0,
            le=2,
            description="Sampling temperature of the judge. Another temperature makes a new judge version.",
        ),
        Option("Judge"),
    ] = 0
    prompt: Annotated[
        Path | None,
        Field(
            description="Prompt file of your own (default: the built-in prompt; `judgeboard versions prompt KIND` "
            "prints it). A changed prompt makes a new judge version."
        ),
        Option("Judge"),
    ] = None
    logprobs: Annotated[
        bool,
        Field(description="Also store the expected score, computed from token log-probabilities."),
        Option("Judge"),
    ] = False
    rubric: Annotated[
        Path | None,
        Field(
            description="Rubric for the rubric judge: a YAML file with dimensions, levels, weights and examples."
        ),
        Option("Judge"),
    ] = None
    label_schema: Annotated[
        str | None,
        Field(
            alias="schema",
            description="Label schema for the rubric judge, which fills in scales, yes/no fields and fields with one "
            "category.",
        ),
        Option("Judge", "NAME"),
    ] = None
    judge_file: Annotated[
        Path | None,
        Field(description="Domain and examples for the rag judge: a YAML file."),
        Option("Judge"),
    ] = None
    rating_word: Annotated[
        str | None,
        Field(
            description="Let the judge reply in free text, and read its rating after these words (default: the judge "
            "replies in JSON). For example, 'Total rating' finds \"Total rating: 3\" in the last line. Other words "
            "make a new judge version."
        ),
        Option("Judge", "WORDS"),
    ] = None
    price: Annotated[
        Price | None, Field(description="USD per million tokens: {input = 0.15, output = 0.60}.")
    ] = None
    requests_per_minute: Annotated[
        float | None, Field(gt=0, description="Maximum number of calls per minute.")
    ] = None
    tokens_per_minute: Annotated[
        float | None, Field(gt=0, description="Maximum number of tokens per minute.")
    ] = None


class SourceSettings(BaseModel):
    """How the files of a log are read."""

    model_config = _FORBID

    map: Annotated[
        dict[str, str],
        Field(description="Column of the file = our field, as --map of `judgeboard import` says."),
    ] = {}
    dates: Annotated[
        Literal["day-first", "month-first"] | None,
        Field(description="Order of day and month in dates."),
    ] = None


class SuiteSettings(BaseModel):
    """A suite by name: the options of ``judgeboard suite run``, and the suite file."""

    model_config = _FORBID

    file: Annotated[Path, Field(description="Suite file with the cases and the rubric.")]
    by: Annotated[
        Text | None, Field(description="Judge, by its name, whose model scores the answers.")
    ] = None
    candidate: Annotated[
        Text | None, Field(description="model:NAME, python:module:function or source:NAME.")
    ] = None
    candidate_base_url: Annotated[
        Text | None, Field(description="Address of the candidate's model.")
    ] = None
    baseline: Annotated[Text | None, Field(description="Run to compare with, or latest.")] = None
    threshold: Annotated[
        Number | None,
        Field(ge=1, le=5, description="Minimum score of a case, and minimum average."),
    ] = None
    max_unmeasured: Annotated[
        Share | None, Field(description="Maximum share of cases without a score.")
    ] = None
    max_drop: Annotated[
        Share | None, Field(description="Maximum drop of the pass rate from the baseline.")
    ] = None


class QueueSettings(BaseModel):
    """A review queue by name: the options of ``judgeboard queue create``."""

    model_config = _FORBID | ConfigDict(use_enum_values=True)

    where: Annotated[
        Assignments, Field(description='Filter of the items: {rule = "low_quality"}.')
    ] = ()
    preset: Annotated[Text | None, Field(description="Preset values of the other options.")] = None
    subject: Annotated[
        Literal["answers", "pairs"] | None, Field(description="answers or pairs.")
    ] = None
    all_answers: Annotated[bool, Field(description="Add answers without flags too.")] = False
    limit: Annotated[
        int | None, Field(ge=1, le=100_000, description="Take only the first items of the order.")
    ] = None
    order: Annotated[QueueOrder | None, Field(description="Order of the items.")] = None
    needed: Annotated[int | None, Field(ge=1, le=20, description="Number of reviews per item.")] = (
        None
    )
    overlap: Annotated[
        Share | None, Field(description="Share of the items that get the reviews of `needed`.")
    ] = None
    blind_people: Annotated[bool, Field(description="Hide the reviews of other people.")] = False
    blind_judge: Annotated[bool, Field(description="Hide the judges' results.")] = False
    no_reveal: Annotated[
        bool, Field(description="Never show the judge, not even after the review.")
    ] = False
    assign: Annotated[Texts, Field(description="People who may review.")] = ()
    grades: Annotated[Texts | None, Field(description="Grades that a review must give.")] = None
    optional_grades: Annotated[
        Texts | None, Field(description="Grades that a review may give.")
    ] = None
    label_schema: Annotated[
        Text | None,
        Field(alias="schema", description="Label schema, by its name or its YAML file."),
    ] = None
    sampling_rate: Annotated[
        Rate | None, Field(description="Share of randomly sampled answers.")
    ] = None
    repeat_rate: Annotated[
        Rate | None,
        Field(description="Probability that reviewers get an own item again after a week."),
    ] = None
    test_rate: Annotated[Rate | None, Field(description="Probability of a test item.")] = None
    training: Annotated[bool, Field(description="Show the gold label after each review.")] = False
    guidelines: Annotated[
        Path | None, Field(description="Text file with guidelines for the reviewers.")
    ] = None
    implied_labels: Annotated[
        bool | None, Field(description="Store the label that a decision implies.")
    ] = None
    seed: Annotated[
        Text | None, Field(description="Seed of the random sample and the random order.")
    ] = None
    lease_minutes: Annotated[
        Number | None, Field(gt=0, le=1440, description="Minutes that an item stays reserved.")
    ] = None


class JudgingRuleSettings(BaseModel):
    """A judging rule by name: the options of ``judgeboard rule add judge``."""

    model_config = _FORBID

    judge: Annotated[Text | None, Field(description="Judge of this file, or a kind of judge.")] = (
        None
    )
    judge_version: Annotated[
        Text | None, Field(description="Stored judge version, by the name of its judge.")
    ] = None
    model: Annotated[
        Text | None, Field(description="Name of the chat model, as its endpoint spells it.")
    ] = None
    provider: Annotated[Text | None, Field(description="API of the endpoint.")] = None
    base_url: Annotated[
        Text | None, Field(description="Address of the endpoint, with its /v1.")
    ] = None
    where: Annotated[
        Assignments, Field(description='Filter of the answers: {source = "shop"}.')
    ] = ()
    rate: Annotated[Rates, Field(description='Sampling rate, or several: [0.1, "QA=0.5"].')] = ()
    max_cost: Annotated[
        Number | None, Field(gt=0, description="Maximum cost per day (UTC), in dollars.")
    ] = None
    max_calls: Annotated[
        int | None, Field(ge=1, le=10**9, description="Maximum number of calls per day (UTC).")
    ] = None
    concurrency: Annotated[
        int | None, Field(ge=1, le=1024, description="Calls at the same time, per worker.")
    ] = None
    delay: Annotated[
        Number | None, Field(ge=0, description="Seconds to wait after an answer was stored.")
    ] = None
    existing: Annotated[
        bool, Field(description="Also judge the answers that are stored already.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    """An alert rule without its name, as people write it; `alerts.rules.checked_rule` checks it."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    when: Annotated[Text, Field(description="Condition.")]
    to: Annotated[Texts, Field(description="Destinations.")]
    above: Annotated[
        Number | None, Field(description="Threshold in the unit of the condition.")
    ] = None
    below: Annotated[
        Number | None, Field(description="For a level, instead of above: lower threshold.")
    ] = None
    measure: Annotated[
        Text | None, Field(description="Measure of a level (default: groundedness).")
    ] = None
    criterion: Annotated[
        Text | None, Field(description="Criterion of a rubric judge, instead of measure.")
    ] = None
    judge: Annotated[
        Text | None, Field(description="Judge of a level (default: the primary judge).")
    ] = None
    last: Annotated[Text | None, Field(description='Window of a level: "200" answers or "7d".')] = (
        None
    )
    after: Annotated[Text | None, Field(description="Period, if the condition has one.")] = None
    only: Annotated[
        Texts, Field(description="Sources, judges, judging rules or slices (default: all).")
    ] = ()
    remind: Annotated[Text, Field(description='Period between reminders, or "never".')] = "24h"
    quiet: Annotated[Text | None, Field(description="Daily hours without messages.")] = None


SECTIONS: Mapping[str, type] = {
    "judges": JudgeSettings,
    "sources": SourceSettings,
    "suites": SuiteSettings,
    "queues": QueueSettings,
    "alerts": AlertSettings,
    "judging_rules": JudgingRuleSettings,
}
"""The settings that are tables by name."""


def values_of(table: Any) -> dict[str, Any]:
    """Return the values of a table that are not the default, by their names in the project file."""
    values = (
        table.model_dump(by_alias=True, exclude_defaults=True)
        if isinstance(table, BaseModel)
        else asdict(table)
    )
    return {name: value for name, value in values.items() if value not in (None, (), {})}


def fields_of(section: Any) -> dict[str, FieldInfo]:
    """Return the fields of a section by their names in the project file."""
    if issubclass(section, BaseModel):
        return {about.alias or name: about for name, about in section.model_fields.items()}
    hints = get_type_hints(section, include_extras=True)
    return {each.name: FieldInfo.from_annotation(hints[each.name]) for each in fields(section)}
