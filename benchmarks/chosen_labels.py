"""Measures whether figures of all answers hold the truth if people chose many of the answers that they label.

RAGTruth's answers with the verdicts of seven judges. In each draw, people label the answers that
the judge calls bad and a random share of all answers, and the product's interval of each statistic
of all answers is compared with the figure of all labels. The same figure on the labelled answers
alone, which earlier releases showed, stands beside.

Then the flagged answers are worked worst first, and left after a third. These labels came by no
known chance, so no figure of all answers may rest on them. The product advises a planned queue. It
is drawn as the product draws it, with answers that have a label and others, and reviewed completely
or to two thirds. The figures then describe these answers (``--target these``).

For the same judge, thresholds are measured as `judgeboard labels threshold` measures them: on all
labels, and on the labels of half of the evidence groups, drawn anew each time. Costs are compared
at fixed thresholds, and at those that the product chooses as the cheapest: there, the error of the
change is compared with 0.

Last, the judge whose flags are labelled is compared with each other judge, as `judgeboard compare
versions` does: the intervals of the changes, and how many draws reach a conclusion that all labels
contradict.

    python benchmarks/chosen_labels.py --data FOLDER [--draws 2000] [--seed 0]

FOLDER contains ``ragtruth.responses.jsonl.gz``, ``ragtruth.human.jsonl.gz`` and
``ragtruth.judgements.jsonl.gz``. Exits 1 if an interval holds the figure of all labels in less than
93 % of the draws with a share of 5 %, if an exact binomial test with the level 0.05 / cells shows
this for another setting, if there is a figure after a third of the flags, or if more than 5 % of
the draws of a comparison reach a wrong conclusion.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from interval_coverage import LEVEL, LIMITS, Cell
from narrow_settings import ends_of
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.imports.importing import import_file
from judgeboard.measure.all_answers import in_all_answers
from judgeboard.measure.result import ALL
from judgeboard.measure.samples import LabelledAnswers
from judgeboard.measure.scored_labels import ScoredSample, flag_from, load_sample
from judgeboard.measure.threshold_figures import ThresholdFigures
from judgeboard.measure.thresholds import CHOSEN, Goal, replayed, threshold_result
from judgeboard.measure.versus import BothJudged, Contrast, compare_verdicts
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.paired import Conclusion
from judgeboard.stats.rates import summed, weighted_agreement
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.opening import open_store
from judgeboard.store.strata import BAD, DrawPlan, draw_by_stratum
from judgeboard.store.tables import StoredVersion

SHARE = 0.05
FEW = (0.006, 0.02)  # smaller samples of the rest, for one judge
FEW_OF_THRESHOLDS = (0.008, 0.02)
THRESHOLDS = (0.5, 0.2)  # on groundedness: that in force, and one that flags fewer answers
OTHERS = (0.05, 0.2, 0.4, 0.8, 0.95)  # thresholds whose cost is compared with that in force
COSTS = (0.5, 1.0, 5.0)  # of a missed bad answer, for which the product chooses a threshold
MOST_WRONG = 0.05  # of the draws
PLANNED, PARTS = 200, (1, 2 / 3)  # answers of a planned queue, and how much of it is reviewed
JUDGE = "track_b_modernbert"
FILES = {"responses": "responses", "grades": "human", "verdicts": "judgements"}


@dataclass(slots=True)
class Setting:
    """A setting with what it showed of each statistic; ``required``: 93 % is a plain bound."""

    name: str
    truth: Mapping[str, Estimate]
    required: bool = False
    cells: dict[str, Cell] = field(default_factory=lambda: defaultdict(Cell))
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    alone: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, statistics: Mapping[str, Estimate], graded: Mapping[str, Estimate]) -> None:
        """Count the intervals of one draw; ``graded`` are the figures of the labelled answers alone."""
        for name, each in statistics.items():
            of_graded = graded[name].value if name in graded else None
            interval = ends_of(each)
            self.cells[name].add(interval, self.truth[name].value, each.value)
            if interval is not None and each.value is not None:
                self.values[name].append(each.value)
            self.alone[name].append(np.nan if of_graded is None else of_graded)

    def show(self, draws: int) -> None:
        """Print a line for each statistic."""
        print(self.name.replace("%", " %"))
        for name, cell in self.cells.items():
            coverage = 100 * cell.held / cell.found if cell.found else np.nan
            print(
                f"  {name:12} {coverage:6.1f} {100 * cell.found / draws:4.0f} {self.truth[name].value or 0.0:6.3f} "
                f"{np.mean(self.values[name] or [np.nan]):6.3f} {np.nanmean(self.alone[name]):6.3f}",
                flush=True,
            )

    def failing(self, level: float) -> list[str]:
        """Return the statistics whose intervals do not hold."""
        return [
            name
            for name, cell in self.cells.items()
            if cell.found
            and (cell.held < LIMITS[0] * cell.found if self.required else not cell.holds(level))
        ]


def main() -> int:
    """Draw and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the RAGTruth files")
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(
        f"{asked.draws} draws: intervals that hold the figure of all labels, in %; draws with an interval, in %;"
    )
    print("figure of all labels, mean of the estimates, mean of the labelled answers alone")
    settings, figures = list[Setting](), 0
    for place, (connection, loaded) in enumerate(every_judge(asked.data)):
        is_one = loaded.version is not None and loaded.version.name == JUDGE
        for share in (SHARE, *FEW) if is_one else (SHARE,):
            rng = np.random.default_rng([asked.seed, place])
            settings.append(flagged_and_drawn(loaded, share, rng, asked.draws))
            settings[-1].show(asked.draws)
        if is_one:
            for share in (SHARE, *FEW_OF_THRESHOLDS):
                rng = np.random.default_rng([asked.seed, place])
                settings.append(of_thresholds(connection, loaded, share, rng, asked.draws))
                settings[-1].show(asked.draws)
            figures += worst_first(loaded, np.random.default_rng([asked.seed, place]), asked.draws)
    for connection, loaded in every_judge(asked.data, JUDGE):
        for part in PARTS:
            settings.append(then_planned(connection, loaded, part, asked.seed, asked.draws))
            settings[-1].show(asked.draws)
    wrong = 0
    for setting, times in every_comparison(asked.data, asked.seed, asked.draws):
        setting.show(asked.draws)
        print(f"  wrong conclusions: {100 * times / asked.draws:.1f} %")
        settings.append(setting)
        wrong += times > MOST_WRONG * asked.draws
    level = LEVEL / sum(bool(cell.found) for each in settings for cell in each.cells.values())
    failing = [
        f"{each.name}: {name}".replace("%", " %")
        for each in settings
        for name in each.failing(level)
    ]
    print(f"cells that fail: {len(failing)}", *failing, sep="\n  ")
    return int(bool(failing) or figures > 0 or wrong > 0)


