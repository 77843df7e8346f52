"""Compares every figure of an older installation of Judgeboard with today's, on the same databases.

The older installation writes the databases: its demo and, with `--shared`, logs that people
labelled. Copies of them are migrated. Then both installations run every command that prints
figures, with `--json`, on their own copy. Numbers must be equal within 1e-9, and so must the words
that are codes. Sentences are not compared.

    python benchmarks/equal_figures.py OLDER_PYTHON [--shared FOLDER] [--only demo] [--keep FOLDER]

OLDER_PYTHON is the Python of the older installation, for example `../older/.venv/bin/python`. What
this one wrote and printed is read from the folder of `--keep` the next time. Prints for each
database how many values are equal, each value that moved, and the keys that only one installation
has. Exits 1 if a value moved that is not in MOVED, or a key is gone that is not in GONE.

If the shape of a result changes, add lines to RENAMED: how a path of the older JSON is written
today. A path names the rows of a list by what they are about:
`agreement[lexical,label,simple].statistics.kappa.value`. A row with the key `figure` stands under
its figure and its slice, whatever its list is called: `kappa.value`, `kappa[simple].value`.
"""

import argparse
import gzip
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TOLERANCE = 1e-9
Leaf = float | str | None
Printed = tuple[int, str, str]

# Runs commands in one process, which is much faster than a process for each.
RUNNER = """
import contextlib, io, json, sys
from judgeboard.cli.app import run

for arguments in json.load(sys.stdin):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = run(arguments)
    print(json.dumps([code, output.getvalue(), errors.getvalue()]), flush=True)
"""


@dataclass(frozen=True)
class Known:
    """Values that may differ, as patterns of the command and of the path, with the reason.

    ``narrower``: only ends of an interval that moved inwards. ``added``: only values that the older
    one did not have.
    """

    command: str
    path: str
    reason: str
    narrower: bool = False
    added: bool = False

    def covers(self, command: str, path: str, older: Leaf = None, today: Leaf = None) -> bool:
        """Whether a value of a command is one of these."""
        if self.added and older is not None:
            return False
        if self.narrower and isinstance(older, int | float) and isinstance(today, int | float):
            inwards = today > older if path.endswith(".low") else today < older
            if not inwards:
                return False
        return (
            re.match(self.command, command) is not None and re.search(self.path, path) is not None
        )


# Commands whose options changed: today's form, and the older one.
OLDER_FORMS: Mapping[str, str] = {"compare ssr --recorded": "compare ssr --recorded --by category"}

