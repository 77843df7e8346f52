"""All settings and keys of providers: from the environment, ``judgeboard.toml`` and the database.

An option of a command takes precedence over an environment variable. Then come the project file, a
stored value, and the default.
"""

import hashlib
import ipaddress
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from judgeboard.errors import BadInput
from judgeboard.settings.fields import assigned
from judgeboard.settings.masking import masked, register_environment, register_secret
from judgeboard.settings.option_words import UNKNOWN, reason_of
from judgeboard.settings.project_file import FILES, SECTION_FILES, ProjectFile, project_file
from judgeboard.settings.sections import (
    ALWAYS,
    SECTIONS,
    AlertSettings,
    JudgeSettings,
    JudgingRuleSettings,
    KeepTexts,
    MaskSettings,
    Price,
    QueueSettings,
    SourceSettings,
    SuiteSettings,
    fields_of,
    values_of,
)
from judgeboard.text import file_text, folded_address, number_words, unstorable

PREFIX = "JUDGEBOARD_"
ENVIRONMENT: Mapping[str, str] = os.environ
"""All variables, also the variables that other tools define."""
LONGEST_CHECKS = 50_000  # characters
DEFAULT_DATABASE = "data/judgeboard.db"
LONGEST_SEED = 200  # characters
OTLP_PORT = 4317  # of OTLP over gRPC
Limit = Literal["requests_per_minute", "tokens_per_minute"]
LIMITS: tuple[Limit, ...] = get_args(Limit)


def _number_only(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is needed")
    return value


def _names(value: Any) -> Any:
    """Return the names in a list that is separated by commas; ``none`` is no name. A table is a list of NAME=VALUE."""
    if isinstance(value, str):
        value = [name for each in value.split(",") if (name := each.strip()) and name != "none"]
    return assigned(value)


def _storable(value: str) -> str:
    if fault := unstorable(value):
        raise ValueError(f"contains text that a database cannot store: {fault}")
    return value


def _listening(value: Any) -> str:
    """Return HOST:PORT for a port, a host, or both."""
    text = "" if isinstance(value, bool) else str(value).strip()
    parts = re.fullmatch(
        r"(?:(\[[\da-fA-F:.]+\]|[\w.-]*[A-Za-z.-][\w.-]*)(?::|$))?(\d{1,5})?", text
    )
    if not text or parts is None or not 0 < int(parts[2] or OTLP_PORT) < 2**16:
        raise ValueError("must be a port, a host or HOST:PORT")
    return f"{parts[1] or 'localhost'}:{parts[2] or OTLP_PORT}"


def _networks(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
    for each in values or ():
        try:
            ipaddress.ip_network(each, strict=False)
        except ValueError:
            raise ValueError(
                "must have addresses or networks, for example 10.0.0.5 or 10.0.0.0/8"
            ) from None
    return values


M = TypeVar("M", bound=BaseModel)
Number = Annotated[float, BeforeValidator(_number_only)]
Listening = Annotated[str, BeforeValidator(_listening, json_schema_input_type=str | int)]
Text = Annotated[str, AfterValidator(_storable)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_names)]
NamesOrNone = Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_names)]
NetworksOrNone = Annotated[NamesOrNone, AfterValidator(_networks)]


@dataclass(frozen=True, slots=True)
class Naming:
    """What the texts of a setting name: a name that does not exist is refused, and the page offers the others.

    In texts such as "QA=0.3", the part before the sign is the name (``assigns``).
    """

    what: Literal["query type", "rule"]
    assigns: bool = False

    def names(self, texts: Iterable[str]) -> list[str]:
        """Return the names in the texts of the setting."""
        return [text.rpartition("=")[0].strip() if self.assigns else text for text in texts]


def number(default: float, low: float, high: float, step: float, label: str, tip: str) -> Any:
    """Return the field of a number, with what the page *Flag rules* shows."""
    return Field(
        default, ge=low, le=high, title=label, description=tip, json_schema_extra={"step": step}
    )


