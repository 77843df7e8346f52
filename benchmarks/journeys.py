"""Counts the source files and functions that one action passes through, with a profile hook.

Three actions run on a new demo database: a press of Y on the review page (from the click to the
stored review, without drawing the next page), the import of a file of JSON lines, and one agreement
figure by the command. Each action runs once before it is counted, so that module imports and caches
do not count. Only functions of Judgeboard count.

    python benchmarks/journeys.py [--files]

Exit code 1 if an action passes through more files than its bound.
"""

import argparse
import contextlib
import inspect
import io
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

from passes import PACKAGES
from streamlit.testing.v1 import AppTest

from judgeboard.cli.app import run
from judgeboard.cli.demo import fill
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.opening import open_store
from judgeboard_dashboard import session
from judgeboard_dashboard.widgets.keys import Keyboard, Press

ROOT = Path(session.__file__).parents[2]
BOUNDS = {"a press of Y": 20, "an import": 35, "an agreement figure": 35}
REVIEWER = "Mara"
GUARD = 1.0  # seconds; a decision on an answer that just appeared is not taken


@dataclass
class Journey:
    """The functions that were called, as (file, line of the function, name)."""

    functions: set[tuple[str, int, str]] = field(default_factory=set)

    @property
    def files(self) -> list[str]:
        """The source files of the functions."""
        return sorted({file for file, _, _ in self.functions})

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Take note of a call; bodies of modules and classes are no functions."""
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
            path = Path(code.co_filename)
            if any(map(path.is_relative_to, PACKAGES)):
                self.functions.add(
                    (str(path.relative_to(ROOT)), code.co_firstlineno, code.co_qualname)
                )


@contextlib.contextmanager
def counting(journey: Journey) -> Iterator[None]:
    """Count the calls of this thread and of the threads that it starts."""
    threading.setprofile(journey.note)
    sys.setprofile(journey.note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> int:
    """Run the three actions and print what they pass through."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", action="store_true", help="Also print the names of the files.")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUDGEBOARD_DB"] = str(Path(folder) / "journeys.db")
        store = open_store(create=True)
        fill(store)
        ensure_reviewer(store, "page", REVIEWER)
        store.close()
        journeys = {
            "a press of Y": press(),
            "an import": imported(Path(folder)),
            "an agreement figure": figure(),
        }
    for name, journey in journeys.items():
        bound = BOUNDS[name]
        mark = "" if len(journey.files) <= bound else "  ABOVE THE BOUND"
        print(
            f"{name}: {len(journey.files)} files (bound {bound}), {len(journey.functions)} functions{mark}"
        )
        if chosen.files:
            for file in journey.files:
                print(
                    f"  {file}: {', '.join(sorted(name for path, _, name in journey.functions if path == file))}"
                )
    return int(any(len(journey.files) > BOUNDS[name] for name, journey in journeys.items()))


def press() -> Journey:
    """Press Y on two flagged answers, one after the other; count the second press."""
    app = AppTest.from_file(Path(session.__file__).with_name("app.py"), default_timeout=60)
    app.session_state["reviewer_name"] = REVIEWER
    app.switch_page("views/item.py")
    app.run()
    journey = Journey()
    take_press, work_off = Keyboard.press, Keyboard.work_off

    def counted_press(keyboard: Keyboard, *arguments: Any) -> bool:
        journey.functions.clear()
        with counting(journey):
            return take_press(keyboard, *arguments)

    def counted_work(keyboard: Keyboard) -> Iterator[Press]:
        for pressed in work_off(keyboard):
            yield replace(pressed, act=partial(counted_act, pressed.act))

    def counted_act(act: Callable[[], None]) -> None:
        with counting(journey):
            act()

    with mock.patch.multiple(Keyboard, press=counted_press, work_off=counted_work):
        for _ in range(2):
            time.sleep(GUARD)
            next(
                button for button in app.button if button.proto.shortcut.lower() == "y"
            ).click().run()
            if app.exception or not any(
                "Saved" in element.proto.body for element in app.get("html")
            ):
                sys.exit(f"the press was not taken: {app.exception}")
    return journey


def imported(folder: Path) -> Journey:
    """Import two files of JSON lines; count the second."""
    for number in range(2):
        rows = [
            {
                "id": f"{number}-{row}",
                "query": f"Question {row}?",
                "answer": "An answer.",
                "context": ["A passage."],
            }
            for row in range(20)
        ]
        file = folder / f"log-{number}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    command(["import", str(folder / "log-0.jsonl")])
    return counted_command(["import", str(folder / "log-1.jsonl")])


def figure() -> Journey:
    """Ask for the agreement as JSON twice; count the second time."""
    command(["agreement", "--json"])
    return counted_command(["agreement", "--json"])


def counted_command(words: list[str]) -> Journey:
    """Return what a command passes through."""
    journey = Journey()
    command(words, lambda: counting(journey))
    return journey


def command(
    words: list[str],
    around: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> None:
    """Run a command without its output; end where it fails."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), around():
        code = run(words)
    if code:
        sys.exit(f"{' '.join(words)} ended with {code}: {output.getvalue()}")


if __name__ == "__main__":
    sys.exit(main())