# Command, older path, today's path; patterns as in re.sub.
_KEY = r"(value|low|high|n|reason)$"
_THRESHOLD = "(?:chosen|in force|in force, other half)"
_SLICED = r"^(?:slices(\[.*?\])\.)?"
_PLAN = r"^(plans\[.*?\])\."
RENAMED: Sequence[tuple[str, str, str]] = (
    ("agreement", r"^(statistics|slices\[[^]]*\]\.statistics)\.(\w+)\.", r"\1#\2."),
    ("agreement", r"^statistics#", ""),
    ("agreement", r"^graded\.", "graded_"),
    ("agreement", r"^slices(\[[^]]*\])\.statistics#(\w+)\.", r"\2\1."),
    ("agreement", r"^slices(\[[^]]*\])\.(n|answers)$", r"\2\1.value"),
    ("agreement", r"^slices\[([^]]*)\]\.alt_test\.", r"alt_tests.\1."),
    ("agreement", r"^(n|answers)$", r"\1.value"),
    ("agreement", r"^(left_out|where|grade|by)\b", r"about.\1"),
    ("agreement", r"^ungraded$", "about.counts.ungraded"),
    (
        "agreement",
        r"^rater_pairs\[([^],]*),([^]]*)\]\.statistics\.(\w+)\.",
        r"parts[rater_pairs].\3[\1 / \2].",
    ),
    ("agreement", r"^rater_pairs\[([^],]*),([^]]*)\]\.n$", r"parts[rater_pairs].n[\1 / \2].value"),
    (
        "agreement",
        r"^self_agreement\[([^],]*),[^]]*\]\.statistics\.(\w+)\.",
        r"parts[self_agreement].\2[\1].",
    ),
    ("agreement", r"^against_gold\[([^]]*)\]\.statistics\.(\w+)\.", r"parts[against_gold].\2[\1]."),
    ("agreement", r"^classes\[([^]]*)\]\.(precision|recall|f1)\.", r"parts[classes].\2[\1]."),
    ("agreement", r"^anchoring\.(\w+)\.", r"parts[anchoring].moved[\1]."),
    ("compare versions", r"^counts\.change\.", "change."),
    ("compare versions", r"^counts\.(\w+)$", r"\1.value"),
    ("compare versions", r"^changes\.(\w+)\.", r"\1_change."),
    ("compare versions", r"^as_wrong\.change\.", "change[unusable verdicts as wrong]."),
    ("compare versions", r"^as_wrong\.(\w+)$", r"\1[unusable verdicts as wrong].value"),
    ("compare versions", r"^(answers|differing|unlabelled|evidence_groups)$", r"about.counts.\1"),
    ("compare versions", r"^even_labels$", "even_labels.value"),
    ("compare versions", r"^unusable\.(.+)$", r"unusable[\1].value"),
    ("compare versions", r"^left_out\.", "about.left_out."),
    ("compare versions", r"\.values\.a$", ".values.first"),
    ("compare versions", r"\.values\.b$", ".values.second"),
    ("compare (pairs|judges)", r"^groups\[all,overall\]\.counts\.(\w+)$", r"\1.value"),
    ("compare (pairs|judges)", r"^groups\[all,overall\]\.people_split$", "people_split.value"),
    (
        "compare (pairs|judges)",
        r"^groups\[([^],]*),overall\]\.people_split$",
        r"people_split[\1].value",
    ),
    ("compare (pairs|judges)", r"^groups\[all,overall\]\.(?=\w+\.)", ""),
    ("compare (pairs|judges)", r"^groups\[([^],]*),overall\]\.counts\.(\w+)$", r"\2[\1].value"),
    ("compare (pairs|judges)", r"^groups\[([^],]*),overall\]\.(\w+)\.", r"\2[\1]."),
    (
        "compare (pairs|judges .*--unit pairs)",
        rf"^((?!rankings)\w+(?:\[[^]]*\])?)\.{_KEY}",
        r"aspects[overall,query_type].\1.\2",
    ),
    ("test audit", r"^(precision|recall)\.", r"marks_\1."),
    ("test audit", r"^tp$", "n[wrong, marked wrong].value"),
    ("test audit", r"^fn$", "n[wrong, not marked].value"),
    ("test audit", r"^fp$", "n[right, marked wrong].value"),
    ("test audit", r"^tn$", "n[right, not marked].value"),
    ("test audit", r"^(audited|marked|graded|flags_raised)$", r"about.counts.\1"),
    ("test audit", r"^where\b", "about.where"),
    ("test audit", r"^judge_version$", "about.judges[0]"),
    ("test audit", r"^supreme_version$", "about.judges[1]"),
    ("suite", r"^(cases\[.*\.dimensions\.\w+)\.score$", r"\1.value"),
    # Self-reference: a gate, a level of agreement and a category are slices.
    ("compare ssr", r"^conditions\.A\.", "conditions.without."),
    ("compare ssr", r"^conditions\.B\.", "conditions.always."),
    ("compare ssr", r"^conditions\.C\.", "conditions.selective."),
    ("compare ssr", rf"^conditions\.(\w+)\.accuracy\.{_KEY}", r"\1.\2"),
    ("compare ssr", rf"^conditions\.(\w+)\.on\.{_KEY}", r"\1[Gate on].\2"),
    ("compare ssr", rf"^conditions\.(\w+)\.off\.{_KEY}", r"\1[Gate off].\2"),
    ("compare ssr", r"^gain\.A\.", "gain_without."),
    ("compare ssr", r"^gain\.B\.", "gain_always."),
    ("compare ssr", r"^gate\.on_rate\.", "gate_on."),
    ("compare ssr", r"^gate\.precision\.", "right_if_on."),
    ("compare ssr", r"^samples\.mean\.", "sample_right."),
    ("compare ssr", r"^samples\.(best|majority)\.", r"sample_\1."),
    ("compare ssr", r"^items$", "n.n"),
    ("compare ssr", r"^judge$", "about.judges[0]"),
    ("compare ssr", r"^tuned\.accuracy\.", "parts[tuned].selective."),
    ("compare ssr", r"^tuned\.categories\[(\w+)\]\.accuracy\.", r"parts[tuned].selective[\1]."),
    ("compare ssr", r"^tuned\.categories\[(\w+)\]\.agree$", r"parts[tuned].needed[\1].value"),
    *(
        ("compare ssr", rf"^slices\[{place}\]\.(\w+)\.{_KEY}", rf"\1[{name}].\2")
        for place, name in enumerate(
            f"Gate {gate}, own answer {right}"
            for gate, right in product(("on", "off"), ("right", "wrong"))
        )
    ),
    ("compare ssr", r"^categories\[(\w+)\]\.gate\.on_rate\.", r"parts[by_category].gate_on[\1]."),
    (
        "compare ssr",
        r"^categories\[(\w+)\]\.gate\.precision\.",
        r"parts[by_category].right_if_on[\1].",
    ),
    ("compare ssr", rf"^categories\[(\w+)\]\.(\w+)\.{_KEY}", r"parts[by_category].\2[\1].\3"),
    *(
        (
            command,
            rf"^{older.format(k - level if older[0] == 'c' else level - 1)}",
            f"parts[{part}[{level} of {k}].",
        )
        for k, command in ((5, "compare ssr(?!.* --k)"), (3, "compare ssr.* --k 3"))
        for level in range(1, k + 1)
        for older, part in (
            (r"calibration\[{}\]\.share\.", "right_by_level].own_right"),
            (r"sweep\[{}\]\.gate\.on_rate\.", "other_gates].gate_on"),
            (r"sweep\[{}\]\.gate\.precision\.", "other_gates].right_if_on"),
            (r"sweep\[{}\]\.scores\.accuracy\.", "other_gates].selective"),
        )
    ),
    ("trends", r"^lines\[([^]]*)\]\.before\.", r"bad_before[\1]."),
    ("trends", r"^lines\[([^]]*)\]\.after\.", r"bad_since[\1]."),
    ("trends", r"^lines\[([^]]*)\]\.change\.change\.", r"change[\1]."),
    ("trends", r"^lines\[([^]]*)\]\.change\.seen$", r"detectable[\1].value"),
    ("trends", r"^(bad_before|bad_since|change|detectable)\[All answers\]", r"\1"),
    ("labels stand", r"^judge_version$", "about.judges[0]"),
    ("labels rate", r"^judge_version\.title$", "about.judges[0]"),
    ("labels (rate|stand)", r"^left_out\.", "about.left_out."),
    ("labels rate", r"^slices\[(.*?),(?:label|groundedness|quality)\]", r"slices[\1]"),
    # Shares of bad answers: numbers of a slice were a record of the slice.
    ("labels rate", rf"{_SLICED}(value|low|high|reason)$", r"bad_answers\1.\2"),
    ("labels rate", rf"{_SLICED}judge_share\.{_KEY}", r"judge_alone\1.\2"),
    ("labels rate", rf"{_SLICED}labels_only\.{_KEY}", r"labels_alone\1.\2"),
    ("labels rate", rf"{_SLICED}in_all_answers\.(\w+)\.{_KEY}", r"\2\1.\3"),
    ("labels rate", rf"{_SLICED}in_graded_answers\.(\w+)\.{_KEY}", r"graded_\2\1.\3"),
    ("labels rate", rf"{_SLICED}people_alpha\.{_KEY}", r"people_alpha\1.\2"),
    ("labels rate", rf"{_SLICED}design_effect$", r"design_effect\1.value"),
    ("labels rate", rf"{_SLICED}n_labelled$", r"labels\1.value"),
    ("labels rate", rf"{_SLICED}n_answers$", r"answers\1.value"),
    ("labels rate", rf"{_SLICED}bounds\[0\]$", r"bounds\1.low"),
    ("labels rate", rf"{_SLICED}bounds\[1\]$", r"bounds\1.high"),
    ("labels rate", r"^extras$", "about.counts.labels_not_counted"),
    ("labels rate", r"^groups$", "about.counts.evidence_groups"),
    ("labels rate", r"^(grade|by)$", r"about.\1"),
    ("labels rate.* --grade (groundedness|quality)", r"^bad_answers\b", "mean"),
    ("labels rate.* --grade (groundedness|quality)", r"^(judge|labels)_alone\b", r"\1_mean"),
    # Thresholds: a threshold is a slice.
    ("labels threshold", r"^thresholds\[\]", "thresholds[groundedness,threshold]"),
    (
        "labels threshold",
        rf"^(thresholds\[.*?\])\.cost_change\.{_KEY}",
        r"\1.cost_change[chosen].\2",
    ),
    (
        "labels threshold",
        r"^(thresholds\[.*?\])\.test\.(n|design_effect)$",
        r"\1.design_effect[chosen].\2",
    ),
    (
        "labels threshold",
        r"^(thresholds\[.*?\])\.design_effect\[chosen\]\.design_effect$",
        r"\1.design_effect[chosen].value",
    ),
    (
        "labels threshold",
        r"^(thresholds\[.*?\])\.test\.threshold$",
        r"\1.tested_badness[chosen].value",
    ),
    ("labels threshold", r"^(thresholds\[.*?\])\.test\.wrong$", r"\1.tested_wrong[chosen].value"),
    (
        "labels threshold",
        r"^(thresholds\[.*?\])\.test\.bound$",
        r"\1.tested_wrong_bound[chosen].value",
    ),
    (
        "labels threshold",
        r"^(thresholds\[[^]]*\])\.low_groundedness$",
        r"\1.low_groundedness[chosen].value",
    ),
    ("labels threshold", r"^left_out\.", "thresholds[groundedness,threshold].about.left_out."),
    ("labels threshold", r"\.in_force_held_out\.", ".in force, other half."),
    ("labels threshold", r"\.in_force\.", ".in force."),
    ("labels threshold", rf"\.({_THRESHOLD})\.change\.bad\.{_KEY}", r".bad_change[\1].\2"),
    ("labels threshold", rf"\.({_THRESHOLD})\.change\.flags$", r".flags_change[\1].value"),
    (
        "labels threshold",
        rf"\.({_THRESHOLD})\.(flagged|recall|precision|false_omission)\.{_KEY}",
        r".\2[\1].\3",
    ),
    (
        "labels threshold",
        rf"^(thresholds\[.*?\])\.({_THRESHOLD})\.(flags|excused|low_groundedness)$",
        r"\1.\3[\2].value",
    ),
    ("labels threshold", r"^(thresholds\[.*?\])\.labelled$", r"\1.about.counts.choosing"),
    ("labels threshold", r"^(thresholds\[.*?\])\.labelled_bad$", r"\1.about.counts.choosing_bad"),
    ("labels threshold", r"^(thresholds\[.*?\])\.judged$", r"\1.about.counts.judged"),
    ("labels threshold", r"^(thresholds\[.*?\])\.query_type$", r"\1.about.where.query_type"),
    # There is one stage only.
    ("labels stand", r"^labelled$", "about.counts.labels"),
    ("labels stand", r"^judged$", "about.counts.judged"),
    ("labels stand", r"^stages\[.*?\]\.confidence$", "confidence.value"),
    ("labels stand", r"^stages\[.*?\]\.test\.n$", "confidence.n"),
    ("labels stand", r"^stages\[.*?\]\.test\.wrong$", "tested_wrong.value"),
    ("labels stand", r"^stages\[.*?\]\.test\.bound$", "tested_wrong_bound.value"),
    ("labels stand", r"^stages\[.*?\]\.test\.design_effect$", "design_effect.value"),
    # Plans: a stratum is a slice.
    ("labels plan", r"\.strata\[no", ".strata[not flagged"),
    ("labels plan", r"\.strata\[yes", ".strata[flagged"),
    (
        "labels plan",
        r"\.strata\[(not flagged|flagged)\]",
        r".strata[\1, judged good or no usable verdict]",
    ),
    ("labels plan", r"\.strata\[(not flagged|flagged),(\w+)\]", r".strata[\1, judged \2]"),
    ("labels plan", r"\.strata(\[.*?\])\.labels$", r".more\1.value"),
    (
        "labels plan",
        r"\.strata(\[.*?\])\.(answers|labelled|inclusion_probability)$",
        r".\2\1.value",
    ),
    (
        "labels plan",
        rf"{_PLAN}(answers|labelled|labels|more|reach|shows|by_lot|explained)$",
        r"\1.\2.value",
    ),
    ("labels plan", rf"{_PLAN}(minutes|design_effect|correlation)$", r"\1.\2.value"),
    ("labels plan", rf"{_PLAN}share$", r"\1.bad_share.value"),
    ("labels plan", rf"{_PLAN}correlation_from$", r"\1.correlation.reason"),
    ("labels plan", rf"{_PLAN}extras$", r"\1.about.counts.extras"),
    ("labels plan", rf"{_PLAN}question$", r"\1.about.grade"),
    ("labels plan", rf"{_PLAN}name$", r"\1.about.where.query_type"),
    ("labels plan", rf"{_PLAN}conditions", r"\1.about.where.conditions"),
)

