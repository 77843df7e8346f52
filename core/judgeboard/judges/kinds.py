"""The kinds of judges. Each kind of Judgeboard has its own file and a line in ``JUDGES``; other packages add kinds."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import AUDIT, JURY, PAIRWISE, RECORDED, REPEATS, SELF_REFERENCE, JudgeVersion
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import Judge, JudgeOptions, ModelJudge
from judgeboard.judges.lexical import LexicalJudge
from judgeboard.judges.prompt import PROMPTS, Prompt, load_prompt
from judgeboard.judges.rag import RagJudge
from judgeboard.judges.rating import RatingJudge
from judgeboard.judges.rubric import RubricJudge
from judgeboard.registry.plugins import Plugin, Registry, in_words

_MEMBERS = ("version", "priced", "address", "judge", "aclose")


@dataclass(frozen=True, slots=True)
class JudgeOfPackage:
    """Makes the judges of a plugin: ``judge`` is its class."""

    plugin: Plugin
    judge: type[Any]

    @property
    def asks_model(self) -> bool:
        """Whether it asks a chat model of Judgeboard."""
        return issubclass(self.judge, ModelJudge)

    def __call__(self, options: JudgeOptions) -> Judge:
        """Make a judge from options; raise BadInput if that fails, or if it is no judge of this kind."""
        try:
            made: Judge = self.judge.of(options) if self.asks_model else self.judge(options)
        except JudgeboardError:
            raise
        except Exception as error:
            raise BadInput(
                f"the judge {self.plugin.name} of {self.plugin.source} failed: {in_words(error)}"
            ) from error
        missing = [name for name in _MEMBERS if not hasattr(made, name)]
        if missing:
            raise BadInput(
                f"the judge {self.plugin.name} of {self.plugin.source} has no {' and no '.join(missing)}"
            )
        if not isinstance(made.version, JudgeVersion) or made.version.kind != self.plugin.name:
            raise BadInput(
                f"the judge {self.plugin.name} of {self.plugin.source} needs a `version` whose `kind` is its name"
            )
        return made


def _checked(plugin: Plugin, judge: Any) -> Callable[[JudgeOptions], Judge]:
    if not isinstance(judge, type) or not all(
        callable(getattr(judge, name, None)) for name in ("judge", "aclose")
    ):
        raise BadInput("it must be a class of judges, with the methods `judge` and `aclose`")
    if issubclass(judge, ModelJudge) and getattr(judge, "kind", None) != plugin.name:
        raise BadInput(f"its `kind` must be {plugin.name!r}, the name of the entry point")
    return JudgeOfPackage(plugin, judge)


JUDGES: Registry[Callable[[JudgeOptions], Judge]] = Registry(
    "judgeboard.judges",
    {
        "rag": RagJudge.of,
        "rating": RatingJudge.of,
        "rubric": RubricJudge.of,
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
        return kind in _OFFLINE or (isinstance(make, JudgeOfPackage) and not make.asks_model)

    def __iter__(self) -> Iterator[str]:
        return (kind for kind in JUDGES if kind in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


OFFLINE: AbstractSet[str] = _Offline()
"""The kinds that use no chat model. The options of a chat model do not apply to them."""


def calls_host(kind: str) -> bool:
    """Whether judges of a kind call a host. A class without a model says so itself: ``calls_host = True``."""
    make = JUDGES.get(kind)
    return kind not in OFFLINE or (
        isinstance(make, JudgeOfPackage) and getattr(make.judge, "calls_host", False) is True
    )


def prompt_of(kind: str) -> Prompt | None:
    """Return the built-in prompt of a kind of judge; None if the kind is unknown or asks no chat model."""
    if kind in PROMPTS:
        return load_prompt(PROMPTS[kind])
    make = JUDGES.get(kind)
    if not isinstance(make, JudgeOfPackage) or not make.asks_model:
        return None
    return load_prompt(make.judge.prompt_name, make.judge.prompt_package)
