"""The rules of the house, walked through on the source: who may import whom, sizes, languages."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "assistant"
FILES = sorted(HOUSE.rglob("*.py"))

LEVELS = [
    {"cores", "errors", "sealed", "redact", "wording", "workers", "events", "speakable"},
    {"stages", "config", "clock", "options"},
    {"weights", "chat", "evidence", "expected", "languages"},
    {
        "weights_fetch",
        "audio",
        "vad",
        "endpoint",
        "smart_turn",
        "barge_in",
        "patience",
        "llm",
        "llm_library",
        "asr",
        "tts",
        "mind",
    },
    {"weights_pull", "snapshots", "flowbook", "flow_source", "flow_train"},
    {"rendering"},
    {"memory", "mouth", "ears", "skills"},
    {"dialogues", "acting"},
    {"home"},
    {"marks"},
    {"planner", "floor"},
    {"turns"},
    {"ahead"},
    {"loop"},
    {"wiring"},
    {"hearing"},
    {"app", "testing"},
    {"console"},
    {
        "demo",
        "commands",
        "flow_commands",
        "memory_commands",
        "say",
        "transcribe",
        "weights_commands",
        "bench",
        "servers",
    },
    {"cli_bench", "cli_flows", "cli_memory"},
    {"cli"},
    {"__main__"},
]
"""From the ground floor up: a room may use its own level and those below."""

ROOMS = {path.name.removesuffix(".py") for path in HOUSE.iterdir()} - {
    *("__init__", "__pycache__", "words", "prompts", "speech", "flows"),
}

HEAVY = {
    "faster_whisper", "ctranslate2", "llama_cpp", "piper", "onnxruntime", "sounddevice",
    "soundfile", "soxr", "av", "rich", "jiwer", "whisper_normalizer", "psutil", "opencc",
    "sklearn", "rapidfuzz", "jellyfish", "pypinyin", "text_to_num", "cn2an", "keyring",
}  # fmt: skip
"""Imported where they are needed, so that `--help` and the tests start at once."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def level(name: str) -> int:
    found = [number for number, rooms in enumerate(LEVELS) if name in rooms]
    assert found, f"{name} has no level yet: put it into LEVELS"
    return found[0]


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_imports_point_down(path: Path) -> None:
    if room(path) == "__init__":
        return
    own = level(room(path))
    for name in imports(parsed(path)):
        parts = name.split(".")
        if parts[0] == "assistant" and len(parts) > 1 and parts[1] in ROOMS:
            assert level(parts[1]) <= own, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_only_workers_start_threads(path: Path) -> None:
    if path.name == "workers.py":
        return
    names = set(imports(parsed(path)))
    assert not names & {"threading", "queue", "multiprocessing", "_thread", "asyncio"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_heavy_libraries_are_imported_where_they_are_needed(path: Path) -> None:
    tree = parsed(path)
    top = ast.Module([n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))], [])
    assert not {name.split(".")[0] for name in imports(top)} & HEAVY


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_mind_is_pure() -> None:
    """No clock, no database, no model handle, no network in mind/."""
    forbidden = {"time", "sqlite3", "sqlite_utils", "socket", "random", "llama_cpp"}
    for path in (HOUSE / "mind").glob("*.py"):
        tree = parsed(path)
        names = {name.split(".")[0] for name in imports(tree)}
        assert not names & forbidden, path.name
        # moments are handed in; nobody looks at a clock
        assert not _calls(tree, {"now", "utcnow", "today"}), path.name


def _calls(tree: ast.AST, names: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        for node in ast.walk(tree)
    )


def test_no_fault_is_swallowed() -> None:
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or getattr(node.type, "id", "") == "Exception"
                silent = all(isinstance(item, ast.Pass) for item in node.body)
                assert not (broad and silent), f"{path.name}:{node.lineno}"


def test_words_exist_in_every_language_with_the_same_gaps() -> None:
    tables = {}
    for name in ("en", "zh"):
        with (HOUSE / "words" / f"{name}.toml").open("rb") as file:
            tables[name] = tomllib.load(file)
    assert tables["en"].keys() == tables["zh"].keys()
    for key in tables["en"]:
        gaps = [sorted(re.findall(r"\{(\w+)\}", tables[name][key])) for name in tables]
        assert gaps[0] == gaps[1], key
