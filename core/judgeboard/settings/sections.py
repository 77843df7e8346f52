"""The tables of the project file that stand by name: judges, logs, suites, queues and rules.

The keys of a table are the options of the command that uses the table.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from judgeboard.domain import LONGEST_KEY, AlertCondition, QueueOrder
from judgeboard.settings.fields import (
    Assignments,
    Number,
    Option,
    Rates,
    Text,
    Texts,
    listed,
)

_FORBID = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)
LONGEST_GUIDELINES = 20_000  # characters
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


class ForJudges:
    """The judges that read an option: judges of these kinds, otherwise all judges that ask a chat model.

    ``is_param`` tells whether the judge version keeps the option as a parameter of this name.
    """

    def __init__(self, *kinds: str, is_param: bool = False) -> None:
        self.kinds, self.is_param = kinds, is_param


class JudgeFields(BaseModel):
    """The options of a judge that are the same in the project file, in a command, on a page and in Python.

    None stands for an option that is not given.
    """

    model_config = _FORBID

    domain: Annotated[
        str | None,
        Field(
            description="Field of expertise for the judge's prompt, for example 'climbing knowledge' (default: general "
            "knowledge)."
        ),
        Option("Judge"),
        ForJudges(is_param=True),
    ] = None
    model: Annotated[
        str | None,
        Field(
            description="Name of the chat model, as its endpoint spells it (default: JUDGEBOARD_MODEL)."
        ),
        Option("Model"),
        ForJudges(),
    ] = None
    provider: Annotated[
        str | None,
        Field(
            description="API of the endpoint: openai, anthropic, or a provider of another package (default: chosen by "
            "the model's name)."
        ),
        Option("Model"),
        ForJudges(),
    ] = None
    base_url: Annotated[
        str | None,
        Field(
            description="Address of the endpoint, with /v1 (default: OPENAI_BASE_URL, else the address that this judge "
            "used last, else the provider's own address)."
        ),
        Option("Model"),
        ForJudges(),
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
        ForJudges(),
    ] = 60
    max_output: Annotated[
        int,
        Field(ge=1, description="Maximum number of tokens per reply."),
        Option("Model"),
        ForJudges(is_param=True),
    ] = 512
    claims: Annotated[
        bool,
        Field(description="Also judge each claim of the answer, with quotes from the passages."),
        Option("Judge"),
        ForJudges(is_param=True),
    ] = False
    dialogue: Annotated[
        Literal["last", "whole"],
        Field(
            description="Answers of a dialogue to judge. last: judge only the last answer; the judge sees the earlier "
            "turns as context. whole: judge the last answer and all answers before it together, with one verdict."
        ),
        Option("Judge"),
        ForJudges("rag", "rubric", "grade", is_param=True),
    ] = "last"
    temperature: Annotated[
        float,
        Field(
            ge=0,
            le=2,
            description="Sampling temperature of the judge. Another temperature makes a new judge version.",
        ),
        Option("Judge"),
        ForJudges(is_param=True),
    ] = 0
    logprobs: Annotated[
        bool,
        Field(description="Also store the expected score, computed from token log-probabilities."),
        Option("Judge"),
        ForJudges("rag", "rubric", is_param=True),
    ] = False
    judge_file: Annotated[
        Path | None,
        Field(description="Domain and examples for the rag judge: a YAML file."),
        Option("Judge"),
        ForJudges("rag"),
    ] = None
    rating_word: Annotated[
        str | None,
        Field(
            description="Let the judge reply in free text, and read its rating after these words (default: the judge "
            "replies in JSON). For example, 'Total rating' finds \"Total rating: 3\" in the last line. Other words "
            "make a new judge version."
        ),
        Option("Judge", "WORDS"),
        ForJudges("rating", is_param=True),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _without_none(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values  # no table: pydantic refuses it
        return {name: value for name, value in values.items() if value is not None}

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by the names of the fields."""
        return {name: getattr(self, name) for name in self.model_fields_set}


STORED_FIELDS = ("label_schema", "examples_from_reviews")
"""The options of a judge that are read from a database, and become a rubric and examples."""


