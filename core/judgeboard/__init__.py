"""Judgeboard: judge logged RAG answers, flag the ones to distrust, review them, measure the judge.

One answer, nothing stored::

    verdict = judgeboard.judge_blocking(query, answer, passages, judge="rag", model="gpt-4o-mini")
    shown = judgeboard.annotate(answer, verdict.groundedness)

A whole log, in a database::

    store = judgeboard.open_store("desk.db", create=True)
    judgeboard.import_file(store, "answers.jsonl")
    judgeboard.judge_pending(store, judgeboard.make_judge("lexical"))
    judgeboard.measure(store)

What stands in ``__all__`` is the library's interface; it is loaded when it is first used, so that importing the package
costs nothing. Every error that a caller can cause is a `JudgeboardError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeboard.agreement import AgreementResult, measure_agreement
    from judgeboard.audit_choice import make_supreme
    from judgeboard.auditing import (
        AuditSample,
        audit,
        audit_async,
        audit_independently,
        audit_independently_async,
        audit_recorded,
    )
    from judgeboard.domain import (
        ClaimMark,
        ClaimStatus,
        Decision,
        Grade,
        ItemState,
        JudgeInput,
        JudgeVersion,
        Label,
        Preference,
        QueueOrder,
        Role,
        Shown,
        Stage,
        Status,
        Verdict,
        WhyDiffers,
    )
    from judgeboard.errors import JudgeboardError
    from judgeboard.evidence_alignment import AlignedSentence, align
    from judgeboard.exporting import export_tables
    from judgeboard.filters import RowFilter, parse_where
    from judgeboard.flagging import raise_flags
    from judgeboard.imports.importing import import_file
    from judgeboard.judge_answer import judge, judge_blocking
    from judgeboard.judge_choice import make_judge
    from judgeboard.judge_health import health
    from judgeboard.judges.annotation import Annotation, annotate
    from judgeboard.judges.protocol import Judge
    from judgeboard.judging import judge_pending, judge_pending_async
    from judgeboard.methods.attempts import deselect_attempt, select_attempt
    from judgeboard.methods.control_answers import (
        judge_control_answers,
        judge_control_answers_async,
        make_control_answers,
    )
    from judgeboard.methods.generation import make_generator, read_prompts
    from judgeboard.methods.jury import judge_by_jury
    from judgeboard.methods.refine import Refined, Refiner, RefineRule, refine
    from judgeboard.methods.refine_run import refine_pending, refine_pending_async
    from judgeboard.methods.reflect import Reflected, ReflectRule, reflect, reflect_blocking
    from judgeboard.methods.reflect_run import reflect_pending, reflect_pending_async
    from judgeboard.methods.repeats import judge_repeats, judge_repeats_async
    from judgeboard.methods.suite_file import Case, Suite, read_suite
    from judgeboard.methods.suite_results import SuiteResult, suite_result
    from judgeboard.methods.suite_run import run_suite, run_suite_async
    from judgeboard.pairs import (
        PairReport,
        compare_pairs,
        compare_pairs_async,
        make_pairwise_judge,
        measure_pairs,
        pairs_between,
        pairs_in_file,
    )
    from judgeboard.people.permissions import Action
    from judgeboard.people.roster import add_person, change_role, remove_person
    from judgeboard.queues import (
        QueueRules,
        adjudicate,
        answer_reveal,
        assign_queue,
        close_queue,
        create_queue,
        decide_item,
        export_bundle,
        item_texts,
        load_split,
        merge_bundle,
        next_item,
        own_splits,
        people_named,
        preference_at,
        queue_progress,
        release,
        renew,
        reveal,
        rule_words,
        skip,
        split_items,
        take_item,
    )
    from judgeboard.report import measure
    from judgeboard.retiring import restore_version, retire_version
    from judgeboard.review import (
        comment,
        decide,
        edit,
        edit_comment,
        ensure_reviewer,
        grade,
        prefer,
        undo,
        withdraw_comment,
    )
    from judgeboard.self_reference import (
        SelfReferenceReport,
        make_self_reference_judge,
        measure_self_reference,
        self_refer,
        self_refer_async,
    )
    from judgeboard.setting_changes import change_settings
    from judgeboard.store.engine import Store, open_store

__all__ = [
    "Action",
    "AgreementResult",
    "AlignedSentence",
    "Annotation",
    "AuditSample",
    "Case",
    "ClaimMark",
    "ClaimStatus",
    "Decision",
    "Grade",
    "ItemState",
    "Judge",
    "JudgeInput",
    "JudgeVersion",
    "JudgeboardError",
    "Label",
    "PairReport",
    "Preference",
    "QueueOrder",
    "QueueRules",
    "RefineRule",
    "Refined",
    "Refiner",
    "ReflectRule",
    "Reflected",
    "Role",
    "RowFilter",
    "SelfReferenceReport",
    "Shown",
    "Stage",
    "Status",
    "Store",
    "Suite",
    "SuiteResult",
    "Verdict",
    "WhyDiffers",
    "add_person",
    "adjudicate",
    "align",
    "annotate",
    "answer_reveal",
    "assign_queue",
    "audit",
    "audit_async",
    "audit_independently",
    "audit_independently_async",
    "audit_recorded",
    "change_role",
    "change_settings",
    "close_queue",
    "comment",
    "compare_pairs",
    "compare_pairs_async",
    "create_queue",
    "decide",
    "decide_item",
    "deselect_attempt",
    "edit",
    "edit_comment",
    "ensure_reviewer",
    "export_bundle",
    "export_tables",
    "grade",
    "health",
    "import_file",
    "item_texts",
    "judge",
    "judge_blocking",
    "judge_by_jury",
    "judge_control_answers",
    "judge_control_answers_async",
    "judge_pending",
    "judge_pending_async",
    "judge_repeats",
    "judge_repeats_async",
    "load_split",
    "make_control_answers",
    "make_generator",
    "make_judge",
    "make_pairwise_judge",
    "make_self_reference_judge",
    "make_supreme",
    "measure",
    "measure_agreement",
    "measure_pairs",
    "measure_self_reference",
    "merge_bundle",
    "next_item",
    "open_store",
    "own_splits",
    "pairs_between",
    "pairs_in_file",
    "parse_where",
    "people_named",
    "prefer",
    "preference_at",
    "queue_progress",
    "raise_flags",
    "read_prompts",
    "read_suite",
    "refine",
    "refine_pending",
    "refine_pending_async",
    "reflect",
    "reflect_blocking",
    "reflect_pending",
    "reflect_pending_async",
    "release",
    "remove_person",
    "renew",
    "restore_version",
    "retire_version",
    "reveal",
    "rule_words",
    "run_suite",
    "run_suite_async",
    "select_attempt",
    "self_refer",
    "self_refer_async",
    "skip",
    "split_items",
    "suite_result",
    "take_item",
    "undo",
    "withdraw_comment",
]

_HOMES = {
    "agreement": ("AgreementResult", "measure_agreement"),
    "audit_choice": ("make_supreme",),
    "auditing": (
        "AuditSample",
        "audit",
        "audit_async",
        "audit_independently",
        "audit_independently_async",
        "audit_recorded",
    ),
    "domain": (
        "ClaimMark",
        "ClaimStatus",
        "Decision",
        "Grade",
        "ItemState",
        "JudgeInput",
        "JudgeVersion",
        "Label",
        "Preference",
        "QueueOrder",
        "Role",
        "Shown",
        "Stage",
        "Status",
        "Verdict",
        "WhyDiffers",
    ),
    "errors": ("JudgeboardError",),
    "exporting": ("export_tables",),
    "filters": ("RowFilter", "parse_where"),
    "flagging": ("raise_flags",),
    "imports.importing": ("import_file",),
    "judge_answer": ("judge", "judge_blocking"),
    "judge_choice": ("make_judge",),
    "judge_health": ("health",),
    "judges": ("Judge",),
    "judges.annotation": ("Annotation", "annotate"),
    "judging": ("judge_pending", "judge_pending_async"),
    "pairs": (
        "PairReport",
        "compare_pairs",
        "compare_pairs_async",
        "make_pairwise_judge",
        "measure_pairs",
        "pairs_between",
        "pairs_in_file",
    ),
    "methods.control_answers": ("judge_control_answers", "judge_control_answers_async", "make_control_answers"),
    "methods.attempts": ("deselect_attempt", "select_attempt"),
    "methods.generation": ("make_generator", "read_prompts"),
    "methods.jury": ("judge_by_jury",),
    "methods.refine": ("RefineRule", "Refined", "Refiner", "refine"),
    "methods.refine_run": ("refine_pending", "refine_pending_async"),
    "methods.reflect": ("ReflectRule", "Reflected", "reflect", "reflect_blocking"),
    "methods.reflect_run": ("reflect_pending", "reflect_pending_async"),
    "methods.repeats": ("judge_repeats", "judge_repeats_async"),
    "methods.suite_file": ("Case", "Suite", "read_suite"),
    "methods.suite_results": ("SuiteResult", "suite_result"),
    "methods.suite_run": ("run_suite", "run_suite_async"),
    "people.permissions": ("Action",),
    "people.roster": ("add_person", "change_role", "remove_person"),
    "queues": (
        "QueueRules",
        "adjudicate",
        "answer_reveal",
        "assign_queue",
        "close_queue",
        "create_queue",
        "decide_item",
        "export_bundle",
        "item_texts",
        "load_split",
        "merge_bundle",
        "next_item",
        "own_splits",
        "people_named",
        "preference_at",
        "queue_progress",
        "release",
        "renew",
        "reveal",
        "rule_words",
        "skip",
        "split_items",
        "take_item",
    ),
    "report": ("measure",),
    "retiring": ("restore_version", "retire_version"),
    "setting_changes": ("change_settings",),
    "evidence_alignment": ("AlignedSentence", "align"),
    "review": (
        "comment",
        "decide",
        "edit",
        "edit_comment",
        "ensure_reviewer",
        "grade",
        "prefer",
        "undo",
        "withdraw_comment",
    ),
    "self_reference": (
        "SelfReferenceReport",
        "make_self_reference_judge",
        "measure_self_reference",
        "self_refer",
        "self_refer_async",
    ),
    "store.engine": ("Store", "open_store"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