@dataclass(frozen=True, slots=True)
class Cuts:
    """The groundedness below which an answer counts as bad: ``default``, other values for some query types."""

    default: float
    by_type: Mapping[str, float] = field(default_factory=dict)

    def of(self, query_type: str) -> float:
        """Return the value for a query type."""
        return self.by_type.get(query_type, self.default)

    @property
    def words(self) -> str:
        """The values in words: "0.5 (QA: 0.3)"."""
        types = ", ".join(f"{name}: {value:g}" for name, value in self.by_type.items())
        return f"{self.default:g} ({types})" if types else f"{self.default:g}"


class Thresholds(BaseModel):
    """The thresholds of the flag rules. The name of a field is the name of the setting.

    ``low_groundedness_by_type`` has texts such as "QA=0.3", ``checks`` is a YAML text
    (`flags.checks.named_checks`). Code that decides whether an answer is bad uses ``cuts``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    low_groundedness: Number = number(
        0.5,
        0,
        1,
        0.05,
        "Low groundedness below",
        "Rule “low groundedness”: flags an answer if its groundedness by the primary judge "
        "is below this value (0 to 1).",
    )
    low_quality: Number = number(
        2,
        0,
        4,
        1,
        "Low quality up to",
        "Rule “low quality”: flags an answer if its quality by the primary judge is this value or lower (1 to 4).",
    )
    feedback_gap: Number = number(
        2,
        0.25,
        3,
        0.25,
        "User and judge differ by",
        "Rule “feedback gap”: difference of user and judge on the scale from 1 to 4.",
    )
    poor_rating: Number = number(
        2,
        0,
        4,
        0.5,
        "Poor rating up to, stars",
        "Rule “poor rating”: rating of the user (1 to 5 stars; 0 flags none). Thumbs down counts as 1 star.",
    )
    disagree_groundedness: Number = number(
        0.4,
        0.01,
        1,
        0.05,
        "Judges differ by, groundedness",
        "Rule “judges disagree”: difference of two judges (0 to 1).",
    )
    disagree_quality: Number = number(
        2,
        1,
        3,
        1,
        "Judges differ by, quality",
        "Rule “judges disagree”: difference of two judges (1 to 3).",
    )
    uncertain_verdict: Number = number(
        0.5,
        0.5,
        1,
        0.01,
        "Uncertain verdict below",
        "Rule “uncertain verdict”: confidence of the primary judge (0.5 to 1; 0.5 flags none). Confidence is the "
        "larger of groundedness and 1 - groundedness. `judgeboard labels stand` proposes a value.",
    )
    random_share: Number = number(
        0.02,
        0,
        1,
        0.01,
        "Random sample, share",
        "Rule “random sample”: 0.02 flags 2 % of all answers at random.",
    )
    excuse_refusals: bool = Field(
        True,
        title="Excuse refusals if no fitting passage was retrieved",
        description="Rule “low groundedness”: a refusal raises no flag if the search found no passage that fits the "
        "question (default: on).",
    )
    excuse_confident: bool = Field(
        False,
        title="Excuse verdicts that need no review",
        description="If the confidence of a verdict is at least the value of “Uncertain verdict below”, the rule “low "
        "groundedness” does not flag the answer (default: off). Other rules still flag it. The random sample can still "
        "select it. Works only if the share of the random sample is above 0.",
    )
    suspect_injections: bool = Field(
        False,
        title="Flag texts that look like orders to a judge",
        description="Rule “injection suspected”: flags an answer if it or one of its passages looks as if it ordered a "
        "judge to give a certain verdict (default: off).",
    )
    implied_labels: Annotated[NamesOrNone, Naming("rule")] = Field(
        None,
        title="Rules whose decisions imply a label",
        description="If a reviewer confirms a flag of these rules, the label hallucinated is stored too. If the "
        "reviewer dismisses the flag, the label grounded is stored. No label is added if the reviewer grades label or "
        "groundedness.",
    )
    random_seed: Text = Field(
        "judgeboard",
        max_length=LONGEST_SEED,
        title="Seed of the random sample",
        description="The same seed selects the same answers.",
    )
    always_review: Annotated[Names, Naming("query type")] = Field(
        (),
        title="Query types to review in full",
        description="Rule “always review”: every answer of these types is flagged.",
    )
    low_groundedness_by_type: Annotated[Names, Naming("query type", assigns=True)] = Field(
        (),
        title="Low groundedness for query types",
        description="Other values of “Low groundedness below” for some query types, such as QA=0.3. The page "
        "Thresholds finds such values.",
    )
    checks: Text = Field(
        "",
        max_length=LONGEST_CHECKS,
        title="Checks of answers",
        description="Rule “failed check”: an answer that fails a check is flagged. The text is YAML. In the "
        "environment, the value is the path of a YAML file. In the project file, it is such a path, or the checks are "
        "written there as [[checks]].",
        json_schema_extra={
            "file": True,
            "type": ["string", "array"],
            "example": "checks:\n- name: short enough\n  length: {max_words: 400}",
        },
    )

    flag_rules: dict[str, dict[str, Any]] = Field(
        {},
        description="Options of the flag rules of other packages, by the name of the rule: [flag_rules.NAME].",
    )

    def options_of(self, rule: str, model: type[M]) -> M:
        """Return the options of a flag rule of another package, which ``model`` describes.

        Options that are not in the table of the rule have the defaults. Raises BadInput if an
        option is unknown or wrong.
        """
        try:
            return model.model_validate(self.flag_rules.get(rule, {}))
        except ValidationError as error:
            fault = error.errors()[0]
            keys = tuple(str(step) for step in fault["loc"])
            reason = reason_of(fault, keys or (rule,), fields_of(model), with_value=False)
            raise _fault(reason, ("flag_rules", rule, *keys), project_file(), os.environ) from None

    @model_validator(mode="after")
    def _cuts_can_be_read(self) -> "Thresholds":
        for query_type, threshold in self.cuts.by_type.items():
            if not 0 <= threshold <= 1:
                number_text = number_words(threshold)
                raise ValueError(
                    f"low_groundedness_by_type {query_type!r} must lie from 0 to 1, not {number_text}"
                )
        return self

    @property
    def cuts(self) -> Cuts:
        """The groundedness below which an answer counts as bad, by query type."""
        return Cuts(
            self.low_groundedness, dict(map(_type_and_threshold, self.low_groundedness_by_type))
        )


THRESHOLDS: tuple[str, ...] = tuple(
    name for name in Thresholds.model_fields if name != "flag_rules"
)
"""The thresholds of the rules of Judgeboard, which the page *Flag rules* can change."""


def _type_and_threshold(text: str) -> tuple[str, float]:
    query_type, _, threshold = text.rpartition("=")
    try:
        return query_type.strip(), float(threshold)
    except ValueError:
        raise ValueError(
            f"low_groundedness_by_type must have texts such as 'QA=0.3', not {text!r}"
        ) from None


class Settings(Thresholds, BaseSettings):
    """All settings. The name of a field is the name in the project file; with ``JUDGEBOARD_`` before it, of a variable.

    Times are in seconds, if the name has no unit. ``smtp`` may have a password, so the value is
    never shown.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", allow_inf_nan=False
    )

    db: str | None = Field(None, description="Database: a SQLite file or an SQLAlchemy URL.")
    url: str | None = Field(
        None, description="Address of the pages and of the server that gets answers."
    )
    primary_judge: str | None = Field(
        None,
        title="Primary judge",
        description="Overview, Trends and the flag rules for low scores and feedback gaps use this judge.",
    )
    provider: str | None = Field(None, description="API of the judge's endpoint.")
    model: str | None = Field(None, description="Chat model of judges for which no model is given.")
    prices: Path | None = Field(
        None, description="Price file. Its prices take precedence over the built-in ones."
    )
    families: Path | None = Field(None, description="File with the families and sizes of models.")
    requests_per_minute: NamesOrNone = Field(
        None,
        description="Maximum number of calls per minute of each model at an address. For other limits of "
        "some models, add MODEL=NUMBER: 500,claude-*=50.",
    )
    tokens_per_minute: NamesOrNone = Field(
        None, description="Maximum number of tokens per minute, written as requests_per_minute."
    )
    reply_mb: Number = Field(8, ge=0.01, le=1_000, description="Largest reply of a model in MB.")
    admin: Annotated[str, AfterValidator(lambda value: folded_address(value.strip()))] | None = (
        Field(None, description="E-mail address of the first admin.")
    )
    trusted_header: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9-]*$",
        description="Header in which a proxy names the person who signed in, for example X-Forwarded-User. It counts "
        "only in requests from trusted_proxies.",
    )
    trusted_proxies: NetworksOrNone = Field(
        None,
        description="Addresses or networks of the proxies in front of the server. Their X-Forwarded-For is believed.",
    )
    trace_quiet: Number = Field(
        2,
        ge=0,
        le=1e9,
        description="A trace whose root span has ended becomes an answer after this many seconds without a new span.",
    )
    trace_longest: Number = Field(
        60,
        ge=0,
        le=1e9,
        description="Any other trace becomes an answer after this many seconds without a new span.",
    )
    receive_grpc: Listening | None = Field(
        None,
        description="Address at which the server also receives traces over gRPC: a port, a host or HOST:PORT. The host "
        f"is localhost and the port {OTLP_PORT}, unless it names others.",
    )
    feedback_days: Number = Field(
        7, ge=0.001, le=36_500, description="Days for which feedback waits for its answer."
    )
    keep_texts: KeepTexts | None = Field(
        None,
        description='How long texts of a source are kept after they were stored, such as "90 days" (default: always).',
    )
    smtp: str | None = Field(
        None,
        repr=False,
        description="Mail server: smtps://user:password@host, smtp+starttls://… or smtp://…",
    )
    smtp_from: str | None = Field(None, description="Sender of the mails.")
    alert_command: str | None = Field(
        None, repr=False, description="Command that gets an alert on its input."
    )
    alert_networks: NamesOrNone = Field(
        None, description="Private networks that webhooks may reach."
    )
    judges: dict[str, JudgeSettings] = Field(
        {}, description="Judges by name. `judgeboard judge NAME` uses these options."
    )
    sources: dict[str, SourceSettings] = Field(
        {},
        description="Logs by name. `judgeboard import --source NAME` reads its columns as written here.",
    )
    suites: dict[str, SuiteSettings] = Field(
        {}, description="Suites by name. `judgeboard suite run NAME` uses these options."
    )
    queues: dict[str, QueueSettings] = Field(
        {}, description="Review queues by name. `judgeboard queue create NAME` uses these options."
    )
    alerts: dict[str, AlertSettings] = Field(
        {}, description="Alert rules by name. `judgeboard rule add alert NAME` stores them."
    )
    judging_rules: dict[str, JudgingRuleSettings] = Field(
        {},
        description="Judging rules by name. `judgeboard rule add judge NAME` uses these options.",
    )
    masks: MaskSettings | None = Field(
        None,
        description="Personal data that are masked before anything is stored (default: none).",
    )
    _file: "ProjectFile | None" = PrivateAttr(None)
    _stored: frozenset[str] = PrivateAttr(frozenset())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature of pydantic-settings
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment take precedence over the other values."""
        return _Environment(settings_cls), init_settings

    @cached_property
    def thresholds(self) -> Thresholds:
        """The thresholds alone."""
        return Thresholds.model_construct(
            **{name: getattr(self, name) for name in Thresholds.model_fields}
        )

    def limits(self, name: Limit) -> tuple[str, ...]:
        """Return the limits per minute by model; the limits of judges by name come last."""
        judge_limits = ((judge.model, getattr(judge, name)) for judge in self.judges.values())
        return (
            *(getattr(self, name) or ()),
            *(f"{model}={limit:g}" for model, limit in judge_limits if model and limit),
        )

    @property
    def any_text_expires(self) -> bool:
        """Whether texts of any source are forgotten after some days."""
        periods = (self.keep_texts, *(source.keep_texts for source in self.sources.values()))
        return any(each not in {None, ALWAYS} for each in periods)

    def days_kept(self, source: str) -> int | None:
        """Return for how many days the texts of a source are kept; None for always."""
        section = self.sources.get(source)
        period = (section and section.keep_texts) or self.keep_texts
        return None if period in {None, ALWAYS} else int(str(period).split()[0])

    def price_of(self, model: str) -> Price | None:
        """Return the price that a judge by name gives for a model."""
        prices = (
            judge.price
            for judge in self.judges.values()
            if judge.model == model and judge.price is not None
        )
        return next(prices, None)

    def origin(self, name: str, *keys: str) -> str:
        """Return where the value of a setting comes from: a variable, a line of the file, ``stored`` or ``default``.

        ``keys`` name a table in the setting.
        """
        if os.environ.get(variable_of(name)):
            return variable_of(name)
        if self._file is not None and name in self._file.values:
            return self._file.line_of(name, *keys)
        return "stored" if name in self._stored else "default"

    def fail(self, reason: str, *keys: str) -> BadInput:
        """Return an error about the value at ``keys`` that names the place: a variable, or a line of the file."""
        return _fault(reason, keys, self._file, os.environ)


class _Environment(EnvSettingsSource):
    """The variables, except the variable of the checks: this names a file, which may change while a server runs."""

    def __call__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__call__().items() if name != "checks"}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            raise BadInput(f"{variable_of(field_name)} must be a table in JSON") from None


def load_settings(stored: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings in force; ``stored`` are the settings of the database.

    Raises BadInput for a value that is wrong, and UnconfirmedFile.
    """
    file = project_file()
    checks = os.environ.get(variable_of("checks")) or (file and file.values.get("checks"))
    text = file_text(Path(checks), most=LONGEST_CHECKS) if isinstance(checks, str) else None
    if file is not None and isinstance(checks, list):
        text = _checks_text(file, checks)
    settings = _load(tuple(os.environ.items()), file, _Stored(stored or {}), text)
    if file is not None:
        file.check_confirmed()
    return settings