class JudgeSettings(JudgeFields):
    """A judge by name: the options of ``judgeboard judge``. The key never stands here, but in the environment.

    ``price`` and the limits per minute hold for the model.
    """

    kind: Annotated[
        str | None,
        Field(
            description="Kind of judge: rag, rubric, grade, rating, lexical, or a kind of another package (default: "
            "rag)."
        ),
    ] = None
    prompt: Annotated[
        Path | None,
        Field(
            description="Prompt file of your own (default: the built-in prompt; `judgeboard versions prompt KIND` "
            "prints it). A changed prompt makes a new judge version."
        ),
        Option("Judge"),
    ] = None
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
    examples_from_reviews: Annotated[
        int | None,
        Field(
            ge=1,
            le=50,
            description="Show the judge N reviewed answers as examples. Agreement figures leave out these N answers.",
        ),
        Option("Judge", "N"),
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


ALWAYS = "always"


def _kept(value: str) -> str:
    if value != ALWAYS and re.fullmatch(r"[1-9]\d{0,4} days?", value) is None:
        raise ValueError(f'must be a number of days such as "90 days", or "{ALWAYS}"')
    return value


KeepTexts = Annotated[str, AfterValidator(_kept)]


class SourceSettings(BaseModel):
    """How the files of a log are read, and how long the texts are kept."""

    model_config = _FORBID

    map: Annotated[
        dict[str, str],
        Field(description="Column of the file = our field, as --map of `judgeboard import` says."),
    ] = {}
    dates: Annotated[
        Literal["day-first", "month-first"] | None,
        Field(description="Order of day and month in dates."),
    ] = None
    keep_texts: Annotated[
        KeepTexts | None,
        Field(
            description='How long texts are kept after they were stored: "90 days" or "always" (default: keep_texts of '
            "the project)."
        ),
    ] = None


MaskKind = Literal["email", "iban", "card", "ip", "phone"]
FROM_VARIABLE, SHORTEST_KEY = "env:", 16
_MASK_NAME = re.compile(r"[a-z][a-z0-9_-]{0,29}")


def _mask_key(value: str) -> str:
    if len(value) < SHORTEST_KEY and not value.startswith(FROM_VARIABLE):
        example = secrets.token_hex(SHORTEST_KEY)
        # A reason that begins with "must" would be followed by the value.
        raise ValueError(f"needs at least {SHORTEST_KEY} characters, such as {example}")
    return value


def _mask_name(value: str) -> str:
    if _MASK_NAME.fullmatch(value) is None or value in get_args(MaskKind):
        raise ValueError(
            "needs another name: lower-case letters, digits, - and _, and no kind of Judgeboard"
        )
    return value


def _pattern(value: str) -> str:
    import re2  # few project files have patterns

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(value, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise ValueError(f"is no regular expression of RE2: {reason}") from None
    if pattern.search("") is not None:
        raise ValueError("matches an empty text")
    return value


class MaskSettings(BaseModel):
    """The personal data that are masked before anything is stored."""

    model_config = _FORBID

    key: Annotated[
        str,
        AfterValidator(_mask_key),
        Field(
            repr=False,
            description="Random text of at least 16 characters, from which the tags of the masks are made, or "
            "env:NAME, which names a variable with it. Keep it: with another key, the same value has another mask.",
        ),
    ]
    kinds: Annotated[
        tuple[MaskKind, ...],
        Field(description="Kinds of Judgeboard that are masked (default: all)."),
    ] = get_args(MaskKind)
    patterns: Annotated[
        dict[Annotated[str, AfterValidator(_mask_name)], Annotated[str, AfterValidator(_pattern)]],
        Field(
            description="Own kinds by name, each a regular expression of RE2: {ticket = 'T-[0-9]{6}'}."
        ),
    ] = {}
    plugins: Annotated[Texts, Field(description="Kinds of other packages, by name.")] = ()


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


def _grade(value: str) -> str:
    if len(value) > LONGEST_KEY or not value.isprintable():
        raise ValueError("must be label, groundedness, quality or the name of a rubric's dimension")
    return value


def _guidelines(value: str) -> str:
    if len(value) > LONGEST_GUIDELINES:
        raise ValueError(f"must have at most {LONGEST_GUIDELINES:,} characters")
    return value


Grades = Annotated[tuple[Annotated[Text, AfterValidator(_grade)], ...], BeforeValidator(listed)]
TESTS, _RARE = "Tests of reviewers", "Rarely needed"


class QueueOptions(BaseModel):
    """Which items a queue has, and how people review them.

    The name of a field is the name of the column in the table of queues. A field with a title is
    shown in the form of a new queue and in the rules of a queue; only leads see fields of the group
    `TESTS`.
    """

    model_config = _FORBID

    subject: Annotated[
        Literal["answers", "pairs"],
        Field(description="What is reviewed: flagged answers, or pairs of answers."),
        Option(),
    ] = "answers"
    flagged_only: Annotated[
        bool,
        Field(description="Only answers with an open flag. Otherwise, answers without flags too."),
        Option(off="--all-answers"),
    ] = True
    max_items: Annotated[
        int | None,
        Field(
            alias="limit",
            ge=1,
            le=100_000,
            description="Take only the first N items of the order, and add no items later. In random order, this is a "
            "random sample.",
        ),
        Option(metavar="N", names=("--n",)),
    ] = None
    sort: Annotated[
        QueueOrder,
        Field(
            alias="order",
            description="Order of the items (default: severity; random for pairs, --blind-judge and --all-answers).",
        ),
        Option(),
    ] = QueueOrder.SEVERITY
    reviews_needed: Annotated[
        int,
        Field(
            alias="needed",
            ge=1,
            le=20,
            title="Reviews per item",
            description="Number of reviews per item, each by another person.",
        ),
        Option(metavar="N"),
    ] = 1
    overlap: Annotated[
        Share,
        Field(
            title="Overlap",
            description="Share of the items that get as many reviews as --needed says. The other items get one review.",
        ),
        Option(metavar="SHARE"),
    ] = 1.0
    blind_people: Annotated[
        bool,
        Field(
            title="Blind to other people",
            description="Hide the reviews of other people. Always on for pairs.",
        ),
        Option(),
    ] = False
    blind_judge: Annotated[
        bool,
        Field(
            title="Blind to the judge",
            description="Hide the judges' results. Always on for pairs.",
        ),
        Option(),
    ] = False
    reveal: Annotated[
        bool,
        Field(
            title="Show the judge after the grade",
            description="Show the judge after a blind review.",
        ),
        Option(off="--no-reveal"),
    ] = True
    grades: Annotated[
        Grades,
        Field(
            title="Required grades",
            description="Grades that a review must give: label, groundedness, quality, or names of rubric dimensions "
            "(1 to 5). An unsure review needs none.",
        ),
        Option(),
    ] = ("label", "groundedness")
    sampling_rate: Annotated[
        Rate,
        Field(
            title="Random sample",
            description="Share of randomly sampled answers in the queue. If too few answers are sampled, raise "
            "`random_share` (Settings, or JUDGEBOARD_RANDOM_SHARE) and run `judgeboard flags apply`.",
        ),
        Option(metavar="SHARE"),
    ] = 0.0
    repeat_rate: Annotated[
        Rate,
        Field(
            title="Own items again",
            description="Probability that reviewers get one of their own items again after a week, unannounced.",
        ),
        Option(TESTS, "SHARE"),
    ] = 0.0
    test_rate: Annotated[
        Rate,
        Field(
            title="Test items",
            description="Probability that reviewers get a test item (an answer with a gold label), unannounced.",
        ),
        Option(TESTS, "SHARE"),
    ] = 0.0
    training: Annotated[
        bool,
        Field(
            description="Let everybody review the same answers with gold labels, in random order, and show the gold "
            "label after each review."
        ),
        Option(TESTS),
    ] = False
    guidelines: Annotated[
        Annotated[Text, AfterValidator(_guidelines)] | None,
        Field(
            title="Guidelines",
            description="What counts as a problem in this queue, shown beside every item. The command and the file "
            "name a text file.",
        ),
        Option(metavar="FILE"),
    ] = None
    optional_grades: Annotated[
        Grades,
        Field(title="Optional grades", description="Grades that a review may give."),
        Option(_RARE),
    ] = ("quality",)
    implied_labels: Annotated[
        bool | None,
        Field(
            title="Implied labels",
            description="If a review gives no label, store the label hallucinated for confirm, and grounded for "
            "dismiss (default: the setting `implied_labels`).",
        ),
        Option(_RARE, off="--no-implied-labels"),
    ] = None
    seed: Annotated[
        Text,
        Field(description="Seed of the overlap, the random sample and the random order."),
        Option(_RARE),
    ] = "judgeboard"
    lease_seconds: Annotated[
        int,
        Field(
            ge=10,
            le=86_400,
            title="Lease",
            description="Seconds that an item stays reserved for its reviewer without activity.",
        ),
        Option(_RARE, "SECONDS"),
    ] = 600

    def given(self) -> dict[str, Any]:
        """Return the options that are not left to the defaults."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    def unused(self) -> set[str]:
        """Return the names of the options that have no effect, because of the other options."""
        of_pairs = self.subject == "pairs"
        has_shares = not of_pairs and not self.training
        is_used = {
            "reviews_needed": not self.training,
            "overlap": not self.training and self.reviews_needed > 1,
            "reveal": self.blind_judge and not of_pairs,
            "grades": not of_pairs,
            "optional_grades": not of_pairs,
            "sampling_rate": self.flagged_only and has_shares,
            "repeat_rate": has_shares,
            "test_rate": has_shares,
            "implied_labels": not of_pairs,
        }
        return {name for name, has_effect in is_used.items() if not has_effect}


class Preset(NamedTuple):
    """Options of a queue, a description for leads, and the start of a name for the queue."""

    words: str
    name: str
    options: QueueOptions


PresetName = Literal["random", "calibration", "worst", "judges-differ"]
PRESETS: Mapping[PresetName, Preset] = {
    "random": Preset(
        "100 random answers, two reviewers, blind",
        "Random answers",
        QueueOptions(
            flagged_only=False,
            max_items=100,
            reviews_needed=2,
            sort=QueueOrder.RANDOM,
            blind_people=True,
            blind_judge=True,
        ),
    ),
    "calibration": Preset(
        "30 random answers, three reviewers, blind",
        "Calibration",
        QueueOptions(
            flagged_only=False,
            max_items=30,
            reviews_needed=3,
            sort=QueueOrder.RANDOM,
            blind_people=True,
            blind_judge=True,
        ),
    ),
    "worst": Preset(
        "50 most doubtful answers, one reviewer",
        "Most doubtful answers",
        QueueOptions(max_items=50, sort=QueueOrder.SEVERITY),
    ),
    "judges-differ": Preset(
        "50 answers on which judges differ most, two reviewers",
        "Judges differ",
        QueueOptions(
            flagged_only=False,
            max_items=50,
            sort=QueueOrder.DISAGREEMENT,
            reviews_needed=2,
            blind_people=True,
        ),
    ),
}
PLANNED = QueueOptions(
    flagged_only=False,
    sort=QueueOrder.RANDOM,
    blind_judge=True,
    reveal=False,
    grades=(),
    optional_grades=(),
    implied_labels=True,
    guidelines="Does the answer state anything that is not in the passages?\n\nYes: the answer is hallucinated. "
    "No: it is grounded. Unsure: it does not count.",
)
"""Options of a queue that a plan fills: one decision per answer, which implies the label, without the judge."""

FIRST_SAMPLE = PLANNED.model_copy(update={"max_items": 20, "blind_people": True})
"""Options of the queue with which the review of a log begins. Few enough that figures of 400 answers stay in view."""
FIRST_SAMPLE_NAME = "First random sample"


class QueueSettings(QueueOptions):
    """A review queue by name: the options of ``judgeboard queue create``."""

    where: Annotated[
        Assignments, Field(description='Filter of the items: {rule = "low_quality"}.')
    ] = ()
    preset: Annotated[
        PresetName | None,
        Field(
            description="Preset values of the other options. Options that you give replace them. "
            + " ".join(f"{name}: {preset.words}." for name, preset in PRESETS.items())
        ),
        Option(),
    ] = None
    assign: Annotated[
        Texts,
        Field(
            description="People who may review, separated by commas (default: everybody; with --plan: you). A blind "
            "queue needs this option: outside the queue, its answers are hidden from these people until they have "
            "reviewed them. Without sign-in, a name that is new is added as a reviewer."
        ),
        Option(metavar="NAMES"),
    ] = ()
    label_schema: Annotated[
        Text | None,
        Field(
            alias="schema",
            description="Label schema whose fields reviewers fill in, instead of --grades: a YAML file, whose schema "
            "is stored, or the name of a stored schema.",
        ),
        Option(metavar="FILE|NAME"),
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
        Number | None,
        Field(gt=0, description="Maximum cost per day (UTC), in dollars (default: no limit)."),
        Option(),
    ] = None
    max_calls: Annotated[
        int | None,
        Field(
            ge=1,
            le=10**9,
            description="Maximum number of calls per day (UTC). A call judges one answer (default: no limit).",
        ),
        Option(),
    ] = None
    concurrency: Annotated[
        int,
        Field(
            ge=1,
            le=1024,
            description="Maximum number of calls at the same time, in each worker.",
        ),
        Option(),
    ] = 8
    delay_s: Annotated[
        Number,
        Field(
            alias="delay",
            ge=0,
            description="Seconds to wait after an answer was stored, before it is judged.",
        ),
        Option(),
    ] = 0.0
    existing: Annotated[
        bool, Field(description="Also judge the answers that are stored already."), Option()
    ] = False


class AlertSettings(BaseModel):
    """An alert rule without a name, as people write rules; checked by `alerts.rules.checked_rule`."""

    model_config = _FORBID

    when: Annotated[
        Text,
        Field(
            description=f"Condition: {', '.join(AlertCondition)}. docs/how-to/rules.md explains each."
        ),
        Option(metavar="CONDITION"),
    ]
    to: Annotated[
        Texts,
        Field(
            description="webhook:env:VARIABLE or slack:env:VARIABLE (the variable has the address), email:ADDRESS, or "
            "command. Repeat it for more."
        ),
        Option(metavar="DESTINATION", several=True),
    ]
    above: Annotated[
        Number | None,
        Field(
            description="Threshold of the condition: messages are sent while the value is above it. With "
            "missing_worker, messages are sent while the number of workers is below it. The default depends on the "
            "condition."
        ),
        Option(),
    ] = None
    below: Annotated[
        Number | None,
        Field(
            description="With --when level, instead of --above: messages are sent while the measure is below this "
            "number (default: none)."
        ),
        Option(),
    ] = None
    measure: Annotated[
        Text | None,
        Field(
            description="With --when level: measure to watch, that is, mean groundedness, mean quality, or low_share, "
            "the share of low groundedness in % (default: groundedness)."
        ),
        Option(),
    ] = None
    criterion: Annotated[
        Text | None,
        Field(
            description="With --when level, instead of --measure: criterion of a rubric judge, whose mean score is "
            "watched."
        ),
        Option(metavar="NAME"),
    ] = None
    judge: Annotated[
        Text | None,
        Field(
            description="With --when level: judge whose scores are watched (default: the primary judge)."
        ),
        Option(metavar="NAME"),
    ] = None
    last: Annotated[
        Text | None,
        Field(
            description="With --when level: answers that are watched (default: 200). A number such as 200 takes so "
            "many newest answers, from 10 to 20,000. Days such as 7d take the answers of the last days (UTC), from 1 "
            "to 366."
        ),
        Option(metavar="ANSWERS|DAYS"),
    ] = None
    after: Annotated[
        Text | None,
        Field(
            description="For old_flags, silent_source and missing_worker: how long a flag is open, a source silent or "
            "a worker missing before the rule alerts, such as 30min, 24h or 2d. The default depends on the condition."
        ),
        Option(metavar="PERIOD"),
    ] = None
    only: Annotated[
        Texts,
        Field(
            description="What to watch: a source, a judge or a judging rule. With --when level: a slice such as "
            "query_type=QA (default: all)."
        ),
        Option(metavar="NAME", several=True),
    ] = ()
    remind: Annotated[
        Text, Field(description="Time between reminders."), Option(metavar="PERIOD|never")
    ] = "24h"
    quiet: Annotated[
        Text | None,
        Field(description="Daily hours without messages: 'HH:MM-HH:MM ZONE' (default zone: UTC)."),
        Option(metavar="HOURS"),
    ] = None


SECTIONS: Mapping[str, type[BaseModel]] = {
    "judges": JudgeSettings,
    "sources": SourceSettings,
    "suites": SuiteSettings,
    "queues": QueueSettings,
    "alerts": AlertSettings,
    "judging_rules": JudgingRuleSettings,
}
"""The settings that are tables by name."""


def values_of(table: BaseModel) -> dict[str, Any]:
    """Return the values of a table that are not the default, by the names of the project file."""
    values = table.model_dump(by_alias=True, exclude_unset=True)
    return {name: value for name, value in values.items() if value not in (None, (), {})}


def fields_of(section: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a section by the names of the project file."""
    return {about.alias or name: about for name, about in section.model_fields.items()}
