"""The kinds of judges. Each kind of Judgeboard has its own file and a line in ``JUDGES``; other packages add kinds."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

from judgeboard.domain import AUDIT, JURY, PAIRWISE, RECORDED, REPEATS, SELF_REFERENCE, JudgeVersion
from judgeboard.errors import BadInput
from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import Judge, JudgeOptions, ModelJudge
from judgeboard.judges.lexical import LexicalJudge
from judgeboard.judges.rag import make_rag_judge
from judgeboard.judges.rating import make_rating_judge
from judgeboard.judges.rubric import make_rubric_judge
from judgeboard.settings.plugins import Plugin, Registry

_MEMBERS = ("version", "priced", "address", "judge", "aclose")


@dataclass(frozen=True, slots=True)
class JudgeOfPackage:
    """Makes the judges of a plugin: ``judge`` is its class."""

    plugin: Plugin
    judge: type[Any]

    def __call__(self, options: JudgeOptions) -> Judge:
        """Make a judge from options; raise BadInput if it is no judge of this kind."""
        if issubclass(self.judge, ModelJudge):
            return cast(Judge, self.judge.of(options))  # a plugin has `judge`: it was checked
        made: Judge = self.judge(options)
        missing = [name for name in _MEMBERS if not hasattr(made, name)]
        if missing:
            raise BadInput(f"the judge {self.plugin.name} of {self.plugin.source} has no {' and no '.join(missing)}")
        if not isinstance(made.version, JudgeVersion) or made.version.kind != self.plugin.name:
            raise BadInput(
                f"the judge {self.plugin.name} of {self.plugin.source} needs a `version` whose `kind` is its name"
            )
        return made


def _checked(plugin: Plugin, judge: Any) -> Callable[[JudgeOptions], Judge]:
    if not isinstance(judge, type) or not all(callable(getattr(judge, name, None)) for name in ("judge", "aclose")):
        raise BadInput("it must be a class of judges, with the methods `judge` and `aclose`")
    if issubclass(judge, ModelJudge) and getattr(judge, "kind", None) != plugin.name:
        raise BadInput(f"its `kind` must be {plugin.name!r}, the name of the entry point")
    return JudgeOfPackage(plugin, judge)


JUDGES: Registry[Callable[[JudgeOptions], Judge]] = Registry(
    "judgeboard.judges",
    {
        "rag": make_rag_judge,
        "rating": make_rating_judge,
        "rubric": make_rubric_judge,
        "grade": GradeJudge.of,
        "lexical": lambda options: LexicalJudge(name=options.name or "lexical"),
    },
    _checked,
    reserved=(RECORDED, PAIRWISE, SELF_REFERENCE, JURY, REPEATS, AUDIT),
)
"""Maps each kind to the function that makes a judge from options; it raises BadInput if the options are invalid."""

_OFFLINE = frozenset({"lexical"})


class _Offline(AbstractSet[str]):
    def __contains__(self, kind: object) -> bool:
        make = JUDGES.get(kind) if isinstance(kind, str) else None
        return kind in _OFFLINE or (isinstance(make, JudgeOfPackage) and not issubclass(make.judge, ModelJudge))

    def __iter__(self) -> Iterator[str]:
        return (kind for kind in JUDGES if kind in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


OFFLINE: AbstractSet[str] = _Offline()
"""The kinds that use no chat model. The options of a chat model do not apply to them."""