MOVED: Sequence[Known] = (
    Known(
        "labels rate",
        r"^bad_answers\b.*\.(low|high)$",
        "its bounds, where few answers have no label",
        added=True,
    ),
    Known(
        "agreement|labels rate|compare judges|trends --.*--corrected|stats",
        r"^(agreement|accuracy|kappa|ac1|sensitivity|specificity|precision|f1|macro_recall|mcc)(\[.*\])?\.(low|high)$"
        r"|(\bstatistics\.\w+|in_all_answers\.\w+|^wrong_together|\.rates\[.*\]\.(sensitivity|specificity)\[\d\])\.(low|high)$",
        "labels that are all alike in a stratum count with their own degrees of freedom, so no interval is too wide",
        narrower=True,
    ),
    Known(
        "(agreement|labels rate) --judge-version track_a_deberta.* --by generator",
        r"^(slices\[gpt-3\.5-turbo-0613\b.*\.)?(agreement|accuracy|kappa|mcc|specificity)"
        r"(\[gpt-3\.5-turbo-0613\])?\.(low|high)$",
        "for the same reason, but a stratum with 2 labels, which are alike, leaves few degrees of freedom: wider",
    ),
    Known("stats", r"\.(method|unit)$", "rows have no method; the docs name it"),
    Known(
        "compare pairs --recorded",
        r"^(fingerprint|account\.\w+)$",
        "without a version, the newest one that compared pairs is measured, and the figures say so",
    ),
)

