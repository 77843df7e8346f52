"""The kinds of judges: each is one file, and a line here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import Judge, JudgeOptions
from judgeboard.judges.lexical import LexicalJudge
from judgeboard.judges.rag import make_rag_judge
from judgeboard.judges.rating import RatingJudge
from judgeboard.judges.rubric import make_rubric_judge

JUDGES: Mapping[str, Callable[[JudgeOptions], Judge]] = MappingProxyType(
    {
        "rag": make_rag_judge,
        "rating": RatingJudge.of,
        "rubric": make_rubric_judge,
        "grade": GradeJudge.of,
        "lexical": lambda options: LexicalJudge(name=options.name or "lexical"),
    }
)
"""Kind of judge to what makes one (raising BadInput on unusable options); a new judge is one file and one line here."""

OFFLINE = frozenset({"lexical"})
"""The kinds that ask no chat model, and so have no use for what is chosen for one."""
