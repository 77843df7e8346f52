"""No function of the store that reads through a connection gives a blind reviewer anything of a hidden row."""

import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
from sqlalchemy import ColumnElement, Connection
from sqlalchemy.exc import DBAPIError

import judgeboard.methods
import judgeboard.store
from judgeboard.domain import Decision, JudgeVersion, QueueOrder
from judgeboard.errors import JudgeboardError
from judgeboard.formats.label_schema import schema_in
from judgeboard.methods.refining.queries import RefineSelection, ReflectSelection
from judgeboard.methods.suites.queries import StoredSuiteRun
from judgeboard.people.roster import set_sources
from judgeboard.settings.model import Cuts
from judgeboard.store.events import EventFilter
from judgeboard.store.export import exports, ratings_table
from judgeboard.store.filters import RowFilter, own_label_condition
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.own_labels import OwnLabel
from judgeboard.store.queue_items import item_by_id
from judgeboard.store.queues import queue_by_id
from judgeboard.store.reviews import find_comment, find_review
from judgeboard.store.rules import insert_rule
from judgeboard.store.runs import Selection, ask_mode, get_run
from judgeboard.store.strata import DrawPlan
from judgeboard.store.tables import JUDGING_RULE, JUDGMENT, RESPONSE, JudgingRule
from judgeboard.store.tools import What
from marked_answer import NOW, found_in, mark_answer
from stored_rows import made_row, values_of, write_to

OF_WRITERS = {
    "actor",
    "answers",
    "at",
    "batch_id",
    "by",
    "comment",
    "delivery",
    "destination",
    "entries",
    "event",
    "event_id",
    "executor_id",
    "flags",
    "from_id",
    "is_last",
    "issue",
    "items",
    "job",
    "job_id",
    "lease_count",
    "lock",
    "mode",
    "new",
    "outcomes",
    "pairs",
    "preferences",
    "reason",
    "response",
    "responses",
    "review",
    "reviews",
    "row",
    "spans",
    "spec",
    "state",
    "states",
    "subject",
    "subjects",
    "texts",
    "token",
    "traces",
    "verdicts",
    "why",
    "why_stopped",
}
"""Parameters of functions that write, or that take what another function of the store has read."""
MISSING = object()
ENOUGH = 50  # with fewer functions that give a marker to anybody, little would be shown
OF_STATEMENTS = {"of", "queries", "query", "row_filter", "table", "which"}
"""Parameters of functions that make or run a statement of their caller's."""


def store_functions():
    """Every public function of the store whose first parameter is a connection."""
    of_store = pkgutil.walk_packages(judgeboard.store.__path__, "judgeboard.store.")
    of_methods = pkgutil.walk_packages(judgeboard.methods.__path__, "judgeboard.methods.")
    names = [found.name for found in of_store if ".migrations" not in found.name]
    names += [found.name for found in of_methods if found.name.endswith(".queries")]
    for module_name in names:
        module = importlib.import_module(module_name)
        short_name = module_name.removeprefix("judgeboard.").removeprefix("store.")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module_name and not name.startswith("_"):
                parameters = list(inspect.signature(function).parameters.values())
                if parameters and parameters[0].annotation is Connection:
                    yield f"{short_name}.{name}", function


