"""Judging rules: add a rule, give a rule another judge, and count the answers that wait for each rule."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Action
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge
from judgeboard.llm.endpoint import PROVIDERS
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.runs.addresses import ADDRESS, configured_address
from judgeboard.runs.jobs import (
    check_address,
    check_spec,
    judge_spec,
    make_described,
    with_last_address,
)
from judgeboard.runs.method import require_price
from judgeboard.runs.rules import checked_name
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Readable, Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import live_workers
from judgeboard.store.judge_versions import (
    ensure_version,
    get_version,
    refuse_retired,
)
from judgeboard.store.judging_rules import (
    EarlierJudge,
    budget_is_used_up,
    earlier_judges,
    set_rule_judge,
    spent_today,
    waiting,
)
from judgeboard.store.responses import last_response_id
from judgeboard.store.rules import insert_rule, list_rules, rule_named
from judgeboard.store.runs import PLAIN, Selection, count_unasked
from judgeboard.store.tables import JudgingRule, StoredVersion
from judgeboard.text import counted, money

LONGEST_DELAY = timedelta(days=30).total_seconds()


def sampling_rates(texts: tuple[str, ...]) -> tuple[float, dict[str, float]]:
    """Return the rate of all answers and the rates by query type of texts like "0.1" and "QA=0.5"."""
    rate, rates = 1.0, {}
    for text in texts:
        query_type, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise BadInput(
                f"the sampling rate {text!r} is not a number, or TYPE=NUMBER, for example QA=0.5"
            ) from None
        if query_type:
            rates[query_type.strip()] = value
        else:
            rate = value
    return rate, rates


def add_rule(
    store: Store,
    name: str,
    *,
    judge: dict[str, Any],
    where: RowFilter | None = None,
    rate: float = 1.0,
    rates: Mapping[str, float] | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    concurrency: int = 8,
    delay_s: float = 0.0,
    existing: bool = False,
    confirmed_host: str | None = None,
    actor: Actor,
) -> JudgingRule:
    """Add a judging rule, which workers follow from now on, and return the rule.

    ``judge`` has ``kind`` and other fields of `JudgeOptions`, as for `request_rejudge`. ``rate``
    and ``rates`` (by query type) are sampling rates from 0 to 1; the hash of an answer decides, so
    that rules with the same rate select the same answers. ``max_cost`` (dollars) and ``max_calls``
    are limits per day (UTC). ``concurrency`` is the maximum number of calls in flight in each
    worker. Only answers that are stored later are judged, with ``existing`` also answers that are
    stored already. ``confirmed_host`` is as for `request_rejudge`. Raises BadInput if a value or
    the judge is not usable, UnknownPrice if a cost limit needs a price, OtherHost if another host
    is not confirmed.
    """
    name = checked_name(JudgingRule, name)
    for each in (rate, *(rates or {}).values()):
        if not 0 <= each <= 1:
            raise BadInput(
                f"a sampling rate must be a number from 0 to 1 (0.2 for 20 %), not {each:g}"
            )
    if max_calls is not None and max_calls < 1:
        raise BadInput("the number of calls per day must be 1 or more")
    if not 0 <= delay_s <= LONGEST_DELAY:
        raise BadInput("the delay must be 0 seconds to 30 days")
    judge, described = _usable(store, judge, max_cost, concurrency)
    with allowed(store, actor, Action.KEEP_RULES) as connection:
        version = ensure_version(connection, described.version)
        refuse_retired(connection, version)
        check_address(
            connection,
            judge,
            lambda: _answers_of(connection, version.id, where or RowFilter(), existing=existing),
            confirmed_host,
        )
        rule = JudgingRule(
            name=name,
            by=actor_name(actor),
            judge_version_id=version.id,
            filter=where or RowFilter(),
            judge=judge,
            rate=rate,
            rates=dict(rates or {}),
            max_cost=max_cost,
            max_calls=max_calls,
            concurrency=concurrency,
            delay_s=delay_s,
            after_id=0 if existing else last_response_id(connection),
        )
        return insert_rule(connection, rule)


def set_judge(
    store: Store,
    name: str,
    *,
    judge: dict[str, Any],
    confirmed_host: str | None = None,
    actor: Actor,
) -> JudgingRule:
    """Give a judging rule another judge, and return the rule. Name, filter, rates, limits and runs stay.

    Judgments of the earlier judge are kept. The new judge judges all waiting and all later answers,
    but no answers that the earlier judge has judged. The limits of a day count the calls of both
    judges. ``judge``, ``confirmed_host`` and errors are as for `add_rule`; raises BadInput also if
    the rule has this judge already.
    """
    with store.reading() as connection:
        rule = rule_named(connection, JudgingRule, name)
    judge, described = _usable(store, judge, rule.max_cost, rule.concurrency)
    with allowed(store, actor, Action.KEEP_RULES) as connection:
        rule = rule_named(connection, JudgingRule, name)
        version = ensure_version(connection, described.version)
        refuse_retired(connection, version)
        if version.id == rule.judge_version_id and configured_address(judge) == configured_address(
            rule.judge
        ):
            raise BadInput(
                f"the judging rule {name!r} already uses {version.title}: choose another judge or model"
            )
        check_address(
            connection,
            judge,
            lambda: "the waiting and all later answers of this rule",
            confirmed_host,
        )
        return set_rule_judge(connection, rule, version.id, judge, actor_name(actor), utc_now())


def rule_spec(connection: Connection, rule: JudgingRule) -> dict[str, Any] | None:
    """Return the judge fields of a rule, with the rule's own address if any; None if the version cannot be used."""
    spec = judge_spec(connection, get_version(connection, rule.judge_version_id))
    if spec is None or not rule.judge.get("base_url"):
        return spec
    return spec | {
        name: rule.judge.get(name) for name in ADDRESS
    }  # confirmed when the rule was stored


