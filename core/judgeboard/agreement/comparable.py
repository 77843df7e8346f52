"""The grades that a judge and people gave to the same answers, for a message where the chosen grade has none."""

from shlex import quote

from judgeboard.agreement.answer_pairs import GRADES
from judgeboard.agreement.notes import EMPTY
from judgeboard.agreement.ratings import PairSource
from judgeboard.stats.ratings import SCALES
from judgeboard.store.grades import dimensions_of_both
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.text import counted

_MOST_NAMES = 5


def nothing_to_compare(source: PairSource, version: StoredVersion | None, grade: str) -> str:
    """Return why no answer has the grade of both, and which grades exist; ``version`` is None for all judges."""
    others = comparable_sentence(source, version)
    if others is None:
        return EMPTY
    judge = "a judge" if version is None else version.title
    return f"No answer has the grade {grade} from both {judge} and a person. {others}"


def comparable_sentence(source: PairSource, version: StoredVersion | None) -> str | None:
    """Return which grades people and the judge gave to the same answers; None if there are no such answers."""
    if source.scales is not SCALES:  # only one dimension is loaded
        source = PairSource(
            source.connection,
            source.reviewer_id,
            source.human,
            implied_labels=source.implied_labels,
            where=source.where,
        )
    both: dict[str, int] = {}
    for grade in GRADES:
        judge = version or next(iter(source.versions(grade)), None)
        both[grade] = 0 if judge is None else source.pairs(judge.id, grade).n
    dimensions = dimensions_of_both(source.connection, None if version is None else version.id)
    both |= {of_people: n for (of_people, of_judge), n in dimensions.items() if of_people == of_judge}
    existing = sorted((-n, name) for name, n in both.items() if n)
    if existing:
        names = _listed([f"{name} ({counted(-n, 'answer')})" for n, name in existing])
        judge_option = "" if version is None else f" --judge-version {quote(version.title)}"
        return (
            f"Both gave {names}. To compare them: `judgeboard agreement{judge_option} --grade {quote(existing[0][1])}`"
        )
    if dimensions:
        by_people, by_judge = (_listed(sorted({names[side] for names in dimensions})) for side in (0, 1))
        return (
            f"On the same answers, people gave {by_people} and the judge gave {by_judge}. Grades are compared by name: "
            "import both under one name."
        )
    return None


def _listed(names: list[str]) -> str:
    shown, more = names[:_MOST_NAMES], len(names) - _MOST_NAMES
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
