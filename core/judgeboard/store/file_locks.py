"""A lock on a file, which ends with the process that holds it."""

import errno
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from judgeboard.store.clock import utc_now

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BEYOND = 1 << 20  # Windows lets nobody read what is locked: the lock is on a byte behind the text


def this_process() -> str:
    """Return the number of this process, the machine and the time, for a person to read."""
    return f"process {os.getpid()} on {socket.gethostname()[:20]} since {utc_now():%H:%M:%S} UTC"


class FileLock:
    """A lock on a file. The file names the process that has the lock. The lock ends with the process."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self._path, self._file = path, file

    @classmethod
    def take(cls, path: Path, seconds: float = 0.0) -> "FileLock | None":
        """Take the lock; None if another process has the lock for so many seconds. The file is made."""
        end = time.monotonic() + seconds
        while True:
            file = path.open("a+", encoding="utf-8")
            try:
                if sys.platform == "win32":
                    file.seek(_BEYOND)
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                else:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in {errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}:
                    raise
                file.close()  # another process has the lock
                if time.monotonic() >= end:
                    return None
                time.sleep(0.01)
                continue
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    break
            file.close()  # the process that had the lock removed the file
        file.truncate(0)
        file.write(this_process())
        file.flush()
        return cls(path, file)

    def release(self) -> None:
        """Release the lock and remove the file."""
        with suppress(OSError):  # Windows removes no open file; the next holder will
            self._path.unlink()
        self._file.close()