GONE: Sequence[Known] = (
    Known(
        "compare versions",
        r"(^|\.)(method|unit|level)$",
        "rows have no method; the docs name it",
    ),
    Known(
        "compare ssr|test audit",
        r"(^|\.)(method|unit|level)$",
        "rows have no method; the docs name it",
    ),
    Known(
        "test audit",
        r"^supreme_model$|^draws\b",
        "the judge version has the model; a caveat has the draws",
    ),
    Known(
        "compare ssr",
        r"^samples\.pass_at|^(calls_planned|from_without|tau|model)$|^(slices|sweep|calibration|categories|tuned\.categories)\[\w+\]\.\w+(\[\d+\])?$"
        r"|^sweep\[\d+\]\.scores\.|^tuned\.optimistic$",
        "--k measures pass@j; slices have the names; a gate is measured alone",
    ),
    Known(
        "compare ssr",
        r"^(ties|ties_on|no_\w+|\w+_samples|forgotten|other_reference)$|\.(splits|unmeasured|not_asked)$|\.(n|reason)$",
        "caveats have the counts that are not 0; the part of the verdicts; no figure of an empty part",
    ),
    Known(
        "compare versions",
        r"^exit_code$|^conclusion\[|^alone$",
        "it follows from the other values",
    ),
    Known(
        "agreement",
        r"(^|\.)(method|unit|level|left_out\[.*)$",
        "rows have no method; the docs name it",
    ),
    Known("agreement", r"^(human|inconsistent|unusable)$", "these are options of the command"),
    Known(
        "agreement",
        r"^(judge_versions|shortened|self_agreement|against_gold|rater_pairs|classes)\b",
        "parts and about have it",
    ),
    Known("agreement", r"^slices\[[^]]*\]\.(name|weighted|alt_test)", "the slices have the names"),
    Known(
        "compare (pairs|judges)", r"\.(method|unit|level)$", "rows have no method; the docs name it"
    ),
    Known(
        "compare (pairs|judges)",
        r"\.(slice|aspect|by|compared_with|one_order|inconsistent_as|model)$|^where",
        "slices, about and caveats have it",
    ),
    Known(
        "compare (pairs|judges)",
        r"\b((people|accuracy)_(orders_mean|consistent)|leans_)",
        "there is no such preference, or only one order",
    ),
    Known("compare (pairs|judges)", r"^rankings\b", "models are no longer ranked"),
    Known("compare versions", r"^unusable\[", "none of the verdicts is unusable"),
    Known(
        "compare (versions|sources)",
        r"^(a|b|by|judge|first|second)$",
        "the names stand in sides and in about",
    ),
    Known(
        "trends .*--before",
        r"^(before|after)\[|^tested$|^judge$|\.query_type$",
        "sides, about and slices have them",
    ),
    Known("trends .*--before", r"\.(method|unit|level)$", "rows have no method; the docs name it"),
    Known(
        "labels",
        r"\.(level|unit|left_out\[\d+\]\[\d\])$",
        "each interval of a row is a 95 % interval; the docs name units",
    ),
    Known("labels rate", r"judge_version\.fingerprint$", "the title of a version tells it apart"),
    Known(
        "labels rate",
        r"^slices\[.*\]\.(grade|target|is_random|extras|groups|strata\[.*)",
        "slices have rows alone",
    ),
    Known(
        "labels rate",
        r"^bounds\b",
        "the interval of a share without a value, where few answers have no label",
    ),
    Known(
        "labels rate.* --labels-from",
        r"^(people_alpha|labels)\.",
        "the labels are those of other answers",
    ),
    Known("agreement", r"^notes\[", "the codes of caveats are new"),
    Known(
        "labels stand",
        r"\.test\.threshold$|^(delta|agreement_wanted|confident)$",
        "the option, or the figure no_review",
    ),
    Known("labels", r"\.method$", "a row names no method; docs/methods names it"),
    Known("labels rate", r"\bwarnings\[", "the codes of caveats are new"),
    Known(
        "labels rate",
        r"^slices\[.*\]\.left_out\.|(^|\.)name$",
        "about names what the whole result leaves out",
    ),
    Known(
        "labels rate",
        r"\bto_label\.",
        "the next step of a slice is no row; that of all answers is in next",
    ),
    Known(
        "labels plan",
        r"\.(target|enough|is_rough|seconds_per_review)$",
        "the headline says it, and the option",
    ),
    Known("labels plan .*--by", r"conditions\[0\]$", "about names the query type"),
    Known("labels threshold", r"\babout\.left_out\.", "each query type has its own"),
    Known(
        "labels threshold",
        r"(^|\.)(is_kept|label_differs|decides_verdicts)$|^in_force\.",
        "codes of headline and caveats",
    ),
    Known("labels plan", r"\.strata\[.*\]\.(picked|verdict)$", "the name of the slice says it"),
    Known(
        "agreement|labels rate",
        r"\.?((graded_)?scott_pi|weighted_f1|ac2|linear_kappa|mean_linear_kappa|auprc|pooled_agreement|agreement_without_ties"
        r"|(kappa|accuracy)_[ab]_first|(upper|lower)_limit|(pearson|spearman|kendall)_(within|between)"
        r"|icc_(consistency|agreement|agreement_mean)|mean_(kappa|weighted_kappa|pearson|spearman|kendall))(\[.*\])?\.",
        "no page shows this statistic first, and no published figure needs it",
    ),
    Known(
        "labels stand",
        r"^stages\[[^]]*\]\.(confident|judge_version)$",
        "there is one stage, with the figures of all",
    ),
)

