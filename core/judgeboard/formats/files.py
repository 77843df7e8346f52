"""FORMATS lists the file formats. `ByteSource` reads a file once; `write_whole` writes a whole file or nothing."""

import codecs
import errno
import itertools
import json
import os
import re
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, TypeVar

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput

T = TypeVar("T")
MAX_ROW_BYTES = 64 * 1024 * 1024
LEAST_ROW_BYTES = 4 * 1024 * 1024
HELD_BYTES = 2 * 1024 * 1024
"""Unpacked bytes of a file after which collected rows are stored or dropped."""
DISK_FULL = "the disk is full; free some disk space and try again"
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file.

    ``line`` is the first line of the object in text formats, the row number in JSON arrays and
    Parquet.
    """

    line: int
    values: dict[str, Any]


class Unreadable(Exception):
    """The rest of a file cannot be read. Formats raise this error, and `Reading` reports it after the earlier rows."""


def first_items(
    items: Iterator[T], count: int, is_full: Callable[[], bool] = lambda: False
) -> tuple[list[T], Iterator[T]]:
    """Return the first items, and an iterator over all. At an unreadable item, the iterator raises Unreadable.

    If ``is_full`` returns True after an item, no further item is read ahead.
    """
    first: list[T] = []
    failure: Unreadable | None = None
    try:
        for item in itertools.islice(items, count):
            first.append(item)
            if is_full():
                break
    except Unreadable as error:
        failure = error

    def all_items() -> Iterator[T]:
        yield from first
        if failure is not None:
            raise failure
        yield from items

    return first, all_items()


class ColumnType(StrEnum):
    """The type of a column's cells. A cell may also be None: an unknown value, which differs from 0 and from empty.

    ``time`` is an aware datetime, ``texts`` a list of texts, ``json`` any JSON value.
    """

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    TEXTS = "texts"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Column:
    """A named column of one type."""

    name: str
    type: ColumnType = ColumnType.TEXT


PIECE = 256 * 1024
PEEK = 64 * 1024
SHOWN_BYTES = 1000  # of a row that is too long
SECONDS_PER_NOTE = 0.2
MOST_UNPACKED = 20  # times the size of a gzipped file that is copied
_GZIP = b"\x1f\x8b"


class TooLong(bytes):
    """The first bytes of a row that is longer than `ByteSource.most_row`."""


def too_long(line: int, start: bytes, most: int) -> Rejected:
    """Return the rejection of a row that is longer than ``most`` bytes."""
    reason = f"longer than {most >> 20} MB: split its texts, or import the file uncompressed"
    return Rejected(
        line, None, reason, start[:SHOWN_BYTES].decode("utf-8", "backslashreplace").rstrip("\r\n")
    )


class ByteSource(AbstractContextManager["ByteSource"]):
    """The bytes of one file, gzipped or not, read once from start to end, in pieces that fit in memory.

    ``file`` is a path, ``-`` for standard input, or a stream opened for bytes (which stays open).
    ``name`` is the name in messages (default: the path, ``standard input`` or the stream's own
    name). ``on_read`` gets the share of the file that was read (None: unknown), again and again
    during the reading. An error in ``on_read`` ends the reading.
    """

    def __init__(
        self,
        file: str | Path | BinaryIO,
        name: str | None = None,
        on_read: Callable[[float | None], None] | None = None,
    ) -> None:
        self._owned = isinstance(file, str | Path) and str(file) != "-"
        if not isinstance(file, str | Path):
            self._raw, self.name = file, name or str(getattr(file, "name", "the stream"))
        elif str(file) == "-":
            if sys.stdin is None:  # closed by the shell (<&-), and under some schedulers
                raise BadInput("standard input is closed: name a file")
            self._raw, self.name = sys.stdin.buffer, name or "standard input"
        else:
            path, self.name = Path(file), name or str(file)
            if path.is_dir():
                raise BadInput(f"{self.name} is a folder: name the file in it")
            try:
                if is_in_use(path):
                    raise BadInput(
                        f"{self.name} is a database in use: export its tables as CSV files"
                    )
                self._raw = path.open("rb")
            except FileNotFoundError:
                raise BadInput(f"there is no file {self.name}") from None
            except OSError as error:
                raise BadInput(f"{self.name} cannot be opened: {error.strerror}") from error
            except ValueError as error:
                raise BadInput(f"{self.name!r} is not the name of a file: {error}") from error
        self.size: int | None = None  # for a stream that can be read only once
        if self._raw.seekable():
            start = self._raw.tell()
            self.size = self._raw.seek(0, os.SEEK_END) - start
            self._raw.seek(start)
        self.unpacked = 0  # bytes after decompression
        self.encoding: str | None = None  # of a text, by the name of the codec; None for ASCII
        self._position = 0
        self._share: float | None = None
        self._on_read = on_read
        self._told = time.monotonic()
        self._copy: BinaryIO | None = None
        self._head = bytearray()
        self._broken: Unreadable | None = None
        pieces = self._pieces()
        first = self._first(pieces)
        self.gzipped = first.startswith(_GZIP)
        self._plain: Iterator[bytes] = itertools.chain([first], pieces)
        if self.gzipped:
            self._plain = _gunzipped(self._plain)

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and the temporary copy. A stream that the caller passed stays open."""
        if self._owned:
            self._raw.close()
        if self._copy is not None:
            self._copy.close()

    @property
    def share_read(self) -> float | None:
        """The share of the file that was read, 0 to 1; None if the size is unknown."""
        return (
            self._share
            if self._share is not None or not self.size
            else min(1.0, self._position / self.size)
        )

    @property
    def most_row(self) -> int:
        """Maximum number of bytes of a row: the bytes of the file so far, at least 4 MiB and at most 64 MiB.

        Only a compressed row can be longer than the file.
        """
        return min(MAX_ROW_BYTES, max(LEAST_ROW_BYTES, self._position))

    def note(self, unpacked: int, share: float | None = None) -> None:
        """Count bytes that were unpacked.

        ``share`` is the share of the rows, if the format knows the number of rows.
        """
        self.unpacked += unpacked
        self._share = share
        if self._on_read is not None and time.monotonic() - self._told > SECONDS_PER_NOTE:
            self._told = time.monotonic()
            self._on_read(self.share_read)

    def peek(self) -> bytes:
        """Return up to 64 KiB from the start (after decompression) without consuming bytes."""
        while len(self._head) < PEEK and self._broken is None:
            try:
                self._head += next(self._plain)
            except StopIteration:
                break
            except Unreadable as error:
                self._broken = error
        if not self._head and self._broken is not None:
            raise BadInput(f"{self.name} cannot be read: {self._broken}")
        return bytes(self._head[:PEEK])

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes after decompression, once.

        Raises Unreadable if the file ends too early or is damaged, after all bytes before the
        damage.
        """
        if self._head:
            yield bytes(self._head)
            self._head.clear()
        if self._broken is not None:
            raise self._broken
        for piece in self._plain:
            self.note(len(piece))
            yield piece

    def text_chunks(self) -> Iterator[bytes]:
        """Yield all bytes after decompression, in UTF-8. The first bytes that are not ASCII show the encoding."""
        decoder = None
        for chunk in self.chunks():
            if self.encoding is None and not chunk.isascii():
                self.encoding = encoding_of(chunk)
            if decoder is None and self.encoding not in {None, UTF_8}:
                decoder = codecs.getincrementaldecoder(str(self.encoding))("surrogateescape")
            try:
                yield (
                    chunk
                    if decoder is None
                    else decoder.decode(chunk).encode("utf-8", "surrogateescape")
                )
            except UnicodeError:
                raise Unreadable(f"it is not {self.encoding}") from None

    def seekable(self) -> BinaryIO:
        """Return the bytes as a seekable file. A gzipped file or a pipe is first copied to a temporary file.

        Raises BadInput if a gzipped file unpacks to far more than the file's size.
        """
        if self._copy is not None:
            self._copy.seek(0)
            return self._copy
        if not self.gzipped and self._raw.seekable():
            self._position = self.size or 0
            self._raw.seek(0)
            return self._raw
        self._copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
        try:
            for piece in self.chunks():
                self._copy.write(piece)
                if self.gzipped and self.unpacked > MAX_ROW_BYTES + MOST_UNPACKED * self._position:
                    raise Unreadable(
                        f"it unpacks to more than {MOST_UNPACKED} times its size; unpack it first"
                    )
        except Unreadable as error:
            raise BadInput(f"{self.name} cannot be read: {error}") from error
        self._copy.seek(0)
        return self._copy

    def _pieces(self) -> Iterator[bytes]:
        try:
            while piece := self._raw.read(PIECE):
                self._position += len(piece)
                yield piece
        except OSError as error:
            raise Unreadable(f"reading failed ({error.strerror or error})") from error

    def _first(self, pieces: Iterator[bytes]) -> bytes:
        try:
            first = next(pieces, b"")
        except Unreadable as error:
            self.close()
            raise BadInput(f"{self.name} cannot be read: {error}") from error
        if not first:
            self.close()
            raise BadInput(f"{self.name} is empty: there is nothing to import")
        return first


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip members one after the other, in small pieces.

    A small file may unpack to a very large one. If the data are damaged, everything before the
    damage is yielded.
    """
    engine = zlib.decompressobj(wbits=31)
    try:
        for data in pieces:
            rest = data
            while rest:
                if engine.eof:
                    rest = rest.lstrip(b"\0")  # tape archives end with zero bytes
                    if not rest:
                        break
                    engine = zlib.decompressobj(wbits=31)
                yield engine.decompress(rest, PEEK)
                rest = engine.unused_data if engine.eof else engine.unconsumed_tail
        yield engine.flush()
    except zlib.error as error:
        raise Unreadable("the compressed data are damaged") from error
    if not engine.eof:
        raise Unreadable("the compressed data end too early")


