"""Addresses are checked and named before anything is sent to them."""

import subprocess
import sys

import pytest

from judgeboard.errors import BadInput
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.llm.provider import host_of, is_address
from judgeboard.runs.judging import make_judge


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("http://localhost:8000/v1", True),
        ("https://user:secret@proxy.example/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://", False),
        ("http:///v1", False),
        ("http://host:nine/v1", False),
        ("http://host:99999/v1", False),
        ("http://[::1/v1", False),
        ("ftp://host/v1", False),
        ("localhost:8000", False),
    ],
)
def test_what_is_no_address_is_refused_before_a_run_begins(address: str, good: bool) -> None:
    assert is_address(address) is good
    if not good:
        with pytest.raises(BadInput, match="--base-url must be"):
            make_judge("rag", model="m", base_url=address)


def test_a_host_is_named_without_its_password() -> None:
    assert host_of("https://user:secret@proxy.example:81/v1") == "proxy.example:81"
    assert host_of(OPENAI.base_url) == "api.openai.com"


def test_naming_a_judge_version_loads_no_client() -> None:
    code = (
        "import sys; from judgeboard.runs.judging import make_judge; "
        "print(make_judge('rag', model='m', api_key='k').version.model, 'openai' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["m", "False"]