# Keys whose values differ by nature, such as the time of a run.
NOT_COMPARED = frozenset({"at", "last_seen", "retired_at"})

# What the rows of a list are about. A list whose rows cannot be told apart by these is compared in
# its order.
ABOUT = (
    *(
        "figure",
        "slice",
        "name",
        "title",
        "number",
        "judge",
        "judge_version",
        "of",
        "grade",
        "query_type",
    ),
    *(
        "by",
        "group",
        "period",
        "start",
        "day",
        "picked",
        "verdict",
        "is_later",
        "flag_id",
        "run",
        "measure",
    ),
    *(
        "aspect",
        "kind",
        "threshold",
        "model",
        "person",
        "a",
        "b",
        "people",
        "first",
        "second",
        "category",
    ),
)

COMMANDS = Path(__file__).with_suffix(".txt")
DETECTORS = (
    "track_b_modernbert",
    "track_a_deberta",
    "approach_1_modernbert",
)  # all but the second give scores


@dataclass
class Comparison:
    """What the two installations printed for one database; a value is named by its command and its path."""

    commands: int = 0
    refused: list[str] = field(default_factory=list)
    equal: int = 0
    moved: dict[tuple[str, str], tuple[Leaf, Leaf]] = field(default_factory=dict)
    gone: dict[tuple[str, str], Leaf] = field(default_factory=dict)
    new: Counter[str] = field(default_factory=Counter)

    def add(self, command: str, older: Mapping[str, Leaf], today: Mapping[str, Leaf]) -> None:
        """Compare what one command printed."""
        self.commands += 1
        if older == today == {"exit code": 2}:
            self.refused.append(command)
        older = {today_path(command, path): value for path, value in older.items()}
        for path, value in older.items():
            if path in today:
                if same(value, today[path]):
                    self.equal += 1
                else:
                    self.moved[command, path] = value, today[path]
            elif value is not None:
                self.gone[command, path] = value
        # A new key is one line, however many rows have it.
        name = re.sub(" -.*", "", command)
        self.new.update(f"{name}: {without_rows(path)}" for path in today.keys() - older.keys())

    def unknown(self) -> Iterator[str]:
        """Yield a line for each difference that has no known reason."""
        for (command, path), (older, today) in self.moved.items():
            if not any(known.covers(command, path, older, today) for known in MOVED):
                yield f"moved: {command}: {path}: {older} -> {today}"
        for (command, path), older in self.gone.items():
            if not any(known.covers(command, path) for known in GONE):
                yield f"gone: {command}: {path}: {older}"


