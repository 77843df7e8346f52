"""The colours of all pages are in theme.py."""

import re
from pathlib import Path

from judgeboard_dashboard import theme

PACKAGE = Path(theme.__file__).parent


def test_colours_are_only_in_the_palette():
    colour = re.compile(r"#[0-9a-fA-F]{6}\b")
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".css", ".js"}]
    found = [path.name for path in files if colour.search(path.read_text(encoding="utf-8"))]
    assert found == ["theme.py"]
