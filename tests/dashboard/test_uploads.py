"""Uploads: only in sessions of people who may import, and within limits for a session and for all together."""

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web.server.starlette.starlette_routes import create_upload_routes

from judgeboard.domain import Role
from judgeboard.people.roster import add_person, change_role
from judgeboard_dashboard import sign_in, uploads
from judgeboard_dashboard.sign_in import SignIn, SignIns, provider_entry

MB = 1024 * 1024
MULTIPART = {"content-type": "multipart/form-data; boundary=b"}


class Server:
    """Streamlit's routes for uploads behind our limits: 1 MB for a file, 2 for a session, 3 for all."""

    def __init__(self):
        self.files = MemoryUploadedFileManager("/_stcore/upload_file")
        runtime = SimpleNamespace(is_active_session=lambda _session_id: True)
        self._app = Starlette(
            routes=create_upload_routes(runtime, self.files, None),
            middleware=[Middleware(uploads.LimitedUploads)],
        )

    @property
    def held(self):
        """The ids of the files in memory, by session."""
        return {
            session: sorted(files) for session, files in self.files.file_storage.items() if files
        }

    async def put(self, session, file, size=MB // 2, **body):
        body = body or {"files": {"file": ("a.csv", b"x" * size)}}
        async with self.client() as client:
            return await client.put(f"/_stcore/upload_file/{session}/{file}", **body)

    def status_of(self, session, file, *size):
        return asyncio.run(self.put(session, file, *size)).status_code

    def client(self):
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self._app), base_url="http://localhost"
        )


@pytest.fixture
def server(monkeypatch):
    for name, size in (("FILE_MB", 1), ("SESSION_MB", 2), ("ALL_MB", 3)):
        monkeypatch.setattr(uploads, name, size)
    served = Server()
    monkeypatch.setattr(uploads, "_files", lambda: served.files)
    monkeypatch.setattr(uploads, "_is_active", lambda session_id: session_id != "closed")
    monkeypatch.setattr(uploads, "_sign_ins", {})
    monkeypatch.setattr(uploads, "sign_in", lambda: SignIn(asked=False))
    before = {
        name: config.get_option(name)
        for name in ("server.enableXsrfProtection", "server.maxUploadSize")
    }
    config.set_option("server.enableXsrfProtection", False)
    config.set_option("server.maxUploadSize", 1)
    yield served
    for name, value in before.items():
        config.set_option(name, value)


def test_a_new_file_replaces_the_earlier_one_of_its_session(server):
    for file in ("first", "second", "third"):
        assert server.status_of("mine", file) == 204
    asyncio.run(server.put("yours", "other"))
    assert server.held == {"mine": ["third"], "yours": ["other"]}


def test_a_session_and_all_sessions_together_have_a_limit_that_frees_itself(server):
    async def begin(client, session, ready):
        async def slow():
            ready.set()
            await end.wait()
            yield b""

        return await client.put(
            f"/_stcore/upload_file/{session}/slow", content=slow(), headers=MULTIPART
        )

    async def scenario():
        async with server.client() as client, asyncio.TaskGroup() as group:
            for session in ("mine", "mine", "yours"):  # chunked: each may still send 1 MB
                ready = asyncio.Event()
                group.create_task(begin(client, session, ready))
                await ready.wait()
            own, all_ = await server.put("mine", "more"), await server.put("third", "more")
            assert own.status_code == 413
            assert all_.status_code == 503
            assert "2 MB" in own.text
            assert "3 MB" in all_.text
            end.set()
        assert (await server.put("mine", "more")).status_code == 204
        assert server.held == {"mine": ["more"]}

    end = asyncio.Event()
    asyncio.run(scenario())


def test_files_of_closed_sessions_give_way(server):
    for session in ("closed", "mine", "yours", "third"):
        assert server.status_of(session, "file", MB * 9 // 10) == 204
    assert server.held == {"mine": ["file"], "yours": ["file"], "third": ["file"]}
    assert server.status_of("fourth", "file", MB * 9 // 10) == 503


def test_a_body_without_an_end_is_cut_off(server):
    sent = 0

    async def endless():
        nonlocal sent
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while True:
            sent += 1
            yield b"x" * MB

    put = server.put("mine", "endless", content=endless(), headers=MULTIPART)
    assert asyncio.run(put).status_code == 413
    assert sent < 5
    assert server.held == {}


def test_with_sign_in_only_who_may_import_and_has_opened_the_page_uploads(
    server, sqlite_store, monkeypatch
):
    add_person(sqlite_store, "bob@example.org", Role.LEAD, "cli:root")
    monkeypatch.setattr(sign_in, "_ended", SignIns())
    bob = provider_entry({"email": "bob@example.org", "email_verified": True})
    monkeypatch.setattr(uploads, "sign_in", lambda: SignIn(asked=True))
    monkeypatch.setattr(uploads, "store", lambda: sqlite_store)
    uploads._sign_ins["of bob"] = [bob]
    refused = asyncio.run(server.put("of nobody", "file"))
    assert refused.status_code == 403
    assert "sign in" in refused.text
    assert server.status_of("of bob", "file") == 204
    change_role(sqlite_store, "bob@example.org", Role.REVIEWER, "cli:root")
    assert server.status_of("of bob", "other") == 403
    change_role(sqlite_store, "bob@example.org", Role.LEAD, "cli:root")
    bob.end()
    assert server.status_of("of bob", "other") == 403
    assert server.held == {"of bob": ["file"]}
