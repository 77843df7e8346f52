"""SSR-Judge: a judge that is shown its own answer only where its samples agree on it (methods.md §5)."""

from judgeboard.self_reference.choice import make_self_reference_judge
from judgeboard.self_reference.report import measure_self_reference
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.run import self_refer, self_refer_async

__all__ = [
    "SelfReferenceReport",
    "make_self_reference_judge",
    "measure_self_reference",
    "self_refer",
    "self_refer_async",
]