def byte_lines(source: ByteSource) -> Iterator[bytes]:
    """Yield the lines of a text, each with its line feed. The last line may have none.

    A line that is longer than a row may be is `TooLong`. If reading fails, the unfinished line is
    not yielded.
    """
    line = bytearray()
    is_cut = False
    for chunk in source.text_chunks():
        start = 0
        while start < len(chunk):
            end = chunk.find(b"\n", start) + 1
            line += chunk[start : end or len(chunk)]
            if len(line) > source.most_row:
                is_cut = True
                del line[SHOWN_BYTES:]
            if not end:
                break
            yield TooLong(line) if is_cut else bytes(line)
            line, is_cut, start = bytearray(), False, end
    if line:
        yield TooLong(line) if is_cut else bytes(line)


def owner_only(path: str, flags: int) -> int:
    """Open a file for `open`, as its ``opener``.

    Only the owner can read and write a new file; existing files keep their mode.

    Texts of the log are confidential, whatever the umask of the process is.
    """
    return os.open(path, flags, 0o600)


def write_whole(path: Path, write: Callable[[BinaryIO], T], *, private: bool = True) -> T:
    """Write a file whole or not at all, and return the result of ``write``.

    If ``private``, only the owner can read the file.

    A symbolic link is kept, and the target of the link is written. A pipe or a device has no
    content to replace, and is written directly. A SQLite database is never replaced.
    """
    try:
        file = _replaceable(path)
        if file is None:
            with path.open("wb") as stream:
                return write(stream)
        refuse_database(file)
        # `secrets` would load OpenSSL, which takes longer than the rest of this module.
        part = file.with_name(f".{file.name}.{os.urandom(4).hex()}.part")
        try:
            with open(part, "xb", opener=owner_only if private else None) as stream:
                result = write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        reason = DISK_FULL if error.errno == errno.ENOSPC else error.strerror or error
        raise BadInput(f"{path} cannot be written: {reason}") from error
    return result


