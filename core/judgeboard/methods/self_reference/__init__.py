"""Self-reference: before a judge compares two answers, the judge answers the question itself, several times."""

from judgeboard.registry.methods import Kind, Page, Registration

REGISTRATION = Registration(
    commands={
        ("Measure", "compare", "ssr"): f"{__name__}.command:ssr_command",
        ("Measure", "compare", "make-pairs"): f"{__name__}.command:make_pairs_command",
    },
    pages={"self_reference": Page("Tests & pairs", "Self-reference", "how-to/compare.md")},
    tables=f"{__name__}.tables",
    imports={
        "samples": Kind(
            f"{__name__}.imports:SampleImport",
            "Samples of answers",
            "question",
            "a question with several answers by one model",
            "judgeboard compare ssr --recorded",
        )
    },
    exports={"samples": f"{__name__}.queries:SAMPLES"},
    runs={"ssr": "Measuring self-reference"},
)
