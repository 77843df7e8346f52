"""Answers over the tables: result rows as text, and what the assistant makes of them."""

from typing import Any

from sample_source.dice import Dice
from sample_source.draft import MOODS, Draft, Sentence
from sample_source.gym_queries import month_pair, setters, share, weekday
from sample_source.inventor import Inventor
from sample_source.library import read
from sample_source.logbook import Logbook
from sample_source.logbook_queries import Finding, days, firsts, hardest, styles, top, tries

QUERIES = (styles, top, hardest, tries, weekday, month_pair, days, setters, firsts, share)
NUMBERS = ("total", "top_n", "first_n", "second_n", "n", "n2", "t", "m", "p", "tries", "day")
STRANGERS = {
    "climber": ("Wilhelmina", "Bo", "Zuzanna", "Ignacio", "Tuulia", "Piet", "Oona"),
    "gym": ("Gym Altstadt", "Kranhalle", "Bloc 27", "Cave Nine", "Turmhalle"),
}
TERSE = {
    "styles": "{top_cap}.",
    "top": "{first}.",
    "hardest": "{grade}.",
    "tries": "{tries}.",
    "weekday": "{day}.",
    "months": "{n2}.",
    "days": "{first}.",
    "setters": "{first}.",
    "firsts": "{day}.",
    "share": "{p} %.",
}


def as_text(dice: Dice, finding: Finding, header: list[str]) -> str:
    """Return the rows as a table with bars, as CSV or as ``name: value`` lines."""
    rows = [[str(value) for value in row] for row in finding.rows]
    manner = dice.below(3)
    if manner == 0:
        return "\n".join(" | ".join(row) for row in [header, *rows])
    if manner == 1:
        return "\n".join(",".join(row) for row in [header, *rows])
    return "\n".join(
        "; ".join(f"{name}: {value}" for name, value in zip(header, row, strict=True))
        for row in rows
    )


class LogbookWriter:
    """Writes questions over the tables and their answers."""

    def __init__(self, dice: Dice, inventor: Inventor, book: Logbook) -> None:
        self._dice = dice
        self._inventor = inventor
        self._book = book
        self._phrases = {entry["key"]: entry for entry in read("logbook")["finding"]}
        self._refusals: list[str] = read("refusals")["rows"]

    def answer(self, mood: str) -> Draft:
        """Return a question over the tables, answered in ``mood``."""
        finding = self._finding()
        phrases = self._phrases[finding.key]
        words = finding.words | {
            f"{end}_cap": finding.words.get(end, "").capitalize() for end in ("top", "low")
        }
        if mood == "refusal":
            return self._nothing(finding, phrases)
        ask = self._dice.pick(phrases["ask"]).format(**words)
        sql = phrases["sql"].format(**words)
        passages = [as_text(self._dice, finding, phrases["columns"])]
        if self._dice.chance(0.6):
            passages.insert(0, sql)
        first = Sentence(
            self._dice.pick(phrases["main"]).format(**words),
            supported=True,
            about="the main figure",
        )
        second = Sentence(
            self._dice.pick(phrases["detail"]).format(**words),
            supported=True,
            about="the second figure",
        )
        if mood == "terse":
            sentences = [
                Sentence(
                    TERSE[finding.key].format(**words), supported=True, about="the main figure"
                )
            ]
        elif mood == "wrong":
            text = self._dice.pick(phrases["main"]).format(**words | self._changed(finding))
            sentences = [Sentence(text, supported=False, about="the main figure"), second][
                : self._dice.between(1, 2)
            ]
        elif mood == "padded":
            sentences = [first, self._inventor.sentence("sql")]
        elif mood == "beside":
            sentences = [second]
        else:
            sentences = [first, second]
        metadata = {"sql": sql, "rows": len(finding.rows)}
        quality = 2 if mood == "terse" else MOODS[mood]
        return Draft(ask, "sql", mood, passages, sentences, quality, metadata=metadata)

    def _finding(self) -> Finding:
        while True:
            finding = self._dice.pick(QUERIES)(self._dice, self._book)
            if finding is not None:
                return finding

    def _changed(self, finding: Finding) -> dict[str, str]:
        """Return the numbers of a finding, altered as a careless reader of the rows would."""
        changed = {}
        factor = (
            0.6 if finding.key == "days" else self._dice.pick((0.6, 0.7, 1.4, 1.6, 2.1))
        )  # a month ends
        for key in NUMBERS:
            value = finding.words.get(key, "")
            if value.replace(".", "", 1).isdigit():
                number = float(value) * factor + 3
                changed[key] = f"{number:.1f}" if "." in value else str(round(number))
            elif value.count("-") == 2:
                changed[key] = (
                    f"{value[:5]}{1 + (int(value[5:7]) + 4) % 12:02}-{1 + (int(value[8:]) + 10) % 28:02}"
                )
        return changed

    def _nothing(self, finding: Finding, phrases: dict[str, Any]) -> Draft:
        """Return a question about somebody who is not in the tables."""
        who = next((kind for kind in STRANGERS if kind in finding.words), None)
        if who is None:
            return self.answer("refusal")
        stranger = self._dice.pick(STRANGERS[who])
        words = finding.words | {who: stranger}
        sql = phrases["sql"].format(**words)
        said = Sentence(
            self._dice.pick(self._refusals).format(who=stranger),
            supported=True,
            about="the refusal",
        )
        ask = self._dice.pick(phrases["ask"]).format(**words)
        metadata = {"sql": sql, "rows": 0}
        return Draft(
            ask, "sql", "refusal", [sql, "(0 rows)"], [said], MOODS["refusal"], metadata=metadata
        )