def arguments(queues, marked_source="log"):
    """What the parameters are given, by name, or by name and type where one name means two things."""
    answer = mark_answer(queues.store, queues.ada, marked_source)
    queues.queue(
        blind_judge=True,
        blind_people=True,
        assigned=(queues.mara,),
        where=RowFilter(ids=("marked",)),
        order=QueueOrder.OLDEST,
    )
    where = RowFilter()
    one = answer.response_id
    queue, item = queues.read(queue_by_id, 1), queues.read(item_by_id, 1)
    versions = {version.id: version for version in queues.read(list_versions)}
    rag, nli = answer.versions["rag"], answer.versions["nli"]
    new_rule = made_row(JUDGING_RULE, {"judge_version": nli}) | {"name": "rag"}
    judging_rule = write_to(queues.store, insert_rule, JudgingRule(**new_rule))
    return {
        "address": "rag",
        "after_id": 0,
        "anchors": SimpleNamespace(id=1),
        "after": 0,
        "before_run": 1,
        "audited_id": rag,
        "bulk": "an action",
        "candidate": "mark-candidate",
        "candidates": (),
        "column": RESPONSE.c.generator_model,
        "count": 5,
        "cuts": Cuts(0.5),
        "days": [NOW.date()],
        "decisions": (Decision.CONFIRM, None),
        "dimension": "mark-review_score-dimension",
        "external_id": "marked",
        "external_ids": ("marked",),
        "fingerprint": versions[rag].fingerprint,
        "flag_id": answer.flag_id,
        "flag_ids": (answer.flag_id,),
        "review_ids": (1,),
        ("where", EventFilter): EventFilter(),
        "grade": "quality",
        ("ids", np.ndarray): np.array([answer.plain_id]),
        ("response_ids", np.ndarray): np.array([answer.plain_id]),
        "ids": (one,),
        "item": item,
        "item_id": item.id,
        "item_ids": (item.id,),
        "judge": "rag",
        "judgment_ids": values_of(queues.store, JUDGMENT.c.id, JUDGMENT.c.response_id == one),
        "keys": [(marked_source, "marked")],
        "delivery_id": 1,
        "kind": "decide",
        "lease_id": 1,
        "limit": 50,
        "lock": False,
        "method": {},
        "model": None,
        "most": 50,
        "name": "rag",
        "names": ("Ada",),
        "new_version_id": nli,
        "conditions": (),
        "condition": own_label_condition("tone"),
        "own_label": OwnLabel("tone"),
        "now": NOW,
        "seconds": 1.0,
        "owed": 0.0,
        "n": 5,
        "number": 1,
        "of_versions": (),
        "old_version_id": rag,
        "origin": "local",
        "pair_id": answer.pair_id,
        "pair_ids": (answer.pair_id,),
        "part": "generator_model",
        "plan": DrawPlan(),
        "longest": timedelta(0),
        "quiet": timedelta(0),
        "trace_ids": (1,),
        "span_ids": ("span",),
        "trace_id": "0" * 32,
        "before": NOW,
        "values": ("QA",),
        ("column", str): "query_type",
        "question": {},
        "queue": queue,
        "queue_id": queue.id,
        "schema": schema_in("name: support\nfields: [label]"),
        "schema_id": 1,
        "title": "support",
        "repeats": 1,
        "request_key": "mark-review-",
        ("response_id", ColumnElement): RESPONSE.c.id,
        "response_id": one,
        "response_ids": [one, answer.plain_id],
        "review_id": 1,
        "reviewer_id": queues.ada.id,
        "reviewer_ids": (queues.ada.id,),
        "rule": judging_rule,
        "rules": JudgingRule,
        "roots": (one,),
        "rule_id": judging_rule.id,
        "run": queues.read(get_run, answer.run_id),
        ("run", StoredSuiteRun): SimpleNamespace(id=1, run_id=answer.run_id, version_id=rag),
        ("ids", set): {one},
        "run_id": answer.run_id,
        "run_ids": (answer.run_id,),
        ("selection", RefineSelection): RefineSelection(where, 9_999, 5, 3),
        ("selection", ReflectSelection): ReflectSelection(
            rag, where, 4, 0, ("QA",), False, 9_999, ()
        ),
        ("selection", Selection): Selection(where, ask_mode("all"), None, 9_999),
        "score": "groundedness",
        "seed": "judgeboard",
        "setting": "always_review",
        "sha256": "mark",
        "sort": "oldest",
        "source": marked_source,
        "sources": ("log",),
        "suite_run_id": 1,
        "suite_run_ids": (1,),
        "supreme_id": answer.versions["high"],
        "taken_at": NOW,
        "threshold": 0.5,
        "types": ("QA",),
        "today": NOW.date(),
        "until": NOW + timedelta(minutes=5),
        "up_to": 9_999,
        "version": versions[rag],
        ("version", JudgeVersion): JudgeVersion("new", "rag"),
        "version_id": rag,
        "judge_version_id": rag,
        "version_ids": (rag, nli),
        "viewer": queues.mara.id,
        "what": "judge",
        ("what", What): What.REVIEWS,
        "target": "phoenix",
        "tool": "phoenix",
        "project": "default",
        "judges": ("rag",),
        "where": where,
        "words": "mark",
        "field": "tenant",
        "fields": ("tenant",),
        "value": "v",
        "since": NOW - timedelta(days=1),
        "day": NOW.date(),
        "first": 20_000,
        "last": 20_001,
        "notice": RESPONSE.c.extra[("served", "notice")].as_string(),
        ("kinds", Sequence): ("caution", "doubt"),
        "kinds": ("injected",),
    }


