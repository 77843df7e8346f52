"""Logs of Inspect (`.eval`): ZIP files with one JSON file per sample."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row, Unreadable, too_long
from judgeboard.formats.jsonl import parse_row

MOST_DIRECTORY = 4 * 1024 * 1024
"""Bytes of the directory of a ZIP file: Python takes 600 bytes for an entry of 46 bytes."""
_ZSTD = 93  # the number of this compression in ZIP files
# An encrypted file and an unknown compression are runtime errors too.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
)


def recognises(source: ByteSource) -> bool:
    """Whether a ZIP file has the samples of a log."""
    return bool(_samples(files_in(source)))


def files_in(source: ByteSource) -> list[zipfile.ZipInfo]:
    """Return the files in a ZIP file, none for a damaged file. Raises BadInput if the directory is too long."""
    try:
        # No public function tells the length of the directory before reading all entries.
        end = zipfile._EndRecData(source.seekable())  # type: ignore[attr-defined]  # noqa: SLF001
        if end and end[zipfile._ECD_SIZE] > MOST_DIRECTORY:  # type: ignore[attr-defined]  # noqa: SLF001
            raise BadInput(
                f"{source.name} has too many files: its directory is longer than {MOST_DIRECTORY >> 20} MB"
            )
        with zipfile.ZipFile(source.seekable()) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, OSError):
        return []


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield the samples of a log as rows."""
    file = source.seekable()
    with zipfile.ZipFile(file) as archive:
        samples = _samples(archive.infolist())
        for number, info in enumerate(samples, start=1):
            try:
                # At most one byte more than a row may have.
                if info.compress_type == _ZSTD:
                    import pyarrow as pa  # loads slowly, and few logs have this compression

                    file.seek(info.header_offset)
                    name_length, extra_length = struct.unpack("<HH", file.read(30)[26:30])
                    file.seek(name_length + extra_length, 1)
                    packed = io.BytesIO(file.read(info.compress_size))
                    stream = pa.input_stream(packed, compression="zstd")
                    data = bytes(stream.read(source.most_row + 1))
                else:
                    with archive.open(info) as unpacked:
                        data = unpacked.read(source.most_row + 1)
            except _DAMAGED as error:
                raise Unreadable(f"the sample {info.filename} is damaged ({error})") from error
            source.note(len(data), number / len(samples))
            yield (
                too_long(number, data, source.most_row)
                if len(data) > source.most_row
                else parse_row(number, data)
            )


def _samples(files: Sequence[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    return [info for info in files if info.filename.startswith("samples/") and info.file_size]
