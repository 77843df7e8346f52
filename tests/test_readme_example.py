"""The Python example of the README does what the README says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_python_example_of_the_readme_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None, "the README has no Python example"
    monkeypatch.chdir(tmp_path)
    exec(compile(example[1], README.name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()
