"""The kinds of judges. Each kind has its own file and a line in ``JUDGES``."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import Judge, JudgeOptions
from judgeboard.judges.lexical import LexicalJudge
from judgeboard.judges.rag import make_rag_judge
from judgeboard.judges.rating import make_rating_judge
from judgeboard.judges.rubric import make_rubric_judge

JUDGES: Mapping[str, Callable[[JudgeOptions], Judge]] = MappingProxyType(
    {
        "rag": make_rag_judge,
        "rating": make_rating_judge,
        "rubric": make_rubric_judge,
        "grade": GradeJudge.of,
        "lexical": lambda options: LexicalJudge(name=options.name or "lexical"),
    }
)
"""Maps each kind to the function that makes a judge from options; it raises BadInput if the options are invalid."""

OFFLINE = frozenset({"lexical"})
"""The kinds that use no chat model. The options of a chat model do not apply to them."""
