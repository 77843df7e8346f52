"""Judge files: what the rag judge is an expert of, with worked examples, as a YAML file says it."""

from dataclasses import dataclass
from pathlib import Path

from judgeboard.judges.examples import Example, read_examples
from judgeboard.yaml_file import read_yaml

RAG_SCORES = {"groundedness": (0.0, 1.0, False), "quality": (1.0, 4.0, True)}
"""The scores of an example for the rag judge: lowest, highest, whether an integer."""


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """What a judge file says; what it leaves out is as without one."""

    domain: str | None = None
    examples: tuple[Example, ...] = ()


def read_judge_file(path: Path) -> JudgeFile:
    """Read a judge file.

    Raises:
        BadInput: It cannot be read or used; the message names file and line.
    """
    fields = read_yaml(path).fields("a judge file", ("domain", "examples"))
    return JudgeFile(
        domain=fields["domain"].text("domain") if "domain" in fields else None,
        examples=read_examples(fields["examples"], RAG_SCORES) if "examples" in fields else (),
    )
