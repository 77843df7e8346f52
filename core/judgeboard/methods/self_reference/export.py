"""The exported table of sampled answers, which `imports.py` reads."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from judgeboard.formats.files import Column, ColumnType
from judgeboard.methods.self_reference.tables import SAMPLE
from judgeboard.store.export import PAIR_COLUMNS, ROW_KEY, ExportTable, pair_items, read_chunks
from judgeboard.store.tables import PAIR, VERSION

_SAMPLE_COLUMNS = (
    *PAIR_COLUMNS,
    Column("judge"),
    Column("judge_version"),
    *(
        Column(name, ColumnType.JSON)
        for name in ("samples", "correct", "statuses", "models", "raw")
    ),
)


def _samples(connection: Connection, *where: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
    # The position of a sample is the number, so samples after a missing one (in an unfinished run)
    # are left out.
    versions = select(VERSION.c.id, VERSION.c.name, VERSION.c.fingerprint).order_by(VERSION.c.id)
    for version_id, name, fingerprint in connection.execute(versions).all():
        of_version = SAMPLE.c.judge_version_id == version_id
        question_ids = select(PAIR.c.id.label(ROW_KEY)).where(
            PAIR.c.id.in_(select(SAMPLE.c.pair_id).where(of_version))
        )
        for chunk in read_chunks(connection, question_ids.where(*where)):
            ids = [row[ROW_KEY] for row in chunk]
            samples: dict[int, list[Row[Any]]] = {}
            query = select(SAMPLE).where(of_version, SAMPLE.c.pair_id.in_(ids))
            for sample in connection.execute(
                query.order_by(SAMPLE.c.pair_id, SAMPLE.c.number, SAMPLE.c.ask)
            ):
                of_pair = samples.setdefault(sample.pair_id, [])
                if sample.number == len(of_pair):
                    of_pair.append(sample)
                elif sample.number == len(of_pair) - 1:  # sampled again: the latest ask counts
                    of_pair[-1] = sample
            for pair_id, item in pair_items(connection, ids).items():
                if of_pair := samples[pair_id]:
                    models = [sample.model_reported for sample in of_pair]
                    raw = [sample.raw for sample in of_pair]
                    correct = [sample.correct for sample in of_pair]
                    yield {
                        **item,
                        "judge": name,
                        "judge_version": fingerprint,
                        "samples": [sample.answer for sample in of_pair],
                        "correct": correct if set(correct) != {None} else None,
                        "statuses": [sample.status for sample in of_pair],
                        "models": models if any(models) else None,
                        "raw": raw if any(raw) else None,
                    }


SAMPLES = ExportTable(_SAMPLE_COLUMNS, _samples, pair=PAIR.c.id)
