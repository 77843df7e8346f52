"""The kinds of judges, one record each. Nothing here loads a judge: a record names the place of the class."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from judgeboard.domain import AUDIT, JURY, PAIRWISE, RECORDED, REPEATS, SELF_REFERENCE, JudgeVersion
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.registry.methods import load_object
from judgeboard.registry.plugins import Plugin, Registry, in_words

OWN_PROMPTS = "judgeboard.judges"
"""The package of the prompts of Judgeboard."""
_MEMBERS = ("version", "priced", "address", "judge", "aclose")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeKind:
    """A kind of judge.

    Attributes:
        judge: The place of the class of the judges, or the class of a plugin. Empty: a method makes
            the judges, or the verdicts were imported.
        words: The kind in a few words.
        in_form: Whether a form offers a new judge of this kind.
        prompt: The name of the prompt. None: the judges ask no chat model.
        prompt_package: The package whose folder ``prompts`` has the prompt.
        calls_host: Whether the judges call a host.
        measures: What the verdicts measure, without dimensions.
        may_be_primary: Whether the first judge of a log can be of this kind: rules about low scores
            use the verdicts.
        two_orders: Whether the judges ask about each pair in both orders. If a run stops after one
            order, the pair counts as unmeasured.
        combined: Whether the judgments are made of stored judgments, without a call.
        plugin: The plugin that adds the kind.
    """

    judge: str | type[Any] = ""
    words: str = ""
    in_form: bool = False
    prompt: str | None = None
    prompt_package: str = OWN_PROMPTS
    calls_host: bool = True
    measures: frozenset[str] = frozenset({"groundedness", "quality", "label"})
    may_be_primary: bool = True
    two_orders: bool = False
    combined: bool = False
    plugin: Plugin | None = None

    @property
    def asks_model(self) -> bool:
        """Whether the judges ask a chat model. The options of a model apply to no other judge."""
        return self.prompt is not None

    @property
    def judge_class(self) -> type[Any]:
        """The class of the judges."""
        return load_object(self.judge) if isinstance(self.judge, str) else self.judge

    def make(self, options: object) -> Any:
        """Make a judge of `JudgeOptions`.

        Raises:
            BadInput: The options are invalid, or the class of a plugin fails or makes no judge of
                this kind.
        """
        judge = self.judge_class
        # A class that asks a model has a function that takes the model of the options.
        make = judge.of if self.asks_model else judge
        if self.plugin is None:
            return make(options)
        name, source = self.plugin.name, self.plugin.source
        try:
            new_judge = make(options)
        except JudgeboardError:
            raise
        except Exception as error:
            raise BadInput(f"the judge {name} of {source} failed: {in_words(error)}") from error
        missing_members = [member for member in _MEMBERS if not hasattr(new_judge, member)]
        if missing_members:
            raise BadInput(
                f"the judge {name} of {source} has no {' and no '.join(missing_members)}"
            )
        if not isinstance(new_judge.version, JudgeVersion) or new_judge.version.kind != name:
            raise BadInput(
                f"the judge {name} of {source} needs a `version` whose `kind` is its name"
            )
        return new_judge


KINDS: Mapping[str, JudgeKind] = MappingProxyType(
    {
        "rag": JudgeKind(
            judge="judgeboard.judges.rag:RagJudge",
            words="groundedness and quality",
            in_form=True,
            prompt="rag",
            measures=frozenset({"groundedness", "quality"}),
        ),
        "rubric": JudgeKind(
            judge="judgeboard.judges.rubric:RubricJudge",
            words="1 to 5 per dimension",
            prompt="rubric",
            measures=frozenset(),
            may_be_primary=False,
        ),
        "grade": JudgeKind(
            judge="judgeboard.judges.grade:GradeJudge",
            words="correct or not",
            prompt="grade",
            measures=frozenset({"label"}),
        ),
        "rating": JudgeKind(
            judge="judgeboard.judges.rating:RatingJudge",
            words="1 to 4, used by `judgeboard refine`",
            in_form=True,
            prompt="refine",
            measures=frozenset({"quality"}),
            may_be_primary=False,
        ),
        "lexical": JudgeKind(
            judge="judgeboard.judges.lexical:LexicalJudge",
            words="word overlap, offline",
            in_form=True,
            calls_host=False,
            measures=frozenset({"groundedness"}),
        ),
        PAIRWISE: JudgeKind(prompt="pairwise", two_orders=True),
        SELF_REFERENCE: JudgeKind(prompt="pairwise", two_orders=True),
        AUDIT: JudgeKind(prompt="supreme", may_be_primary=False),
        RECORDED: JudgeKind(),
        JURY: JudgeKind(combined=True),
        REPEATS: JudgeKind(combined=True, may_be_primary=False),
    }
)
"""The kinds of Judgeboard."""


def _checked(plugin: Plugin, judge: Any) -> JudgeKind:
    if not isinstance(judge, type) or not all(
        callable(getattr(judge, name, None)) for name in ("judge", "aclose")
    ):
        raise BadInput("it must be a class of judges, with the methods `judge` and `aclose`")
    prompt: str | None = getattr(judge, "prompt_name", None)  # of a `ModelJudge`
    if prompt is not None and getattr(judge, "kind", None) != plugin.name:
        raise BadInput(f"its `kind` must be {plugin.name!r}, the name of the entry point")
    return JudgeKind(
        judge=judge,
        in_form=True,
        prompt=prompt,
        prompt_package=getattr(judge, "prompt_package", OWN_PROMPTS),
        calls_host=prompt is not None or getattr(judge, "calls_host", False) is True,
        plugin=plugin,
    )


JUDGES: Registry[JudgeKind] = Registry(
    "judgeboard.judges",
    {name: kind for name, kind in KINDS.items() if kind.judge},
    _checked,
    reserved=[name for name, kind in KINDS.items() if not kind.judge],
)
"""The kinds whose judges are made of options, kinds of other packages last."""


def kind_of(name: str) -> JudgeKind:
    """Return the record of a kind of judge; an empty record if the package is not installed."""
    return KINDS.get(name) or JUDGES.get(name) or JudgeKind()


def kind_title(name: str) -> str:
    """Return the name of a kind of judge with a few words about the kind."""
    words = kind_of(name).words
    return f"{name} ({words})" if words else name


def asks_model(name: str) -> bool:
    """Whether a judge of this kind can be made of options, and asks a chat model."""
    return name in JUDGES and JUDGES[name].asks_model