def refuse_database(path: Path) -> None:
    """Refuse to write over a SQLite database: the command may be reading this database."""
    if path.is_file() and is_database(path):
        raise BadInput(f"{path} is a SQLite database, and is not replaced: choose another file")


def is_database(path: Path) -> bool:
    """Return whether a file is in use as a SQLite database, or begins as one."""
    if is_in_use(path):
        return True
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def is_in_use(path: Path) -> bool:
    """Return whether the log of a SQLite database is beside the file.

    Such a file is not opened: if this process uses the database, the close of the file would end
    the locks of SQLite, and another process could then delete the log.
    """
    file = path.resolve()  # the log of a link is beside the target
    return file.with_name(f"{file.name}-wal").exists()


def _replaceable(path: Path) -> Path | None:
    """Return the regular or missing file at a path, after all links; None for other files, such as pipes."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return path.resolve()
    file = path.resolve()
    # The system's links, for example to an open file of this process, may not lead to a path.
    return file if S_ISREG(kind) and file.exists() and file.samefile(path) else None


UTF_8 = "utf-8"
# The encodings in which spreadsheets and databases write texts.
_ENCODINGS = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp932",
    "gb18030",
    "big5",
    "cp949",
    "mac_roman",
]
_LATIN = ("cp1252", "cp1250", "cp1254", "mac_roman")
_ALPHABETS = (
    "äöüß",
    "àâæçéèêëîïôœùûü",
    "áéíñóúü",
    "ãõáâàçéêíóôú",
    "àèéìòù",
    "åäöæøé",
    "ëïéèöüó",
    "áčďéěíňóřšťúůýžľĺŕôä",
    "ąćęłńóśźż",
    "áéíóöőúüű",
    "čšžćđ",
    "ăâîșțşţ",
    "çğıöşüâi̇",  # noqa: RUF001 - Turkish
)
"""The letters with accents of a language. A text in one language has letters of one alphabet."""
# A sign, or a capital letter, inside a word
_IN_WORD = re.compile(
    "[^\\W\\d_](?:[^\\w\\s\\x00-\\x7f\u00ad\u2018\u2019]|[\u00b2\u00b3\u00b9])[^\\W\\d_]|[a-z][\u00c0-\u00de]"
)


def encoding_of(data: bytes) -> str:
    """Return the name of the codec of a text. Some bytes that are not UTF-8 do not change the encoding of a file."""
    if data.startswith(_BOMS_16):
        return "utf-16"
    marks = len(data) - len(data.decode("ascii", "ignore"))
    valid = data.decode(UTF_8, "ignore")
    if 2 * (len(valid.encode()) - len(valid.encode("ascii", "ignore"))) >= marks:
        return UTF_8
    for name in _LATIN:
        text = data.decode(name, "replace")
        letters = {each for each in text.lower() if each.isalpha() and not each.isascii()}
        if (
            "\ufffd" not in text
            and not _IN_WORD.search(text)
            and any(letters <= {*each} for each in _ALPHABETS)
        ):
            return name
    from charset_normalizer import from_bytes  # few files need it

    best = from_bytes(data, cp_isolation=_ENCODINGS).best()
    return UTF_8 if best is None else best.encoding


AUTO = "auto"
_BOMS_16 = (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 4096  # bytes at the start that show whether a file is text
_CONTROL_BYTES = tuple(bytes([mark]) for mark in range(32) if mark not in b"\t\n\f\r\x1b")
_NOT_ROWS = (
    (b"PK\x03\x04", "'PK', like a ZIP file. Unpack it first."),
    (b"PK\x05\x06", "'PK', like an empty ZIP file."),
    (b"\x89PNG", "'PNG', like a picture. A picture contains no rows."),
    (b"\xff\xd8\xff", "the bytes of a JPEG picture. A picture contains no rows."),
    (b"GIF8", "'GIF', like a picture. A picture contains no rows."),
    (b"%PDF", "'%PDF', like a PDF file. A PDF file contains no rows."),
    (b"SQLite format 3", "'SQLite format 3', like a database. Export its tables as CSV files."),
    (b"BZh", "'BZh', like a bzip2 file. Unpack it first."),
    (b"\xfd7zXZ", "'7zXZ', like an xz file. Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "the bytes of a zstd file. Unpack it first."),
    (b"7z\xbc\xaf", "'7z', like a 7-Zip archive. Unpack it first."),
)
ARRAY_KEYS = (
    "data",
    "rows",
    "records",
    "items",
    "examples",
    "samples",
    "entries",
    "logs",
    "results",
    "responses",
)
ARRAY_KEY = rb'[{,]\s*"(?:' + "|".join(ARRAY_KEYS).encode() + rb')"\s*:\s*\['
"""The pattern of a key in an object whose value is the array of rows."""
_OBJECT_OF_ROWS = re.compile(rb"\s*" + ARRAY_KEY)


@dataclass(frozen=True, slots=True)
class Format:
    """One format: the name in sentences, the endings of files, and the module that reads and writes rows.

    The module ``home`` is imported only when the format is used. ``textual`` is True if the format
    has only texts: numbers are then read from texts. ``first_bytes`` begin each file of a binary
    format, and no file of text.
    """

    title: str
    suffixes: tuple[str, ...]
    home: str
    textual: bool = False
    first_bytes: bytes = b""

    def read(self, source: ByteSource) -> Iterator[Row | Rejected]:
        """Yield the rows of a file."""
        rows: Iterator[Row | Rejected] = import_module(self.home).read(source)
        return rows

    def write(
        self, rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO
    ) -> int:
        """Write rows and return how many."""
        count: int = import_module(self.home).write(rows, columns, stream)
        return count


FORMATS = {
    "jsonl": Format("JSON lines", (".jsonl", ".ndjson"), "judgeboard.formats.jsonl"),
    "json": Format("JSON", (".json",), "judgeboard.formats.json"),
    "csv": Format("CSV", (".csv", ".tsv"), "judgeboard.formats.csv", textual=True),
    "parquet": Format(
        "Parquet", (".parquet", ".pq"), "judgeboard.formats.parquet", first_bytes=b"PAR1"
    ),
}
"""The file formats. Each format has one module and one line here."""


def format_titles() -> str:
    """Return the names of the formats as the end of a sentence."""
    *others, last = (each.title for each in FORMATS.values())
    return f"{', '.join(others)} or {last}"


_TOOL_FILES = (
    (b"PK\x03\x04", Format("Excel", (".xlsx",), "judgeboard.formats.xlsx", textual=True)),
    (b"PK\x03\x04", Format("an Inspect log", (".eval",), "judgeboard.formats.inspect_archive")),
    *(
        (start, Format("an Arrow file", (".arrow", ".feather"), "judgeboard.formats.arrow"))
        for start in (b"\xff\xff\xff\xff", b"ARROW1")
    ),
    (
        _SQLITE,
        Format("a TruLens database", (".sqlite", ".db"), "judgeboard.formats.trulens_database"),
    ),
)
# Binary files by first bytes. Such files can only be read, and are recognised by content.


def find_format(source: ByteSource, format_name: str = AUTO) -> Format:
    """Return the named format of a file. With ``auto``, the ending and the content of the file decide."""
    if format_name != AUTO and format_name not in FORMATS:
        raise BadInput(f"there is no format {format_name!r}: choose {', '.join((AUTO, *FORMATS))}")
    head = source.peek()
    tool_files = (
        format_
        for start, format_ in _TOOL_FILES
        if head.startswith(start) and import_module(format_.home).recognises(source)
    )
    if format_name == AUTO and (tool_file := next(tool_files, None)) is not None:
        return tool_file
    binary = {name: each.first_bytes for name, each in FORMATS.items() if each.first_bytes}
    by_bytes = next((name for name, start in binary.items() if head.startswith(start)), None)
    name = format_name if format_name != AUTO else by_bytes or format_by_ending(source.name)
    title = FORMATS[name].title if name else "a file of rows"
    for start, what in _NOT_ROWS:
        if head.startswith(start):
            raise BadInput(f"{source.name} is not {title}: it starts with {what}")
    head = head.decode("utf-16", "ignore").encode() if head.startswith(_BOMS_16) else head
    if name not in binary and head[:200].count(0) * 3 > len(head[:200]):
        raise BadInput(
            f"{source.name} is not {title} in UTF-8: it looks like UTF-16. Save it as UTF-8."
        )
    no_text = sum(head[:_HEAD_BYTES].count(mark) for mark in _CONTROL_BYTES)
    if by_bytes is None and name not in binary and no_text > max(10, len(head[:_HEAD_BYTES]) / 20):
        if source.name.lower().endswith(".gz") and not source.gzipped:
            raise BadInput(
                f"{source.name} is not gzip, but its name ends with .gz: compress the original file again"
            )
        raise BadInput(
            f"{source.name} is not {title}: it contains bytes that are not text. It may be damaged, encrypted or "
            "compressed: export the log again"
        )
    if name != by_bytes and (by_bytes is not None or name in binary):
        advice = (
            "export it again, or rename it with the right ending"
            if format_name == AUTO
            else "use --format auto"
        )
        is_what = f"not {title}" if by_bytes is None else FORMATS[by_bytes].title
        raise BadInput(f"{source.name} is {is_what}: {advice}")
    if format_name == AUTO and name in {None, "json", "jsonl"}:
        name = _by_content(head, source.name, name)
    return FORMATS[str(name)]


def format_by_ending(file: str) -> str | None:
    """Return the name of the format with the ending of a file name (without ``.gz``), None if there is none."""
    ending = re.search(r"\.\w+$", file.lower().removesuffix(".gz"))
    return next(
        (name for name, format_ in FORMATS.items() if ending and ending[0] in format_.suffixes),
        None,
    )


def _by_content(head: bytes, file: str, name: str | None) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, _, after = start.partition(b"\n")
    if name == "jsonl":  # a value may stand on several lines
        return "json" if first.strip() + after.lstrip()[:1] in {b'{"', b"[{"} else "jsonl"
    if start.startswith(b"["):
        return "json"
    if start.startswith(b"{"):
        return "jsonl" if _is_line_of_json(start, sure=name is None) else "json"
    if name is not None:
        return name
    if any(mark in first for mark in (b",", b";", b"\t")):
        return "csv"
    raise BadInput(
        f"{file}: neither the name nor the content shows the format: rename it to .jsonl, .json or .csv"
    )


def _is_line_of_json(start: bytes, *, sure: bool) -> bool:
    """Whether the first line looks like a whole JSON object (JSON lines), and not like an object around all rows."""
    line, feed, rest = start.partition(b"\n")
    if _OBJECT_OF_ROWS.match(line):
        return False
    if not sure and not (feed and rest.lstrip().startswith(b"{")):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return bool(feed) and line.rstrip().endswith(b"}")


def write_rows(
    rows: Iterable[dict[str, Any]],
    columns: Sequence[Column],
    target: str | Path | BinaryIO,
    format: str,  # noqa: A002 - the name of the command's option
    on_rows: Callable[[int], None] | None = None,
) -> int:
    """Write the ``columns`` of each row, and return the number of rows. A missing key is None.

    ``target`` is a path (`write_whole`) or a stream for bytes, which stays open. ``format`` is a
    key of `FORMATS`. ``on_rows`` gets the number of rows so far after each 1,000 rows.
    """

    def counted() -> Iterator[dict[str, Any]]:
        for number, row in enumerate(rows, start=1):
            yield row
            if on_rows is not None and number % 1_000 == 0:
                on_rows(number)

    if format not in FORMATS:
        raise BadInput(f"there is no format {format!r}: choose {', '.join(FORMATS)}")
    if not isinstance(target, str | Path):
        return FORMATS[format].write(counted(), columns, target)
    return write_whole(
        Path(target), lambda stream: FORMATS[format].write(counted(), columns, stream)
    )
