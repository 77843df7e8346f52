"""Arrow streams and files, such as tables of Hugging Face's `datasets` (and so of ragas)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row
from judgeboard.formats.parquet import BATCH_ROWS, MOST_PAGES, first_line, rows_of_batches

_FILE = b"ARROW1"  # other tables begin with the length of a message
_CODECS = (
    0x184D2204,
    0xFD2FB528,
)  # the bytes after the length in a buffer that LZ4 or Zstandard compressed


def recognises(source: ByteSource) -> bool:
    """Whether the bytes begin with the schema of a table."""
    try:
        _opened(source)
    except (pa.ArrowException, OSError):
        return False
    return True


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield rows as JSON values, as for Parquet."""
    try:
        reader = _opened(source)
        names = reader.schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{source.name} is not a whole Arrow file: {first_line(error)}") from error
    if len(set(names)) < len(names):
        raise BadInput(f"{source.name} has two columns with the same name: rename one")
    batches = (
        reader
        if hasattr(reader, "read_next_batch")
        else map(reader.get_batch, range(reader.num_record_batches))
    )
    # A saved table may be one batch.
    pieces = (
        batch.slice(start, BATCH_ROWS)
        for batch in batches
        for start in range(0, batch.num_rows, BATCH_ROWS)
    )
    yield from rows_of_batches(pieces, "Arrow", source)


def _opened(source: ByteSource) -> Any:
    file: Any = source.seekable()
    size = file.seek(0, 2)
    # How many bytes the compressed buffers have unpacked: PyArrow unpacks a batch whole. Ends at
    # the start.
    file.seek(0)
    total, before = 0, b""
    while len(piece := before + file.read(1 << 20)) > len(before):
        words = np.frombuffer(piece, dtype="<i8", count=len(piece) // 8)
        codecs = np.flatnonzero(np.isin(words[1:] & 0xFFFFFFFF, _CODECS))
        total += int(np.maximum(words[codecs], 0).clip(max=1 << 40).sum())
        before = words[-1:].tobytes()
    file.seek(0)
    if total > size + MOST_PAGES:
        raise BadInput(
            f"{source.name} unpacks to far more than its own size: save it without compression"
        )
    return ipc.open_file(file) if source.peek().startswith(_FILE) else ipc.open_stream(file)