def main() -> int:
    """Compare each database, print the differences, and fail if one has no known reason."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("older", type=Path, help="Python of the older installation")
    parser.add_argument(
        "--shared", type=Path, help="folder with the folder `data` of logs that people labelled"
    )
    parser.add_argument(
        "--only", action="append", choices=DATABASES, help="compare this database; may be repeated"
    )
    parser.add_argument(
        "--keep", type=Path, help="folder that keeps what the older installation wrote and printed"
    )
    asked = parser.parse_args()
    names = asked.only or (DATABASES if asked.shared else [DEMO])
    if not asked.shared and names != [DEMO]:
        parser.error("these databases need --shared")
    failed = False
    with TemporaryDirectory() as folder:
        for name, commands in commands_by_database(COMMANDS.read_text()).items():
            if name not in names:
                continue
            kept = (asked.keep or Path(folder)).absolute()
            comparison = compare(name, commands, asked.older.absolute(), kept, asked.shared)
            unknown = list(comparison.unknown())
            failed |= bool(unknown)
            report(name, comparison, unknown)
    return int(failed)


def compare(
    name: str, commands: Sequence[str], older: Path, kept: Path, shared: Path
) -> Comparison:
    """Let both installations print the figures of one database."""
    database, printed = kept / f"{name}.db", kept / f"{name}.json"
    kept.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, ThreadPoolExecutor() as both:
        if not database.exists():
            DATABASES[name](older, Path(folder) / "written.db", shared)
            shutil.move(Path(folder) / "written.db", database)
        untouched, migrated = Path(folder) / "older.db", Path(folder) / "today.db"
        shutil.copyfile(database, untouched)
        shutil.copyfile(database, migrated)
        of_older = json.loads(printed.read_text()) if printed.exists() else {}
        if missing := not of_older.keys() >= set(commands):
            forms = [OLDER_FORMS.get(command, command) for command in commands]
            asked = both.submit(run, older, untouched, forms, "--json")
        write(Path(sys.executable), migrated, "db migrate")
        of_today = run(Path(sys.executable), migrated, commands, "--json")
        if missing:
            of_older = dict(zip(commands, asked.result(), strict=True))
            printed.write_text(json.dumps(of_older))
    comparison = Comparison()
    for command, today in zip(commands, of_today, strict=True):
        comparison.add(command, values_of(of_older[command]), values_of(today))
    return comparison


def demo(older: Path, database: Path, _shared: Path) -> None:
    """The sample data."""
    write(older, database, "quickstart --no-serve")


def whole(older: Path, database: Path, shared: Path) -> None:
    """RAGTruth's answers, of which people labelled every one, and a second person every fifth."""
    ragtruth(older, database, shared)
    second = [
        row | {"annotator": "second", "label": "hallucinated" if number % 7 == 0 else row["label"]}
        for number, row in enumerate(rows_of(shared, "ragtruth.human")[::5])
    ]
    write(
        older,
        database,
        f"import {shared_file(shared, 'ragtruth.human')} --kind grades",
        f"import {file_of(database, 'second', second)} --kind grades",
    )


