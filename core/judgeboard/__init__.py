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
    from judgeboard.audit_choice import make_supreme
    from judgeboard.auditing import (
        AuditSample,
        audit,
        audit_async,
        audit_independently,
        audit_independently_async,
        audit_recorded,
    )
    from judgeboard.combining.jury import judge_by_jury
    from judgeboard.combining.repeating import judge_repeats, judge_repeats_async
    from judgeboard.controls import make_controls
    from judgeboard.controls.judging import judge_controls, judge_controls_async
    from judgeboard.domain import (
        Decision,
        Grade,
        JudgeInput,
        JudgeVersion,
        Label,
        Preference,
        Shown,
        Status,
        Verdict,
    )
    from judgeboard.errors import JudgeboardError
    from judgeboard.exporting import export_tables
    from judgeboard.filters import RowFilter, parse_where
    from judgeboard.flagging import raise_flags
    from judgeboard.importing import import_file
    from judgeboard.judge_answer import judge, judge_blocking
    from judgeboard.judge_choice import make_judge
    from judgeboard.judge_health import health
    from judgeboard.judges import Judge
    from judgeboard.judges.annotation import Annotation, annotate
    from judgeboard.judging import judge_pending, judge_pending_async
    from judgeboard.pairs import (
        PairReport,
        compare_pairs,
        compare_pairs_async,
        make_pairwise_judge,
        measure_pairs,
        pairs_between,
        pairs_in_file,
        prefer,
    )
    from judgeboard.refining import (
        Refined,
        Refiner,
        RefineRule,
        Reflected,
        ReflectRule,
        let_stand,
        make_generator,
        read_prompts,
        refine,
        refine_pending,
        refine_pending_async,
        reflect,
        reflect_blocking,
        reflect_pending,
        reflect_pending_async,
        take_back_standing,
    )
    from judgeboard.report import measure
    from judgeboard.review import decide, ensure_reviewer, grade, undo
    from judgeboard.self_reference import (
        SelfReferenceReport,
        make_self_reference_judge,
        measure_self_reference,
        self_refer,
        self_refer_async,
    )
    from judgeboard.store.engine import Store, open_store
    from judgeboard.suites import Case, Suite, SuiteResult, read_suite, run_suite, run_suite_async, suite_result

__all__ = [
    "Annotation",
    "AuditSample",
    "Case",
    "Decision",
    "Grade",
    "Judge",
    "JudgeInput",
    "JudgeVersion",
    "JudgeboardError",
    "Label",
    "PairReport",
    "Preference",
    "RefineRule",
    "Refined",
    "Refiner",
    "ReflectRule",
    "Reflected",
    "RowFilter",
    "SelfReferenceReport",
    "Shown",
    "Status",
    "Store",
    "Suite",
    "SuiteResult",
    "Verdict",
    "annotate",
    "audit",
    "audit_async",
    "audit_independently",
    "audit_independently_async",
    "audit_recorded",
    "compare_pairs",
    "compare_pairs_async",
    "decide",
    "ensure_reviewer",
    "export_tables",
    "grade",
    "health",
    "import_file",
    "judge",
    "judge_blocking",
    "judge_by_jury",
    "judge_controls",
    "judge_controls_async",
    "judge_pending",
    "judge_pending_async",
    "judge_repeats",
    "judge_repeats_async",
    "let_stand",
    "make_controls",
    "make_generator",
    "make_judge",
    "make_pairwise_judge",
    "make_self_reference_judge",
    "make_supreme",
    "measure",
    "measure_pairs",
    "measure_self_reference",
    "open_store",
    "pairs_between",
    "pairs_in_file",
    "parse_where",
    "prefer",
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
    "run_suite",
    "run_suite_async",
    "self_refer",
    "self_refer_async",
    "suite_result",
    "take_back_standing",
    "undo",
]

_HOMES = {
    "audit_choice": ("make_supreme",),
    "auditing": (
        "AuditSample",
        "audit",
        "audit_async",
        "audit_independently",
        "audit_independently_async",
        "audit_recorded",
    ),
    "combining.jury": ("judge_by_jury",),
    "combining.repeating": ("judge_repeats", "judge_repeats_async"),
    "controls": ("make_controls",),
    "controls.judging": ("judge_controls", "judge_controls_async"),
    "domain": ("Decision", "Grade", "JudgeInput", "JudgeVersion", "Label", "Preference", "Shown", "Status", "Verdict"),
    "errors": ("JudgeboardError",),
    "exporting": ("export_tables",),
    "filters": ("RowFilter", "parse_where"),
    "flagging": ("raise_flags",),
    "importing": ("import_file",),
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
        "prefer",
    ),
    "refining": (
        "Refined",
        "RefineRule",
        "Refiner",
        "Reflected",
        "ReflectRule",
        "let_stand",
        "make_generator",
        "read_prompts",
        "refine",
        "refine_pending",
        "refine_pending_async",
        "reflect",
        "reflect_blocking",
        "reflect_pending",
        "reflect_pending_async",
        "take_back_standing",
    ),
    "report": ("measure",),
    "review": ("decide", "ensure_reviewer", "grade", "undo"),
    "self_reference": (
        "SelfReferenceReport",
        "make_self_reference_judge",
        "measure_self_reference",
        "self_refer",
        "self_refer_async",
    ),
    "store.engine": ("Store", "open_store"),
    "suites": ("Case", "Suite", "SuiteResult", "read_suite", "run_suite", "run_suite_async", "suite_result"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
