"""The counts of an audit, for tests."""


def kinds(report):
    """How many verdicts are caught, accused, missed, and rightly not marked."""
    numbers = {row.slice: round(row.value or 0) for row in report.rows if row.figure == "n"}
    caught, missed, accused, unmarked = numbers.values()
    return [caught, accused, missed, unmarked]


def many(report, name="audited"):
    """How many verdicts are audited, marked or graded, or have a flag."""
    return report.about.counts[name]
