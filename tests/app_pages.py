"""Reads what a page shows that ran without a browser."""

import html
import json
import re
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

OpenPage = Callable[..., AppTest]

TAGS = re.compile(r"<[^>]*>")


def plain(markup):
    """Return the text that a browser shows for some markup."""
    return html.unescape(TAGS.sub("", markup))


def bodies(app):
    """Return the markup of our own elements, without styles and scripts."""
    assert not app.exception, app.exception
    markups = [str(element.proto.body) for element in app.get("html")]
    return [body for body in markups if not body.startswith(("<style", "<script"))]


def markup(app):
    """Return the markup of our own elements as one text."""
    return " ".join(bodies(app))


def body_with(app, part):
    """Return the markup of the one element of our own that has this part."""
    [body] = [each for each in bodies(app) if part in each]
    return body


def texts(app, cls=""):
    """Return the texts of our own elements of one class, without tags; without a class, those of all elements."""
    shown_texts = [plain(body) for body in bodies(app) if f'class="{cls}' in body or not cls]
    assert not any("Something went wrong" in text for text in shown_texts), shown_texts
    return shown_texts


def text_with(app, *parts, cls=""):
    """Return the one text of a class that has all these parts: names, numbers or values."""
    [text] = [each for each in texts(app, cls) if all(part in each for part in parts)]
    return text


def shown(app):
    """Return the texts of our own elements as one text, a line each."""
    return "\n".join(texts(app))


def check_shown(app, *parts):
    """Check that our own elements show all these texts."""
    words = shown(app)
    assert [part for part in parts if part not in words] == [], words


def check_markup(app, *parts):
    """Check that our own elements have all this markup."""
    sent = markup(app)
    assert [part for part in parts if part not in sent] == [], sent


def table(app, column):
    """Return the first table with this column."""
    return next(each.value for each in app.dataframe if column in each.value)


def table_rows(app, column):
    """Return the rows of the first table with this column."""
    return table(app, column).to_numpy().tolist()


def charts(app):
    """The specifications of a page's charts, in order."""
    return [json.loads(element.proto.spec) for element in app.get("vega_lite_chart")]


_CHECKED = set()


def check_charts(app):
    """Check the page's charts against the schema of Vega-Lite: each once, as pages differ in numbers alone."""
    for element in app.get("vega_lite_chart"):
        form = re.sub(r"[\d.]+", "0", element.proto.spec)
        if form not in _CHECKED:
            from altair import Root  # slow to import

            Root.validate(json.loads(element.proto.spec))
            _CHECKED.add(form)


def labels(app):
    """What the buttons of the page say, without those that every page has."""
    everywhere = "notification", "new_alert_rule", "theme_changed", "person"
    return [each.label for each in app.button if not (each.key or "").startswith(everywhere)]


def button_labels(app):
    """Return what all buttons of the page say."""
    return [each.label for each in app.button]


def chips(app):
    """Return the labels of the chips, which say what narrows a list and take it away."""
    return [label for label in labels(app) if label.endswith("✕")]


def titles(app):
    """Return the titles of the page."""
    return [each.value for each in app.title]


def with_label(elements, label):
    """Return the one field or button with this label."""
    [element] = [each for each in elements if each.label == label]
    return element


def in_address(app, name):
    """Return the value of a parameter of the page's address."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


FIELDS = (
    *("text_input", "text_area", "number_input", "selectbox", "multiselect"),
    *("toggle", "checkbox"),
)


def click(app, key):
    """Press the button with this key."""
    return app.button(key=key).click().run()


def enter(app, key, value):
    """Enter a value into the field with this key."""
    [field] = [each for kind in FIELDS for each in app.get(kind) if each.key == key]
    field.set_value(value)
    return app.run()


def keys(app):
    """Return the keys of the buttons of a page."""
    return [each.key for each in app.button]


def field_of(app, start):
    """Return the one field for texts whose key starts so."""
    fields = [*app.text_input, *app.text_area]
    [field] = [each for each in fields if (each.key or "").startswith(start)]
    return field


def press(app, start):
    """Press the one button whose key starts so, after the first moments of a row, in which presses are ignored."""
    if "keyboard" in app.session_state:  # a page where items are reviewed
        keyboard = app.session_state["keyboard"]
        keyboard.appeared -= 10
        keyboard.pressed.clear()
    [button] = [each for each in app.button if f"{each.key}_".startswith(start)]
    return button.click().run()
