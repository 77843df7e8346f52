"""What a page of operations says."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture
def said() -> Callable[[AppTest], str]:
    """Returns all that a page says in its own markup, without style and script."""

    def text(page: AppTest) -> str:
        assert not page.exception
        bodies = [node.proto.body for node in page.get("html")]
        return " ".join(body for body in bodies if not body.startswith(("<style>", "<script>")))

    return text
