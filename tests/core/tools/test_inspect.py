"""Inspect: its logs as JSON and as archives."""

import json
import zipfile

import pyarrow as pa

from tool_files import INSPECT_SAMPLE, only, opened


def test_an_inspect_log_is_read_as_json_and_from_its_archive(tmp_path):
    log = tmp_path / "log.json"
    log.write_text(
        json.dumps({"version": 2, "eval": {"model": "openai/m"}, "samples": [INSPECT_SAMPLE]})
    )
    archive = tmp_path / "log.eval"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", "{}")
        file.writestr("samples/s1_epoch_1.json", json.dumps(INSPECT_SAMPLE))
    zstd = tmp_path / "zstd.eval"
    zstd.write_bytes(_zstd_archive("samples/s1_epoch_1.json", json.dumps(INSPECT_SAMPLE).encode()))
    for path in (log, archive, zstd):
        title, response = only(path)
        assert title == "an Inspect log"
        assert response.query == "q"
        assert response.answer == "a"
        assert response.reference == "a\nb"
        assert response.passages == ("p1", "p2")
        assert response.generator_model == "openai/m"
        assert response.metadata["prompt_tokens"] == 3
        _, (verdict,) = opened(path, "verdicts")
        assert {score.dimension: score.value for score in verdict.verdict.scores} == {
            "match": 1,
            "graded depth": 0.5,
        }


def _zstd_archive(name, content):
    """Return a ZIP file as newer versions of Inspect write it; Python 3.11 can neither write nor read them."""
    packed = pa.compress(content, codec="zstd", asbytes=True)
    sizes = b"".join(len(part).to_bytes(4, "little") for part in (packed, content))
    method, length = (number.to_bytes(2, "little") for number in (93, len(name)))
    common = b"\0\0" + method + bytes(8) + sizes + length + bytes(2)
    local = b"PK\3\4\x3f\0" + common + name.encode() + packed
    entry = b"PK\1\2\x3f\0\x3f\0" + common + bytes(2 + 2 + 2 + 4 + 4) + name.encode()
    ends = (len(part).to_bytes(4, "little") for part in (entry, local))
    return local + entry + b"PK\5\6" + bytes(4) + b"\1\0\1\0" + b"".join(ends) + bytes(2)


def test_an_encrypted_sample_is_damage_and_not_a_crash(tmp_path):
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("s1", "s2"):
            archive.writestr(f"samples/{name}_epoch_1.json", json.dumps(INSPECT_SAMPLE))
    content = bytearray(file.read_bytes())
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # of the second sample
        content[content.rindex(header) + flags] |= 1
    file.write_bytes(content)
    reading, (first, *_) = opened(file)
    assert first.query == "q"
    assert "s2_epoch_1" in str(reading.unreadable)
