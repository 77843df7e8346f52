"""`judgeboard` in processes that are forked from one that has imported it: all else of a start takes a second."""

import os
import shlex
import socket
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from served import OpenFile, fork_server

CLIENT = Path(__file__).with_name("command_client.py")


class ForkedCommand:
    """A command in a process of its own, to be used like one that `subprocess` has started."""

    _ends_with_this_process = True

    def __init__(self, words, files, environment, folder):
        """Start it; ``files`` become its standard input, output and error output."""
        task = list(words), [OpenFile(number) for number in files], dict(environment), str(folder)
        self._process = fork_server().Process(
            target=_run, args=(self._main, *task), daemon=self._ends_with_this_process
        )
        self._process.start()

    @staticmethod
    def _main(words):
        sys.argv = ["judgeboard", *words]
        from judgeboard.cli import main

        main()

    @property
    def pid(self):
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self):
        """The exit code, or None as long as it runs."""
        return self._process.exitcode

    def send_signal(self, number):
        """Send it a signal."""
        os.kill(self.pid, number)

    def terminate(self):
        """Ask it to end."""
        self._process.terminate()

    def kill(self):
        """End it as a power cut would."""
        self._process.kill()

    def wait(self, timeout=None):
        """Wait for its end and return the exit code."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode


class ReadCommand(ForkedCommand):
    """A command whose output can be read; ``stderr``: where its error output goes instead."""

    def __init__(self, *words, stderr=None, **environment):
        """Start it."""
        output, to_output = os.pipe()
        errors, to_errors = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        files = nothing, to_output, to_errors if stderr is None else stderr
        super().__init__(words, files, {**os.environ, **environment}, Path.cwd())
        for number in (nothing, to_output, to_errors):
            os.close(number)
        self.stdout = os.fdopen(output, encoding="utf-8")
        self.stderr = os.fdopen(errors, encoding="utf-8")

    def __enter__(self):
        """Return it."""
        return self

    def __exit__(self, error, *_):
        """Wait for its end; after an error, end it."""
        if error is not None:
            self.kill()
        self.stdout.close()
        self.stderr.close()
        self.wait()


class ForkedPython(ForkedCommand):
    """What `python -u -c CODE …` runs, in a process that may start others of its own."""

    _ends_with_this_process = False

    @staticmethod
    def _main(words):
        place = words.index("-c")
        code = words.pop(place + 1)
        sys.argv = words[place:]
        exec(code, {"__name__": "__main__"})


class PipedPython(ForkedPython):
    """Python code in a process of its own, with pipes for its standard input and output; ``errors`` is a file."""

    _ends_with_this_process = True

    def __init__(self, code, *words, folder, errors, **environment):
        """Start it."""
        input_, to_input = os.pipe()
        output, to_output = os.pipe()
        files = input_, to_output, errors.fileno()
        super().__init__(["-c", code, *words], files, environment, folder)
        os.close(input_)
        os.close(to_output)
        self.stdin = os.fdopen(to_input, "w", encoding="utf-8")
        self.stdout = os.fdopen(output, encoding="utf-8")

    def communicate(self):
        """Wait for its end and return what else it prints."""
        self.stdin.close()
        with self.stdout:
            rest = self.stdout.read()
        self.wait()
        return rest


def _run(main, words, files, environment, folder):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    main(words)


@contextmanager
def shell_function():
    """Yield a function for a script of a shell: with it, the script's `judgeboard` is forked."""
    with forking(ForkedCommand) as client:
        yield f'judgeboard() {{ {client} "$@"; }}\n'


@contextmanager
def forking(command):
    """Yield the first words of a command line that is run by such a ``command`` with its other words."""
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):  # a short path
        address = f"{folder}/commands"
        listener.bind(address)
        listener.listen()
        Thread(target=_accept, args=[listener, command], daemon=True).start()
        try:
            yield shlex.join([sys.executable, "-IS", str(CLIENT), address])
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener, command):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the script has ended
            return
        Thread(target=_answer, args=[connection, command], daemon=True).start()


def _answer(connection, command):
    with connection:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        with connection.makefile("rb") as received:
            folder, count, *rest = received.read().decode("utf-8", "surrogateescape").split("\0")
        environment = dict(variable.split("=", 1) for variable in rest[: int(count)])
        process = command(rest[int(count) :], files, environment, folder)
        for number in files:
            os.close(number)
        code = process.wait()
        connection.sendall(str(code if code >= 0 else 128 - code).encode())