def arguments_of(name, function, values):
    """The arguments of a call, none where only writers take one of them."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if {parameter.name for parameter in parameters if parameter.default is parameter.empty} & (
        OF_WRITERS | OF_STATEMENTS
    ):
        return None
    positional, named = [], {}
    for parameter in parameters:
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        type_ = getattr(parameter.annotation, "__origin__", parameter.annotation)
        value = values.get((parameter.name, type_), values.get(parameter.name, MISSING))
        assert value is not MISSING, f"{name} needs a value for {parameter.name} ({type_})"
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def marks(seen, function, positional, named):
    """The markers in what a function gives, None where it writes."""
    with seen.reading() as connection:
        try:
            told = function(connection, *positional, **named)
            return found_in(list(told) if inspect.isgenerator(told) else told)
        except JudgeboardError as error:
            return found_in(str(error))
        except DBAPIError:
            return None
        except ValueError as error:
            if "hidden rows" not in str(error):
                raise
            return None


def calls_of(values):
    """Every function of the store that reads, and every export, each with its arguments."""
    calls = {
        name: (function, *given)
        for name, function in store_functions()
        if (given := arguments_of(name, function, values))
    }
    calls |= {f"reviews.{each.__name__}": (each, [1], {}) for each in (find_review, find_comment)}
    calls |= {f"export.{name}": (table.rows, [], {}) for name, table in exports().items()}
    calls["export.ratings"] = (ratings_table(values["version"]).rows, [], {})
    assert len(calls) > 300
    return calls


def leaks(seen, calls):
    """The markers that functions give to a reader, by function; enough of them give some to whoever may see all."""
    everything = Seen(seen.store, None)
    leaking, telling = {}, set()
    is_asked = seen.store.is_sqlite  # it tells it for both engines
    for name, call in calls.items():
        found = marks(seen, *call)
        if found:
            leaking[name] = found
        if is_asked and len(telling) < ENOUGH and found is not None and marks(everything, *call):
            telling.add(name)
    assert len(telling) == ENOUGH or not is_asked
    return leaking


def test_no_function_of_the_store_gives_a_hidden_row(queues):
    calls = calls_of(arguments(queues))
    assert leaks(Seen(queues.store, queues.mara.id), calls) == {}


def test_no_function_of_the_store_gives_a_row_of_another_source(queues):
    calls = calls_of(arguments(queues, marked_source="mark-source"))
    del calls["visible_sources.visible_sources"]  # returns the source that it is given
    set_sources(queues.store, queues.jon.name, ["log", "plain-pair-source"], "lead", origin="page")
    assert leaks(Seen(queues.store, queues.jon.id), calls) == {}
    assert leaks(Seen(queues.store, None, "log"), calls) == {}
    # What both allow is left: nothing.
    assert values_of(Seen(queues.store, queues.jon.id, "mark-source"), RESPONSE.c.id) == []
