"""A session with a served page without a browser: speaks Streamlit's protocol, and keeps all that the server sends.

A browser is sent the same, and takes ten times as long to draw it.
"""

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

FILE = re.compile(r'"(/media/[^"]+)"')


@dataclass
class PageSession:
    """What a server sent in a session, by the address that was open."""

    url: str
    socket: ClientConnection
    sent: dict[str, list[bytes]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    session_id: str = ""
    at: str = ""

    def open(self, address):
        """Run a page, and read all the files that it names or offers."""
        self.at, target, run = address, urlsplit(address), BackMsg()
        run.rerun_script.page_name, run.rerun_script.query_string = (
            target.path.strip("/"),
            target.query,
        )
        self.socket.send(run.SerializeToString())
        offered = []
        while (message := self._receive()).script_finished or not message.HasField(
            "script_finished"
        ):
            assert not message.HasField("page_not_found"), address
            if message.HasField("new_session"):  # also in the middle: the page asked for a new run
                self.session_id, offered = message.new_session.initialize.session_id, []
            elif file := message.delta.new_element.download_button.deferred_file_id:
                offered.append(file)
        for file in offered:
            self._have_made(file)
        for file in self.files:
            self._keep(httpx.get(self.url + file).raise_for_status().content)
        self.files.clear()

    def _have_made(self, file):
        """Ask for a file that is made when its button is pressed."""
        asked = BackMsg()
        request = asked.backend_operation_request
        request.request_id = request.deferred_file.file_id = file
        request.session_id = self.session_id
        self.socket.send(asked.SerializeToString())
        while not (answer := self._receive()).HasField("backend_operation_response"):
            pass
        assert not answer.backend_operation_response.error_msg, answer

    def _receive(self):
        frame = self.socket.recv(timeout=60, decode=False)
        self._keep(frame)
        message = ForwardMsg.FromString(frame)
        if b"/media/" in frame:
            self.files |= set(FILE.findall(str(message)))
        return message

    def _keep(self, came):
        self.sent.setdefault(self.at, []).append(came)


@contextmanager
def page_session(url, cookies, headers=()):
    """Begin a session of a browser with these cookies and further headers."""
    with connect(
        f"{url.replace('http', 'ws')}/_stcore/stream",
        origin=Origin(url),
        subprotocols=[
            Subprotocol(name) for name in ("streamlit", cookies.get("_streamlit_xsrf")) if name
        ],
        additional_headers=[
            ("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())),
            *headers,
        ],
        max_size=None,
    ) as socket:
        yield PageSession(url, socket)