def every_comparison(data: Path, seed: int, draws: int) -> Iterator[tuple[Setting, int]]:
    """Yield the comparison of the judge whose flags are labelled with each other judge."""
    connection, _ = next(judges := every_judge(data))
    versions = list_versions(connection)
    (first,) = (version for version in versions if version.name == JUDGE)
    for place, version in enumerate(versions):
        if version.id != first.id:
            yield compared(
                connection, (first, version), np.random.default_rng([seed, place]), draws
            )
    judges.close()


def every_judge(
    data: Path, only: str | None = None
) -> Generator[tuple[Connection, LabelledAnswers]]:
    """Yield the answers that each judge judged, with all labels of people; or those of one judge and its flags."""
    with TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "ragtruth.db", create=True)
        for kind, name in FILES.items():
            file = data / f"ragtruth.{name}.jsonl.gz"
            if kind == "verdicts" and only is not None:
                lines = gzip.decompress(file.read_bytes()).decode().splitlines()
                file = Path(folder) / "verdicts.jsonl"
                file.write_text(
                    "\n".join(line for line in lines if json.loads(line)["judge"] == only)
                )
            import_file(store, file, kind=kind, rejected=Path(folder) / "rejected.jsonl")
        with store.reading() as connection:
            for version in list_versions(connection):
                yield connection, LabelledAnswers(connection, version)


def flagged_and_drawn(
    loaded: LabelledAnswers, share: float, rng: np.random.Generator, draws: int
) -> Setting:
    """Return the coverage if all flagged answers and a share of all are labelled."""
    judged_bad: BoolArray = loaded.answers.verdicts == BAD
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    judge = "" if loaded.version is None else loaded.version.title
    setting = Setting(
        f"{judge}: {len(every):,} answers, {int(judged_bad.sum()):,} flagged, and {share:.1%} of all",
        alone(loaded),
        required=share == SHARE,
    )
    for _ in range(draws):
        drawn = rng.random(len(every)) < share
        label(loaded, every, labelled & (judged_bad | drawn), drawn)
        setting.add(in_all_answers(loaded).statistics, alone(loaded))
    label(loaded, every, labelled, np.zeros(len(every), dtype=np.bool_))
    return setting


