"""What the figures of agreement are called, on the page, in the report and in a terminal."""

STATISTICS: dict[str, tuple[str, bool]] = {
    "agreement": ("Same grade", True),
    "accuracy": ("Accuracy", True),
    "at_most_one_apart": ("At most one apart", True),
    "self_consistency": ("The same every time", True),
    "kappa": ("Cohen's kappa", False),
    "linear_kappa": ("Kappa, linear weights", False),
    "weighted_kappa": ("Weighted kappa", False),
    "fleiss_kappa": ("Fleiss' kappa", False),
    "alpha": ("Krippendorff's alpha", False),
    "alpha_nominal": ("Alpha, nominal", False),
    "alpha_ordinal": ("Alpha, ordinal", False),
    "alpha_interval": ("Alpha, interval", False),
    "ac1": ("Gwet's AC1", False),
    "ac2": ("Gwet's AC2", False),
    "missed": ("Bad answers missed", True),
    "false_alarms": ("False alarms on good answers", True),
    "sensitivity": ("Bad answers caught", True),
    "specificity": ("Good answers let through", True),
    "precision": ("Bad, of those called bad", True),
    "macro_precision": ("Macro precision", False),
    "macro_recall": ("Macro recall", False),
    "macro_f1": ("Macro F1", False),
    "mcc": ("Matthews correlation", False),
    "auroc": ("AUROC of the score", False),
    "auprc": ("AUPRC of the score", False),
    "expected_calibration_error": ("Expected calibration error", False),
    "pearson": ("Pearson correlation", False),
    "spearman": ("Spearman rank correlation", False),
    "kendall": ("Kendall's tau-b", False),
    "mean_absolute_difference": ("Mean absolute difference", False),
    "bias": ("Judge minus people, mean", False),
    "lower_limit": ("Lower limit of agreement", False),
    "upper_limit": ("Upper limit of agreement", False),
    "first_position": ("Names the answer shown first", True),
    "spread": ("Spread of the repeats", False),
}
"""A figure's name in words, and whether it is a share; in the order in which figures are shown."""

_LEFT_OUT = {
    "ties": "on which as many people said one as the other",
    "only_gold": "that only a lead has graded",
    "without_verdict": "without a usable verdict of this version",
    "inconsistent": "on which the judge contradicts itself when the order is turned round",
    "unusable": "with a verdict that cannot be used",
    "one_person": "that one person rated",
    "revealed": "on which somebody spoke only after the rest was revealed",
    "one_judge": "that one judge rated",
    "incomplete": "without a usable verdict every time",
}


def statistic_name(name: str) -> str:
    """Return a figure's name in words."""
    return STATISTICS[name][0] if name in STATISTICS else name.replace("_", " ")


def is_share(name: str) -> bool:
    """Return whether a figure is a share, shown in percent."""
    return name in STATISTICS and STATISTICS[name][1]


def left_out_words(why: str) -> str:
    """Return why items were left out, after their number."""
    return _LEFT_OUT.get(why, why.replace("_", " "))
