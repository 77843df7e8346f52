"""Judge files: what the rag judge is an expert of, with worked examples, as a YAML file says it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict

from judgeboard.judges.examples import Example, check_examples
from judgeboard.yaml_file import CLOSED, Text, read_yaml, unless_null

RAG_SCORES = {"groundedness": (0.0, 1.0, False), "quality": (1.0, 4.0, True)}
"""The scores of an example for the rag judge: lowest, highest, whether an integer."""


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """What a judge file says; what it leaves out is as without one."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    domain: Text | None = None
    examples: Annotated[tuple[Example, ...], unless_null(())] = ()


def read_judge_file(path: Path) -> JudgeFile:
    """Read a judge file.

    Raises:
        BadInput: It cannot be read or used; the message names file, line and field.
    """
    file = read_yaml(path)
    judge_file = file.read(JudgeFile)
    check_examples(file, judge_file.examples, RAG_SCORES)
    return judge_file