def _checks_text(file: ProjectFile, checks: Sequence[Any]) -> str:
    """Return the checks of the project file as a YAML text. Each check keeps its line of the file."""
    lines = [
        number
        for number, line in enumerate(file.text.splitlines(), 1)
        if line.replace(" ", "").startswith("[[checks]]")
    ]
    text, now = "checks: [", 1
    for number, check in enumerate(checks):
        line = max(now, lines[number] if number < len(lines) else now)
        text = "\n" * (line - now) + text if number == 0 else text + "\n" * (line - now)
        text, now = f"{text}{json.dumps(check, default=str)}, ", line
    return f"{text}]"


class _Stored(dict[str, Any]):
    """Stored values as a key of the cache."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items())))


@lru_cache(maxsize=8)
def _load(
    environment: tuple[tuple[str, str], ...],
    file: ProjectFile | None,
    stored: _Stored,
    checks: str | None,
) -> Settings:
    # Cached, because each stored batch reads the thresholds, and parsing takes longer than the SQL
    # statement.
    register_environment(dict(environment))
    values = {**stored, **({} if file is None else file.values)}
    if checks is not None:
        values["checks"] = checks
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _refused(error, file, os.environ) from None
    if file is not None:
        paths: list[tuple[tuple[str, ...], Any]] = [
            ((name,), getattr(settings, name)) for name in FILES if name in file.values
        ]
        for section, names in SECTION_FILES.items():
            for title, table in getattr(settings, section).items():
                paths += [
                    ((section, title, name), Path(path))
                    for name in names
                    if (path := getattr(table, name)) is not None
                ]
        for keys, path in paths:
            if isinstance(path, Path) and not path.is_file():
                raise file.fail(f"names the file {path}, which does not exist", *keys)
    settings._file, settings._stored = file, frozenset(stored)  # noqa: SLF001 - pydantic sets them in no other way
    return settings


def checked_thresholds(values: Mapping[str, object]) -> Thresholds:
    """Return thresholds with these values, and defaults for the others; raise BadInput for a wrong value."""
    try:
        return Thresholds.model_validate(values)
    except ValidationError as error:
        raise _refused(error, None, {}) from None


def naming(about: FieldInfo) -> Naming | None:
    """Return what the texts of a field name; None for any other field."""
    return next((each for each in about.metadata if isinstance(each, Naming)), None)


def _refused(
    error: ValidationError, file: ProjectFile | None, environment: Mapping[str, str]
) -> BadInput:
    """Return the first fault as an error that names the place. Unknown names come first: a name may be misspelt."""
    fault = min(error.errors(), key=lambda each: each["type"] not in UNKNOWN)
    keys = tuple(str(step) for step in fault["loc"]) or (
        str(fault["ctx"]["error"]).split(maxsplit=1)[0],
    )
    section = SECTIONS.get(keys[0], Settings) if len(keys) > 2 else Settings
    section = MaskSettings if keys[0] == "masks" and len(keys) == 2 else section  # has no names
    # The value of a variable is left out: it may be a secret.
    is_shown = not environment.get(variable_of(keys[0]))
    reason = reason_of(fault, keys, fields_of(section), with_value=is_shown)
    return _fault(reason, keys, file, environment)


def _fault(
    reason: str, keys: Sequence[str], file: ProjectFile | None, environment: Mapping[str, str]
) -> BadInput:
    variable = variable_of(keys[0])
    if file is not None and keys[0] in file.values and not environment.get(variable):
        return file.fail(reason, *keys)
    return BadInput(f"{variable if environment.get(variable) else '.'.join(keys)} {reason}")


def variable_of(name: str) -> str:
    """Return the name of the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def provider_key(provider: str) -> str | None:
    """Return the key of a provider: OPENAI_API_KEY, ANTHROPIC_API_KEY and so on."""
    key = os.environ.get(f"{provider.upper()}_API_KEY") or None
    register_secret(key)
    return key


