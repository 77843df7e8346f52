"""Arrow streams and files, as Hugging Face's `datasets` (and so ragas) saves tables."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import ipc

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row
from judgeboard.formats.parquet import first_line, rows_of_batches
from judgeboard.formats.parquet_pages import BATCH_ROWS

_FILE = b"ARROW1"  # other tables begin with the length of a message


def recognises(source: ByteSource) -> bool:
    """Whether the bytes begin with the schema of a table."""
    try:
        _opened(source)
    except (pa.ArrowException, OSError):
        return False
    return True


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield rows as JSON values, like those of Parquet."""
    try:
        reader = _opened(source)
        names = reader.schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{source.name} is not a whole Arrow file: {first_line(error)}") from error
    if len(set(names)) < len(names):
        raise BadInput(f"{source.name} has two columns with the same name: rename one")
    yield from rows_of_batches(_batches(reader), "Arrow", source)


def _opened(source: ByteSource) -> Any:
    file: Any = source.seekable()
    return ipc.open_file(file) if source.peek().startswith(_FILE) else ipc.open_stream(file)


def _batches(reader: Any) -> Iterator[Any]:
    """Yield pieces of at most `BATCH_ROWS` rows: a saved table may be one batch."""
    whole = reader if hasattr(reader, "read_next_batch") else map(reader.get_batch, range(reader.num_record_batches))
    for batch in whole:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
