"""The facts of an answer are stored with its texts, and follow them."""

import json
import signal

import pytest
from sqlalchemy import delete, select, update

from judgeboard.errors import SchemaMismatch
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.judges.evidence_alignment import is_right_refusal
from judgeboard.store.answer_facts import RULE_VERSION, right_refusals
from judgeboard.store.forgetting import forget_response
from judgeboard.store.opening import check_usable, upgrade
from judgeboard.store.tables import ANSWER_FACT, RESPONSE
from judging_log import address
from killed_upgrade import upgrade_until_killed
from sent_traces import PROTOBUF, Sent, gathered, receiving, request
from served import fork_server
from stored_rows import read, rows_of, values_of, write_to

REFUSAL = "I do not know."
QUESTION = "When does the hut open?"
LOG = [
    {"id": "refusal", "answer": REFUSAL, "passages": ["Dogs wait outside."]},
    {"id": "missed", "answer": REFUSAL, "passages": ["The hut opens at nine."]},
    {"id": "answer", "answer": "At nine. 🏔", "passages": ["It opens at nine."]},
    {"id": "no passages", "answer": REFUSAL},
]


def import_rows(store, folder, rows):
    file = folder / "log.jsonl"
    file.write_text("".join(json.dumps(row | {"question": QUESTION}) + "\n" for row in rows))
    import_file(store, file, kind="responses")


def stored(store):
    with store.reading() as connection:
        return {id_: tuple(facts) for id_, *facts in connection.execute(select(*ANSWER_FACT.c))}


def computed(store):
    """The facts as the rules give them for the texts that are stored."""
    facts = {}
    for row in rows_of(store, RESPONSE):
        answer, right, length = row["answer"], None, None
        if answer is not None:
            right = is_right_refusal(row["query"], answer, row["passages"])
            length = len(answer)
        facts[row["id"]] = (RULE_VERSION, right, length)
    return facts


def ids_of_refusals(store):
    ids = read(store, right_refusals).tolist()
    return values_of(store, RESPONSE.c.external_id, RESPONSE.c.id.in_(ids))


def test_facts_are_those_of_the_texts_that_are_stored(store, tmp_path):
    import_rows(store, tmp_path, LOG)
    assert stored(store) == computed(store)
    assert ids_of_refusals(store) == ["refusal"]

    write_to(store, forget_response, "refusal", actor="test")
    assert stored(store) == computed(store)
    assert ids_of_refusals(store) == []

    undo_import(store)
    assert stored(store) == {}


class Refusal(Sent):
    """A span of a trace whose answer is a refusal."""

    @property
    def attributes(self):
        texts = {"input.value": QUESTION, "output.value": REFUSAL}
        return super().attributes if self.number else super().attributes | texts


def test_late_passages_of_a_trace_change_the_facts_of_its_answer(store):
    with receiving(store) as http:
        for number in (0, 1):  # without passages nobody knows whether a refusal is right
            assert ids_of_refusals(store) == []
            http.post("/v1/traces", content=request([Refusal(7, number)]), headers=PROTOBUF)
            gathered(store)
            assert stored(store) == computed(store)
    assert len(ids_of_refusals(store)) == 1


def test_an_upgrade_that_is_killed_four_times_stores_all_facts(store, tmp_path):
    rows = [
        row | {"id": f"{row['id']} {number}", "answer": f"{row['answer']} {'!' * number}"}
        for number in range(30)
        for row in LOG
    ]
    import_rows(store, tmp_path, rows)
    with store.writing() as connection:  # as an earlier version of the rules, or none, left them
        wrong = {"rule_version": RULE_VERSION - 1, "is_right_refusal": True, "length": 0}
        connection.execute(update(ANSWER_FACT).values(wrong))
        connection.execute(delete(ANSWER_FACT).where(ANSWER_FACT.c.response_id % 3 == 0))

    for kills in range(1, 5):
        process = fork_server().Process(target=upgrade_until_killed, args=(address(store),))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        versions = values_of(store, ANSWER_FACT.c.rule_version)
        assert versions.count(RULE_VERSION) == 20 * kills
        with pytest.raises(SchemaMismatch):  # no figure is shown before all facts are there
            check_usable(store)

    shares = []
    upgrade(store, lambda *progress: shares.append(progress))
    check_usable(store)
    assert stored(store) == computed(store)
    assert shares == [(len(rows) - 20 * 4, 1.0)]
