"""A suite run as a JUnit file, which build servers show as tests."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from judgeboard.errors import BadInput
from judgeboard.methods.suite_results import CaseResult, SuiteResult, score_words

# What XML 1.0 cannot hold, in whatever way it is written.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_NAME = 200


def require_writable(path: Path) -> None:
    """Refuse a path where no file can be written; a file that is there stays as it is.

    Raises:
        BadInput: There is no such folder, or no right to write there.
    """
    try:
        path.open("ab").close()
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from error


def write_junit(result: SuiteResult, path: Path) -> None:
    """Write a suite run as JUnit XML: a case that fails is a failure, one without a score an error.

    The gate is a test of its own, so that a build that reads the file alone fails where the command does.

    Raises:
        BadInput: The file cannot be written.
    """
    require_writable(path)
    path.write_bytes(junit(result))


def junit(result: SuiteResult) -> bytes:
    """Return the run as JUnit XML."""
    failed = len(result.failures) + (result.gate.code == 1)
    errors = result.unmeasured + (result.gate.code == 2)
    name = _xml(result.suite)
    counts = {"tests": str(len(result.cases) + 1), "failures": str(failed), "errors": str(errors), "skipped": "0"}
    root = ET.Element("testsuites", {"name": "judgeboard", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts})
    for case in result.cases:
        _add_case(suite, name, case)
    last = ET.SubElement(suite, "testcase", {"classname": name, "name": "gate"})
    if result.gate.code:
        kind = "failure" if result.gate.code == 1 else "error"
        reasons = _xml("; ".join(result.gate.reasons))
        ET.SubElement(last, kind, {"message": reasons, "type": result.gate.state})
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _add_case(suite: ET.Element, name: str, case: CaseResult) -> None:
    title = " ".join(f"{case.case}: {case.query or ''}".split())
    shown = title if len(title) <= _LONGEST_NAME else f"{title[: _LONGEST_NAME - 1]}…"
    element = ET.SubElement(suite, "testcase", {"classname": name, "name": _xml(shown)})
    if case.score is None:
        ET.SubElement(element, "error", {"message": _xml(case.reason or ""), "type": "not_measured"})
    elif case.passed is False:
        failure = ET.SubElement(element, "failure", {"message": f"score {score_words(case.score)}", "type": "failed"})
        failure.text = _xml("\n".join(_lines(case)))


def _lines(case: CaseResult) -> list[str]:
    scored = [
        f"{name}: {'not scored' if given.score is None else given.score}  {given.reasoning or ''}".rstrip()
        for name, given in case.dimensions.items()
    ]
    return scored + [f"check {check.kind}: {check.message or 'failed'}" for check in case.checks if not check.passed]


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
