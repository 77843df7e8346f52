"""A suite run as a JUnit file, which build servers show as tests."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from judgeboard.errors import BadInput
from judgeboard.suites.case_results import CaseResult
from judgeboard.suites.results import SuiteResult
from judgeboard.suites.words import score_words

# What XML 1.0 cannot hold, in whatever way it is written.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_NAME = 200


def require_writable(path: Path) -> None:
    """Refuse a place where no file can be written; a file that is there stays as it is.

    Raises:
        BadInput: There is no such folder, or no right to write there.
    """
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from error


def write_junit(result: SuiteResult, path: Path) -> None:
    """Write a suite run as JUnit XML: a case that fails is a failure, one without a score an error.

    The gate is a test of its own, so that a build that reads the file alone fails where the command does.

    Raises:
        BadInput: The file cannot be written.
    """
    try:
        path.write_bytes(junit(result))
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from error


def junit(result: SuiteResult) -> bytes:
    """Return the run as JUnit XML."""
    failed = len(result.failures) + (result.gate.code == 1)
    errors = len(result.unmeasured) + (result.gate.code == 2)
    name = _xml(result.run.name)
    counts = {"tests": str(len(result.cases) + 1), "failures": str(failed), "errors": str(errors), "skipped": "0"}
    root = ET.Element("testsuites", {"name": "judgeboard", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts})
    for case in result.cases:
        _add_case(suite, name, case)
    last = ET.SubElement(suite, "testcase", {"classname": name, "name": "gate"})
    if result.gate.code:
        kind = "failure" if result.gate.code == 1 else "error"
        reasons = _xml("; ".join(result.gate.reasons))
        ET.SubElement(last, kind, {"message": reasons, "type": result.gate.word})
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _add_case(suite: ET.Element, name: str, case: CaseResult) -> None:
    title = " ".join(f"{case.id}: {case.query or ''}".split())
    shown = title if len(title) <= _LONGEST_NAME else f"{title[: _LONGEST_NAME - 1]}…"
    element = ET.SubElement(suite, "testcase", {"classname": name, "name": _xml(shown)})
    if case.score is None:
        ET.SubElement(element, "error", {"message": _xml(case.reason or ""), "type": "not_measured"})
    elif case.passed is False:
        failure = ET.SubElement(element, "failure", {"message": f"score {score_words(case.score)}", "type": "failed"})
        failure.text = _xml("\n".join(_lines(case)))


def _lines(case: CaseResult) -> list[str]:
    scored = [
        f"{name}: {score if score is not None else 'not scored'}  {why or ''}".rstrip()
        for name, (score, why) in case.dimensions.items()
    ]
    return scored + [f"check {one['kind']}: {one['said'] or 'failed'}" for one in case.checks if not one["passed"]]


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
