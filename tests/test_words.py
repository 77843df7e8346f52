"""One term for one thing: terms that the glossary replaced do not come back."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".pyi", ".md", ".css", ".js", ".toml", ".yaml"}
PLACES = (
    "core",
    "dashboard",
    "docs",
    "benchmarks",
    "examples",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "data/README.md",
)

# what nobody writes any more -> the term in its place
REPLACED = {
    r"remark\w*": "comment",
    r"last word": "adjudication, gold label",
    r"let[_ ]it[_ ]stand|let_stand|standing": "selected",
    r"landing\w*|landed|lands?_\w+": "store (verb), stored",
    r"shadow(?:s|ed)?(?!:)": "row filter, hidden rows",
    r"hand(?:s|ed|ing)?[_ ]out|give(?:s|n)? back": "lease, release",
    r"voices?": "jury",
    r"h(?:old|olds|eld)[_ ]against": "compare with, agreement",
    r"asked nothing more|ask nothing more": "retire",
    r"too few to say|cannot be said": "too few answers, not available",
    r"what (?:it|people|judges?|they|a judge|a person) (?:said|says?)|sayings?": "judgment, review",
    r"what waits": "open flags",
    r"both content": "both positive",
    r"desks?": "queue, review",
    r"mix": "random sample, sampling rate",
    r"(?:load|own)_splits?|split_items": "conflicts",
    r"settl(?:e|es|ed|ing)": "adjudicate",
    r"(?:drawn|added) by lot": "random sample",
    r"nobody is asked|asks? nobody": "makes no model calls",
    r"served again": "repeated (queue item)",
    r"put(?:s|ting)? aside": "skip, mark as unsure",
    r"tak(?:en?|es|ing) back": "withdraw",
    r"hand(?:s|ed|ing)? over": "pass, argument",
    r"laid": "lease, show",
}


def sources():
    files = []
    for place in PLACES:
        path = ROOT / place
        files += (
            [path]
            if path.is_file()
            else [each for each in path.rglob("*") if each.suffix in SUFFIXES]
        )
    return sorted(files)


def test_replaced_terms_are_gone():
    # All terms at once, in lower case: one by one, or without regard to case, it takes ten times as
    # long.
    replaced = re.compile(rf"(?<![a-z])(?:{'|'.join(REPLACED)})(?![a-z])")
    hits = []
    for path in sources():
        text = path.read_text(encoding="utf-8").lower()
        for found in replaced.finditer(text):
            term = next(
                each for pattern, each in REPLACED.items() if re.fullmatch(pattern, found[0])
            )
            line = text.count("\n", 0, found.start()) + 1
            hits.append(f"{path.relative_to(ROOT)}:{line}: write {term!r} instead of {found[0]!r}")
    assert not hits, "\n".join(hits[:20])
