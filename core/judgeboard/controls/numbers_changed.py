"""Known-bad: every number of the answer is another one."""

import re

from judgeboard.controls.text import AnswerText

# Citations ("[3]", "passage 3") and list markers ("2. ") number the text, not the world.
_LAYOUT = r"\[\d[\d,;\s–-]*\]|\b(?:passages?|documents?|sources?)\s+\d+|^[ \t]*\(?\d{1,3}[.)](?=\s)"
_NUMBER = re.compile(rf"({_LAYOUT})|\d+", re.IGNORECASE | re.MULTILINE | re.ASCII)
_SHIFT = 3


def numbers_changed(original: AnswerText) -> AnswerText | None:
    """Return the answer with every digit of its numbers shifted, None where it has no number.

    As many digits as before and none of them the same; equal numbers stay equal, so that the answer does not
    contradict itself.
    """
    changed = _NUMBER.sub(lambda found: found[0] if found[1] else _other(found[0]), original.answer)
    return None if changed == original.answer else original._replace(answer=changed)


def _other(digits: str) -> str:
    # A first digit other than 0 becomes another one of those: 1 to 9 go round among themselves.
    first = digits[0] if len(digits) > 1 or digits != "0" else ""
    head = "" if not first else first if first == "0" else str((int(first) - 1 + _SHIFT) % 9 + 1)
    return head + "".join(str((int(digit) + _SHIFT) % 10) for digit in digits[len(head) :])
