"""Reads what a page shows that ran without a browser."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

from streamlit.testing.v1 import AppTest

OpenPage = Callable[..., AppTest]


def texts(app: AppTest, cls: str = "") -> list[str]:
    """What our own elements of one class say, tags taken out; all of them without a class."""
    assert not app.exception, app.exception
    bodies = [element.proto.body for element in app.get("html")]
    found = [body for body in bodies if f'class="{cls}' in body or not cls]
    said = [html.unescape(re.sub(r"<[^>]*>", "", body)) for body in found if not body.startswith(("<style", "<script"))]
    assert not any("Something went wrong" in text for text in said), said
    return said


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The specifications of a page's charts, in order."""
    return [json.loads(element.proto.spec) for element in app.get("vega_lite_chart")]


def labels(app: AppTest) -> list[str]:
    """What the buttons say."""
    return [button.label for button in app.button]