def sampled(older: Path, database: Path, shared: Path) -> None:
    """RAGTruth's answers with the labels of queues: drawn at random by strata, at random, and worst first."""
    ragtruth(older, database, shared)
    labels = {row["response_id"]: row for row in rows_of(shared, "ragtruth.human")}
    for name, options, limit in (
        ("rates", "--plan rate --n 400 --judge-version track_b_modernbert", 300),
        ("random", "--all-answers --order random --limit 150 --where query_type=QA", 150),
        ("worst", "--preset worst", 40),
        (
            "differ",
            "--plan judges --n 120 --judge-version track_b_modernbert --judge-version track_a_deberta",
            120,
        ),
    ):
        file = database.parent / f"{name}.jsonl"
        write(
            older,
            database,
            f"queue create {name} {options} --assign Mara",
            f"queue export {name} {shlex.quote(str(file))} --reviewer Mara --limit {limit}",
        )
        head, *items = map(json.loads, file.read_text().splitlines())
        for number, item in enumerate(items):
            label = labels[item["id"]]
            item["decision"] = "confirm" if label["label"] == "hallucinated" else "dismiss"
            item |= {
                "label": label["label"],
                "groundedness": label["groundedness"],
                "seconds": 20 + number % 40,
            }
        write(older, database, f"queue merge {file_of(database, name, [head, *items])}")


def pairs(older: Path, database: Path, shared: Path) -> None:
    """Pairs with several people: two judges in one order, and one asked two ways in both orders."""
    write(
        older,
        database,
        f"import {shared_file(shared, 'pandalm.pairwise')} --kind pairs --source pandalm",
        f"import {shared_file(shared, 'cragc25.responses')} --source cragc25",
        f"import {shared_file(shared, 'cragc25.pairwise')} --kind pairs --source cragc25",
    )


def scores(older: Path, database: Path, shared: Path) -> None:
    """Four assistants with a judge's scores, some of whose answers people scored; and a judge that was asked thrice."""
    answers = rows_of(shared, "cje_arena.responses")
    files = {
        "responses": [
            {key: row[key] for key in ("id", "query", "answer")} | {"model": row["policy"]}
            for row in answers
        ],
        "verdicts": [
            {"response_id": row["id"], "judge": "scorer", "groundedness": row["judge_score"]}
            for row in answers
            if row["judge_score"] is not None
        ],
        "grades": [
            {"response_id": row["id"], "annotator": "people", "groundedness": row["label"]}
            for row in answers
            if row["label"] is not None
        ],
    }
    write(
        older,
        database,
        *(f"import {file_of(database, kind, rows)} --kind {kind}" for kind, rows in files.items()),
        f"import {shared_file(shared, 'prometheus.samples')} --kind repeats --source prometheus",
    )


# Name in equal_figures.txt -> what writes the database.
DEMO = "demo"
DATABASES: Mapping[str, Callable[[Path, Path, Path], None]] = {
    DEMO: demo,
    "whole": whole,
    "sampled": sampled,
    "pairs": pairs,
    "scores": scores,
}


def ragtruth(older: Path, database: Path, shared: Path) -> None:
    """Store RAGTruth's answers over twenty weeks, with the verdicts of three detectors."""
    begin = datetime(2026, 1, 5, tzinfo=UTC)
    answers = [
        row | {"asked_at": (begin + timedelta(hours=number * 1.15)).isoformat()}
        for number, row in enumerate(rows_of(shared, "ragtruth.responses"))
    ]
    verdicts = [row for row in rows_of(shared, "ragtruth.judgements") if row["judge"] in DETECTORS]
    write(
        older,
        database,
        f"import {file_of(database, 'answers', answers)}",
        f"import {file_of(database, 'verdicts', verdicts)} --kind verdicts",
    )


