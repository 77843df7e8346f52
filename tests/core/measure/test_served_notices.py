"""Labels of people on served answers, by the notice that their readers saw."""

import judgeboard
from engines import on_sqlite
from graded_log import read
from judgeboard.domain import Grade, Label
from judgeboard.measure.agreement import measure_agreement
from judgeboard.reports.agreement import result_lines
from judgeboard.store.responses import responses_named

BAD = "Marble dunes sing about violet engines while nobody in the harbour listens."
GOOD = "Dyneema melts at about 145 degrees."
PASSAGES = ["Slings. Dyneema melts at about 145 degrees."]


@on_sqlite
def test_labels_are_counted_by_notice_and_query_type(store):
    ann = judgeboard.ensure_reviewer(store, "page", "Ann")
    served = [
        # text, query type, notice shown, what the person says
        *[(GOOD, "simple", True, Label.GROUNDED)] * 6,
        *[(GOOD, "complex", True, Label.HALLUCINATED)] * 2,
        *[(BAD, "simple", True, Label.HALLUCINATED)] * 3,
        (BAD, "simple", True, None),
        (BAD, "complex", False, Label.HALLUCINATED),
    ]
    for number, (answer, query_type, notice, label) in enumerate(served):
        name = f"a{number}"
        judgeboard.serve_answer_blocking(
            f"How hot is {number}?", answer, PASSAGES, query_type=query_type, notice=notice, store=store,
            external_id=name,
        )  # fmt: skip
        [found] = read(store, responses_named, [name])[name]
        if label is not None:
            judgeboard.submit(
                store,
                judgeboard.Submission(
                    response_id=found.id,
                    reviewer=ann,
                    grade=Grade(label=label),
                    request_key=f"k{number}",
                ),
            )
    result = measure_agreement(store)
    assert bad_by_notice(result) == {
        "full": (8, 0.25),
        "full, complex": (2, 1.0),
        "full, simple": (6, 0.0),
        "disclaimer, simple": (3, 1.0),
    }
    (of_full,) = (line.split() for line in result_lines(result) if line.startswith("full  "))
    assert of_full[1:3] == ["8", "25"]
    complex_only = measure_agreement(store, where=judgeboard.parse_where(["query_type=complex"]))
    assert bad_by_notice(complex_only) == {"full, complex": (2, 1.0)}


def bad_by_notice(result):
    part = result.part("notices")
    return {
        name: (part.figure("n", name).n, part.figure("bad_answers", name).value)
        for name in part.slices
    }