def with_model(judge: dict[str, Any], model: str) -> dict[str, Any]:
    """Return the fields of a judge with another model.

    The address of the user's own server stays. The address of a provider is dropped: the name of
    the model determines the provider.
    """
    provider_addresses = {provider.base_url for provider in PROVIDERS.values()}
    dropped = ADDRESS if judge.get("base_url") in provider_addresses else ()
    return {name: value for name, value in judge.items() if name not in dropped} | {"model": model}


def _usable(
    store: Store, judge: dict[str, Any], max_cost: float | None, concurrency: int
) -> tuple[dict[str, Any], Judge]:
    """Return the fields of a judge with the last address, and the judge; raise if judge or limits cannot be used."""
    check_spec(judge, max_cost, concurrency)
    with store.reading() as connection:
        judge = with_last_address(connection, judge)
    described = make_described(judge)
    require_price(max_cost, priced=described.priced, model=described.version.model)
    return judge, described


def _answers_of(
    connection: Connection, version_id: int, where: RowFilter, *, existing: bool
) -> str:
    selection = Selection(where, PLAIN, None, last_response_id(connection))
    answer_count = count_unasked(connection, version_id, selection) if existing else 0
    return (
        f"{counted(answer_count, 'answer')} and later ones"
        if answer_count
        else "all later answers of this rule"
    )


@dataclass(frozen=True, slots=True)
class RuleProgress:
    """A judging rule with the judge, the waiting answers, and the calls.

    ``state`` is active, paused, budget used up, no worker or problem. ``earlier`` are the judges
    that the rule had before. ``waiting`` counts the selected answers that are not judged;
    ``oldest`` is the time when the first waiting answer was stored. ``calls_today`` and
    ``cost_micro`` (millionths; None if unknown) count the day in UTC.
    """

    rule: JudgingRule
    state: str
    version: StoredVersion
    earlier: tuple[EarlierJudge, ...]
    waiting: int
    oldest: datetime | None
    calls_today: int
    failed_today: int
    cost_micro: int | None

    def as_json(self) -> dict[str, Any]:
        """Return the columns of the rule and what is counted, with the judge and the filter in words."""
        progress = {field.name: getattr(self, field.name) for field in fields(self)[3:]}
        judge = {"judge": self.version.title, "model": self.version.model}
        where = {"state": self.state, "where": self.rule.filter}
        return self.rule.as_json() | where | judge | progress

    @property
    def budget_words(self) -> str:
        """The limits per day in words."""
        limits = [] if self.rule.max_cost is None else [_dollars(self.rule.max_cost)]
        limits += [] if self.rule.max_calls is None else [counted(self.rule.max_calls, "call")]
        return " and ".join(limits) or "no limit"

    @property
    def calls_words(self) -> str:
        """The calls of today and the limit: "120 of 500"."""
        limit = self.rule.max_calls
        return f"{self.calls_today:,}" + ("" if limit is None else f" of {limit:,}")

    @property
    def cost_words(self) -> str:
        """The cost of today and the limit: "$ 0.12 of $ 5.00"."""
        limit = self.rule.max_cost
        return money(self.cost_micro) + ("" if limit is None else f" of {_dollars(limit)}")

    @property
    def rate_words(self) -> str:
        """The sampling rates in words: "10 % (QA: 50 %)"."""
        by_type = ", ".join(f"{name}: {rate * 100:g} %" for name, rate in self.rule.rates.items())
        return f"{self.rule.rate * 100:g} %" + (f" ({by_type})" if by_type else "")


def _dollars(amount: float) -> str:
    return money(round(amount * 1_000_000))


ACTIVE, PAUSED, USED_UP, NO_WORKER, PROBLEM = (
    "active",
    "paused",
    "budget used up",
    "no worker",
    "problem",
)


def rule_progress(
    store: Readable, now: datetime | None = None, *, name: str | None = None
) -> list[RuleProgress]:
    """Return the progress of the rules that are not removed, oldest first; with ``name``, only of this rule."""
    now = now or utc_now()
    with store.reading() as connection:
        has_worker = bool(live_workers(connection))
        lines = []
        for rule in list_rules(connection, JudgingRule):
            if name not in {None, rule.name}:
                continue  # counting the answers of a rule takes long
            usage, backlog = spent_today(connection, rule, now), waiting(connection, rule)
            doing = USED_UP if budget_is_used_up(rule, usage) else None
            progress = RuleProgress(
                rule=rule,
                state=rule.state_now(has_worker=has_worker, doing=doing),
                version=get_version(connection, rule.judge_version_id),
                earlier=earlier_judges(connection, rule),
                waiting=backlog.answers,
                oldest=backlog.oldest,
                calls_today=usage.asked,
                failed_today=usage.asked - usage.ok,
                cost_micro=usage.total_cost_micro,
            )
            lines.append(progress)
    return lines