def shared_file(shared: Path, name: str) -> str:
    """Return the path of a file of the shared folder, as a command takes it."""
    return shlex.quote(str(shared.absolute() / "data" / f"{name}.jsonl.gz"))


def rows_of(shared: Path, name: str) -> list[dict[str, Any]]:
    """Read a file of the shared folder."""
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def file_of(database: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows beside a database, and return the path of the file."""
    file = database.parent / f"{name}.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return shlex.quote(str(file))


def report(name: str, comparison: Comparison, unknown: Sequence[str]) -> None:
    """Print the differences of one database: first those without a known reason."""
    print(*unknown, sep="\n")
    for title, table, differing in (
        ("moved", MOVED, comparison.moved),
        ("gone", GONE, comparison.gone),
    ):
        for known in table:
            if count := sum(known.covers(*place) for place in differing):
                print(f"{title}, known: {count} of {known.command}: {known.path}: {known.reason}")
    for place, count in sorted(comparison.new.items()):
        print(f"new: {place} ({count})")
    for command in comparison.refused:
        print(f"refused by both: {command}")
    print(
        f"{name}: {comparison.commands} commands, {comparison.equal:,} values equal, {len(comparison.moved)} moved, "
        f"{len(comparison.gone)} gone; {len(unknown)} without a known reason",
        flush=True,
    )


def write(python: Path, database: Path, *commands: str) -> None:
    """Run commands that write a database; each must succeed."""
    for command, (code, _, errors) in zip(commands, run(python, database, commands), strict=True):
        if code:
            raise SystemExit(f"{python}: {command}: {errors}")


def run(python: Path, database: Path, commands: Sequence[str], *options: str) -> list[Printed]:
    """Run commands in one process of an installation; return the exit code, the output and the errors of each."""
    process = subprocess.run(
        [python, "-c", RUNNER],
        input=json.dumps(
            [[*shlex.split(command), *options, "--db", str(database)] for command in commands]
        ),
        capture_output=True,
        text=True,
        check=False,
        cwd=database.parent,
        env={
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("JUDGEBOARD_", "OPENAI_"))
        },
    )
    if process.returncode:
        raise SystemExit(f"{python}: {process.stderr}")
    return [json.loads(line) for line in process.stdout.splitlines()]


def values_of(printed: Printed) -> dict[str, Leaf]:
    """Return the values that a command printed, by path."""
    code, output, _ = printed
    return {"exit code": code} | dict(leaves(json.loads(output or "{}")))


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Yield the values of a tree with their paths; sentences are no values."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key not in NOT_COMPARED:
                yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(tree, list):
        parts = [each["headline"]["code"] for each in tree] if path == "parts" else names_of(tree)
        for name, row in zip(parts, tree, strict=True):
            if isinstance(row, dict) and "figure" in row:
                of_slice = "" if row["slice"] is None else f"[{row['slice']}]"
                result = f"{path.rpartition('.')[0]}." if "." in path else ""
                yield from leaves(row, f"{result}{row['figure']}{of_slice}")
            else:
                yield from leaves(row, f"{path}[{name}]")
    elif (
        tree is None or isinstance(tree, int | float) or (isinstance(tree, str) and " " not in tree)
    ):
        yield path, tree


def names_of(rows: Sequence[object]) -> list[str]:
    """Return a name for each row of a list: what the row is about, if that tells all rows apart, else its number."""
    names = [
        ",".join(
            str(about[key]) for key in ABOUT if not isinstance(about.get(key), dict | list | None)
        )
        for row in rows
        if isinstance(row, dict)
        for about in [row.get("about", {}).get("where") or {**row, **row.get("about", {})}]
    ]
    return names if len(set(names)) == len(rows) else [str(number) for number in range(len(rows))]


def today_path(command: str, path: str) -> str:
    """Return how a path of the older JSON is written today."""
    for of_command, older, today in RENAMED:
        if re.match(of_command, command):
            path = re.sub(older, today, path)
    return path


def without_rows(path: str) -> str:
    """Return a path without the names of rows."""
    return re.sub(r"\[.*?\]", "[]", path)


def same(older: Leaf, today: Leaf) -> bool:
    """Whether two values are equal; numbers within the tolerance."""
    if (
        isinstance(older, int | float)
        and isinstance(today, int | float)
        and not isinstance(older, bool)
    ):
        return math.isclose(older, today, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return older == today


def commands_by_database(text: str) -> dict[str, list[str]]:
    """Return the commands of each database, once for each combination of their alternatives."""
    commands: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.endswith(":"):
            of_database = commands[line[:-1]] = []
        elif line and not line.startswith("#"):
            parts = [
                part[1:-1].split("|") if part[0] == "[" else [part]
                for part in re.findall(r"\[.*?\]|[^\[]+", line)
            ]
            of_database += [" ".join("".join(chosen).split()) for chosen in product(*parts)]
    return commands


if __name__ == "__main__":
    sys.exit(main())
