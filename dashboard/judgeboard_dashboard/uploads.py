"""Uploads: who may send files to the server, and how much memory the files may take."""

import asyncio
import re
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgeboard.domain import Action
from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.permissions import may, why_not
from judgeboard.people.roster import admit
from judgeboard_dashboard.session import store
from judgeboard_dashboard.sign_in import Entry, entries, sign_in, valid_sign_in
from judgeboard_dashboard.window import Wrapper

if TYPE_CHECKING:
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

FILE_MB = 200
SESSION_MB = 2 * FILE_MB  # a file, and the next file that replaces the first
ALL_MB = 5 * FILE_MB
_MB = 1024 * 1024
_PATH = re.compile(r"/_stcore/upload_file/(?P<session>[^/]+)/[^/]+/?")

_sign_ins: dict[str, list[Entry]] = {}  # of who opened the page Sources, by session
_arriving: Counter[str] = Counter()  # bytes that requests are sending now, by session


def expect_upload() -> None:
    """Let the session of this page send files. The page has checked the permission of the person."""
    context = get_script_run_ctx()
    if context is None or not sign_in().asked:
        return
    for session_id in [each for each in _sign_ins if not _is_active(each)]:
        _sign_ins.pop(session_id, None)
    _sign_ins[context.session_id] = entries()


class LimitedUploads(Wrapper):
    """Refuses an upload before the body is read, if the person may not import or files would take too much memory.

    The memory is free again when a file is deleted or replaced, or when the session ends.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse the request."""
        upload = (
            _PATH.fullmatch(scope["path"])
            if scope["type"] == "http" and scope["method"] == "PUT"
            else None
        )
        if upload is None:
            await self.app(scope, receive, send)
            return
        session_id = upload["session"]
        # The bytes that the request may send. Without a length, the limit is applied while the body
        # is read.
        length = Headers(scope=scope).get("content-length")
        size = int(length) if length is not None and length.isdecimal() else FILE_MB * _MB
        refusal = await asyncio.to_thread(_why_refused, session_id) or _too_much(session_id, size)
        if refusal is not None:
            status, sentence = refusal
            await PlainTextResponse(sentence, status)(
                scope, receive, send
            )  # uvicorn drops the body unread
            return
        before = set(_files().file_storage.get(session_id, ()))
        is_stored = False

        async def noted(message: Message) -> None:
            nonlocal is_stored
            is_stored = is_stored or (
                message["type"] == "http.response.start"
                and message["status"] < HTTPStatus.BAD_REQUEST
            )
            await send(message)

        _arriving[session_id] += size
        try:
            await self.app(scope, receive, noted)
        finally:
            _arriving[session_id] -= size
            if not _arriving[session_id]:
                del _arriving[session_id]
        if is_stored:  # the page has one field for a file, and this file replaces the earlier one
            for file_id in before - {scope["path"].rstrip("/").rpartition("/")[2]}:
                _files().remove_file(session_id, file_id)


def _why_refused(session_id: str) -> tuple[int, str] | None:
    if not sign_in().asked:
        return None
    if session_id not in _sign_ins:
        return (
            HTTPStatus.FORBIDDEN,
            "Uploads are for people who may import: sign in, then open the page Sources.",
        )
    try:
        person = admit(store(), valid_sign_in(_sign_ins[session_id]).name)
    except (BadInput, NotAllowed) as error:
        return HTTPStatus.FORBIDDEN, str(error)
    if not may(person, Action.IMPORT):
        return HTTPStatus.FORBIDDEN, why_not(Action.IMPORT, person)
    return None


def _too_much(session_id: str, size: int) -> tuple[int, str] | None:
    used_bytes = _taken()
    if (
        used_bytes.total() + size > ALL_MB * _MB
    ):  # Streamlit keeps the files of a closed session for some minutes
        for session in [each for each in _files().file_storage if not _is_active(each)]:
            _files().remove_session_files(session)
        used_bytes = _taken()
    if used_bytes[session_id] + size > SESSION_MB * _MB:
        sentence = (
            f"One session may hold {SESSION_MB} MB of uploads. Reload the page and upload one file."
        )
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence
    if used_bytes.total() + size > ALL_MB * _MB:
        sentence = f"The uploads of all people may take {ALL_MB:,} MB. Try again later, or use `judgeboard import`."
        return HTTPStatus.SERVICE_UNAVAILABLE, sentence
    return None


def _taken() -> Counter[str]:
    """Return the bytes that uploads take or may soon take, by session."""
    used_bytes = _arriving.copy()
    for session_id, files in _files().file_storage.copy().items():
        used_bytes[session_id] += sum(len(file.data) for file in files.values())
    return used_bytes


def _is_active(session_id: str) -> bool:
    return Runtime.instance().is_active_session(session_id)


def _files() -> "MemoryUploadedFileManager":
    return cast("MemoryUploadedFileManager", Runtime.instance().uploaded_file_mgr)
