"""Called by a script as `judgeboard`: hands over what a process gets, and ends with the exit code of the command.

Starts without the packages of the environment: see `forked_commands`.
"""

import os
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
socket.send_fds(connection, [b"."], [0, 1, 2])
environment = [f"{name}={value}" for name, value in os.environ.items()]
message = "\0".join([os.getcwd(), str(len(environment)), *environment, *sys.argv[2:]])  # noqa: PTH109 - pathlib costs half of its start
connection.sendall(message.encode("utf-8", "surrogateescape"))
connection.shutdown(socket.SHUT_WR)
sys.exit(int(connection.recv(9)))
