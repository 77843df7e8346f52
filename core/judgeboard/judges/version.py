"""The content address of a judge version."""

import hashlib
import json

from judgeboard.domain import JudgeVersion


def prompt_hash(prompt: str) -> str:
    """Return the SHA-256 of a prompt's UTF-8 text as 64 hexadecimal digits."""
    return hashlib.sha256(prompt.encode()).hexdigest()


def fingerprint(version: JudgeVersion) -> str:
    """Return the SHA-256 over everything that makes a judge version, as 64 hexadecimal digits.

    Two versions have one fingerprint exactly when name, kind, model, parameters, prompt and scale are equal;
    the order of the parameters does not count. The bytes hashed are canonical JSON, so the address is the same
    in every process, on every machine and in every later release.

    Raises:
        ValueError: A parameter is NaN or infinite.
        TypeError: A parameter is not a JSON value.
    """
    content = {
        "name": version.name,
        "kind": version.kind,
        "model": version.model,
        "params": version.params,
        "prompt": None if version.prompt is None else prompt_hash(version.prompt),
        "scale": version.scale,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