def of_thresholds(
    connection: Connection,
    loaded: LabelledAnswers,
    share: float,
    rng: np.random.Generator,
    draws: int,
) -> Setting:
    """Return the coverage of what thresholds do if all answers flagged today and a share of all are labelled."""
    judged_bad: BoolArray = loaded.answers.verdicts == BAD
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    version = loaded.version
    assert version is not None
    of_all_labels = load_sample(connection, [version], flags=True, loaded=loaded)

    def figures() -> dict[str, Estimate]:
        sample = load_sample(connection, [version], flags=True, loaded=loaded)
        labels, judged = sample.labels, sample.judged
        groups = np.unique(judged.groups)
        half = groups[rng.random(len(groups)) < 0.5]
        of_half = judged.at(np.isin(judged.groups, half))
        measured = {
            "all": ThresholdFigures(labels, judged),
            "half": ThresholdFigures(labels.at(np.isin(labels.groups, half)), judged, of_half),
        }
        shares = {
            f"{name} {figure} {threshold:g}": getattr(
                of.at(threshold, float(flag_from(threshold))), figure
            )
            for threshold in THRESHOLDS
            for name, of in measured.items()
            for figure in ("recall", "precision")
        }
        costs = {
            f"{name} cost {threshold:g}": of.at(
                threshold, float(flag_from(threshold))
            ).change.cost_per_answer(COSTS[0], judged.n)
            for threshold in OTHERS
            for name, of in measured.items()
        }
        return shares | costs | dict(errors_of_costs(sample, of_all_labels))

    truth = {name: each for name, each in figures().items() if name.startswith("all")}
    truth |= {f"half {name.removeprefix('all ')}": each for name, each in truth.items()}
    truth |= {f"chosen cost {cost:g}": Estimate(0.0) for cost in COSTS}
    setting = Setting(
        f"{version.title}: thresholds, {int(judged_bad.sum()):,} flagged, and {share:.1%}", truth
    )
    for _ in range(draws):
        drawn = rng.random(len(every)) < share
        label(loaded, every, labelled & (judged_bad | drawn), drawn)
        setting.add(figures(), {})
    label(loaded, every, labelled, np.zeros(len(every), dtype=np.bool_))
    return setting


def errors_of_costs(
    sample: ScoredSample, of_all_labels: ScoredSample
) -> Iterator[tuple[str, Estimate]]:
    """Yield for each cost the change that the product shows for the cheapest threshold, minus the change in truth."""
    for cost in COSTS:
        (chosen,) = threshold_result(sample, Goal("cost", cost))
        if CHOSEN not in chosen.slices:
            yield f"chosen cost {cost:g}", Estimate(None)
            continue
        change, setting = (
            chosen.figure(each, CHOSEN) for each in ("cost_change", "low_groundedness")
        )
        queue = replayed(of_all_labels, setting.value or 0.0).change
        true = queue.cost_per_answer(cost, of_all_labels.judged.n).value or 0.0
        value, low, high = (
            None if each is None else each - true
            for each in (change.value, change.low, change.high)
        )
        yield f"chosen cost {cost:g}", Estimate(value, low, high, n=change.n)


def alone(loaded: LabelledAnswers) -> Mapping[str, Estimate]:
    """Return the figures of the labelled answers alone: each label stands for its own answer."""
    rows = loaded.labelled & loaded.usable
    one, values = np.zeros(int(rows.sum()), dtype=np.int64), loaded.values[rows]
    everything = np.ones(len(one), dtype=np.bool_)
    sums = summed(one, np.zeros(len(one)), np.arange(len(one)), 1, everything, values)
    return weighted_agreement(
        *sums, (loaded.answers.verdicts[rows] == BAD).astype(np.float64), "these"
    )


def compared(
    connection: Connection,
    versions: tuple[StoredVersion, StoredVersion],
    rng: np.random.Generator,
    draws: int,
) -> tuple[Setting, int]:
    """Return the coverage of the changes between two judges if all flagged answers and a share of all are labelled.

    The answers that the first judge calls bad are flagged. The number is that of wrong conclusions.
    """
    both = BothJudged(connection, versions)
    loaded = both.loaded
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    flagged: BoolArray = loaded.answers.verdicts == BAD
    of_all = both.compare()
    truth = of_all.figure("change").value or 0.0
    titles = f"{versions[0].title} and {versions[1].title}"
    setting = Setting(
        f"{titles}: {int(flagged.sum()):,} flagged, and {SHARE:.0%} of all", figures_of(of_all)
    )
    wrong = 0
    for _ in range(draws):
        drawn = rng.random(len(every)) < SHARE
        label(loaded, every, labelled & (flagged | drawn), drawn)
        made = both.compare()
        alone = compare_verdicts(
            made.sides,
            both.verdicts,
            labelled=loaded.labelled[both.rows],
            bad=loaded.values[both.rows] == 1,
            groups=loaded.answers.evidence_groups[both.rows],
            within=made.within,
        )
        setting.add(figures_of(made), figures_of(alone))
        is_right = {
            Conclusion.BETTER: truth > 0,
            Conclusion.WORSE: truth < 0,
            Conclusion.AS_GOOD: truth > -made.within,
            Conclusion.NOT_SHOWN: True,
        }
        wrong += not is_right[made.conclusion]
    return setting, wrong


