"""Serves a database to a browser, in a process of its own."""

import os
import pkgutil
import socket
import sys
import time
import urllib.request
from functools import cache
from multiprocessing import forkserver, parent_process
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import ModuleType

START_SECONDS = 60
_HOLDERS = []
MIGRATION = "judgeboard.store.migrations.run"
# What every server imports with its first pages, beside the modules of the pages; and what all
# tests import first.
FIRST_PAGES = (
    "PIL.Image",
    "narwhals._pandas_like.namespace",
    "scipy.special",
    "scipy.stats",
    "streamlit.elements.lib.image_utils",
    "streamlit.web.server.starlette.starlette_server",
    "uvicorn.protocols.http.auto",
    "websockets.server",
)


class serving:  # noqa: N801 - reads as what it does in a with statement
    """Serves a database in a process of its own.

    The process is forked from one that has imported what a server needs, which takes seconds. So
    the environment variables of a server are those that no module reads when it is imported.
    """

    def __init__(self, database, port=None, **environment):
        self.database = database
        self.port = port or free_port()
        self.process = fork_server().Process(
            target=_serve,
            args=(str(database), self.port, {**os.environ, **environment}, Path.cwd()),
            daemon=True,
        )

    def __enter__(self):
        """Start, wait until it answers, return its address."""
        self.process.start()
        url = f"http://localhost:{self.port}"
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"{url}/healthz"):
            assert self.process.is_alive(), "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        return url

    def __exit__(self, *_):
        """Stop it."""
        self.process.terminate()
        self.process.join(timeout=30)
        assert not self.process.is_alive(), "the server does not end"

    def kill(self):
        """End it as a power cut would."""
        self.process.kill()
        self.process.join()


class OpenFile:
    """An open file that a forked process gets."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return _number, (DupFd(self.number),)


def _number(duplicate):
    return duplicate.detach()


class ForkedProcess(ForkServerProcess):
    """A process without the main module of this one: after a test of a page, it is that page, and would be drawn.

    It prints to where this one does, and takes turns on the processors as this one does (see
    `pytest_configure` in conftest.py), not as the server that it is forked from.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._output = [OpenFile(1), OpenFile(2)]
        self._policy = os.sched_getscheduler(0) if hasattr(os, "SCHED_IDLE") else None

    def start(self):
        """Start it."""
        forkserver._forkserver.ensure_running()  # from Python 3.14 on, the server has a key then
        self._key = getattr(forkserver._forkserver, "_forkserver_authkey", None)
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main

    def run(self):
        """Do its work."""
        forkserver._forkserver._forkserver_authkey = self._key
        for number, file in enumerate(self._output, start=1):
            os.dup2(file, number)
            os.close(file)
        if self._policy is not None:
            os.sched_setscheduler(0, self._policy, os.sched_param(0))
        super().run()


class ForkServer(ForkServerContext):
    """Starts such processes."""

    Process = ForkedProcess


@cache
def fork_server():
    """Return what forks from a process that has imported everything, and that ends with this one.

    A process that is forked from it itself, as those of a run of all tests are, has the same one.
    """
    context = ForkServer()
    if parent_process() is not None:
        forkserver._forkserver.ensure_running = lambda: None  # Python would start another one
        return context

    import judgeboard
    import judgeboard_dashboard
    from judgeboard_dashboard.server import NEEDED

    # The modules in `views` are scripts, which draw a page when they are imported; migrations need
    # a database.
    packages = (
        (judgeboard, "judgeboard.store.migrations."),
        (judgeboard_dashboard, "judgeboard_dashboard.views"),
    )
    modules = [
        part.name
        for package, scripts in packages
        for part in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not part.name.startswith(scripts)
    ]
    context.set_forkserver_preload(
        ["judgeboard_dashboard.server", *NEEDED, *modules, MIGRATION, *FIRST_PAGES]
    )
    return context


def _serve(database, port, environment, folder):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    from judgeboard_dashboard.server import serve  # reads some of the environment

    serve(database, port=port)


def free_port():
    """Return a free port, which nobody gets who asks for any port as long as this process runs.

    It is bound until then. Servers may bind it too, because they set one of these options.
    """
    holder = socket.socket()
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        holder.setsockopt(socket.SOL_SOCKET, option, 1)
    holder.bind(("127.0.0.1", 0))
    _HOLDERS.append(holder)
    return int(holder.getsockname()[1])


def answers(url):
    """Whether a server answers at this address."""
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