def provider_address(provider: str) -> str | None:
    """Return the configured address of a provider: OPENAI_BASE_URL, ANTHROPIC_BASE_URL and so on."""
    return os.environ.get(f"{provider.upper()}_BASE_URL") or None


SHARED = (*Thresholds.model_fields, "primary_judge", "judges", "prices", "families", "masks")
"""The settings that change what a process stores: should be equal where several processes share a database."""


def setting_hashes(settings: Settings) -> dict[str, str]:
    """Return a short hash of each shared setting that is not the default, by name. A file counts by content."""
    values = ((name, getattr(settings, name)) for name in SHARED)
    texts = {
        name: json.dumps(value, default=_comparable, sort_keys=True)
        for name, value in values
        if value != Settings.model_fields[name].default
    }
    return {name: hashlib.sha256(text.encode()).hexdigest()[:8] for name, text in texts.items()}


def _comparable(value: Any) -> Any:
    if isinstance(value, Path):
        return hashlib.sha256(value.read_bytes()).hexdigest() if value.is_file() else value.name
    return values_of(value) if isinstance(value, BaseModel) else str(value)


class ShownSetting(NamedTuple):
    """A setting as people read it. Passwords and keys are masked."""

    name: str
    value: str | None
    origin: str


def shown_settings(settings: Settings, providers: Iterable[str]) -> list[ShownSetting]:
    """Return each setting with its origin. Keys and addresses of providers come first."""
    lines = []
    for provider in providers:
        key, address = provider_key(provider), provider_address(provider)
        masked_key = key and f"{'*' * 8}{key[-4:] if len(key) >= 16 else ''}"
        for name, value in (("API_KEY", masked_key), ("BASE_URL", address and masked(address))):
            variable = f"{provider.upper()}_{name}"
            lines.append(ShownSetting(variable, value, variable if value else "default"))
    for name, about in type(settings).model_fields.items():
        value = getattr(settings, name)
        if name in SECTIONS and value:
            for title, table in value.items():
                text = ", ".join(
                    f"{key}: {_text_of(entry)}" for key, entry in values_of(table).items()
                )
                text = shorten(text, 100, placeholder=" …")
                lines.append(
                    ShownSetting(f"{name}.{title}", text or None, settings.origin(name, title))
                )
            continue
        text = _text_of(value) if about.repr else "*" * 8
        text = shorten(text, 100, placeholder=" …")
        lines.append(
            ShownSetting(name, None if value is None else text or None, settings.origin(name))
        )
    return lines


def _text_of(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_text_of(entry)}" for name, entry in value.items())
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else masked(str(value))