def figures_of(made: Contrast) -> dict[str, Estimate]:
    """Return the changes between two judges: that of the share of right verdicts first."""
    figures = {row.figure: row.estimate for row in made.rows if row.slice is ALL}
    return {name: each for name, each in figures.items() if name.endswith("change")}


def worst_third(loaded: LabelledAnswers, flagged: BoolArray) -> BoolArray:
    """Return the third of the flagged answers with the lowest scores."""
    positions = np.flatnonzero(flagged)
    in_order = positions[np.argsort(loaded.answers.scores[positions], kind="stable")]
    worked: BoolArray = np.zeros(len(flagged), dtype=np.bool_)
    worked[in_order[: len(in_order) // 3]] = True
    return worked


def worst_first(loaded: LabelledAnswers, rng: np.random.Generator, draws: int) -> int:
    """Print how many draws have a figure of all answers after a third of the flagged ones, and return this number."""
    judged_bad: BoolArray = loaded.answers.verdicts == BAD
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    worked = worst_third(loaded, judged_bad)
    figures = 0
    for _ in range(draws):
        drawn = rng.random(len(every)) < SHARE
        label(loaded, every, labelled & (worked | (drawn & ~judged_bad)), drawn)
        in_all = in_all_answers(loaded)
        figures += any(each.value is not None for each in in_all.statistics.values())
    label(loaded, every, labelled, np.zeros(len(every), dtype=np.bool_))
    print(
        f"a third of the flagged, worst first, and {SHARE:.0%} of the rest: ".replace("%", " %"),
        end="",
    )
    print(f"{figures} of {draws} draws have a figure of all answers")
    return figures


def then_planned(
    connection: Connection, loaded: LabelledAnswers, part: float, seed: int, draws: int
) -> Setting:
    """Return the coverage if a third of the flagged answers is labelled worst first, then part of a planned queue.

    The flags and the random sample are those of the log, and nothing of the sample is reviewed for
    itself.
    """
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    worked = labelled & worst_third(loaded, loaded.picked)
    setting = Setting(
        f"a third of {int(loaded.picked.sum()):,} flagged, worst first, and {part:.0%} of a planned queue",
        alone(loaded),
    )
    rows = {id_: row for row, id_ in enumerate(loaded.answers.response_ids.tolist())}
    loaded.labelled, loaded.values = worked, np.where(worked, every, np.nan)
    loaded.classify()
    version = loaded.version
    assert version is not None
    plan = DrawPlan(version.id, version.title, np.unique(loaded.sample().response_ids))
    for draw in range(draws):
        _, drawn = draw_by_stratum(connection, RowFilter(), plan, PLANNED, f"{seed} {draw}")
        reviewed: BoolArray = np.zeros(len(every), dtype=np.bool_)
        reviewed[[rows[each.response_id] for each in drawn[: round(part * len(drawn))]]] = True
        loaded.in_random_order = reviewed
        loaded.labelled = labelled & (worked | reviewed)
        loaded.values = np.where(loaded.labelled, every, np.nan)
        loaded.classify()
        setting.add(in_all_answers(loaded, target="these").statistics, alone(loaded))
    loaded.in_random_order = np.zeros(len(every), dtype=np.bool_)
    loaded.labelled, loaded.values = labelled, every
    loaded.classify()
    return setting


def label(
    loaded: LabelledAnswers, every: FloatArray, labelled: BoolArray, drawn: BoolArray
) -> None:
    """Leave only some labels; what the judge calls bad is flagged, and the random sample is ``drawn``."""
    loaded.picked = loaded.answers.verdicts == BAD
    loaded.labelled, loaded.drawn = labelled, drawn
    loaded.values = np.where(labelled, every, np.nan)
    loaded.classify()


if __name__ == "__main__":
    sys.exit(main())
