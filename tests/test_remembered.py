"""Told, ended, started again: known to that person and to nobody else (C8), on the real weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assistant.config import Config
from assistant.errors import ModelError
from assistant.memory.banks import Banks
from assistant.weights import find

ROOT = Path(__file__).resolve().parent.parent
WAYS = ("end of input", "kill -9")

STORIES = {
    "en": (
        [
            "Hello, my name is Alex.",
            "My sister is called Anna and she lives in Madrid.",
            "I am allergic to peanuts.",
            "I work as a nurse in a hospital.",
            "My dog is called Max.",
        ],
        [
            ("What is my name?", "alex"),
            ("Where does my sister live?", "madrid"),
            ("What am I allergic to?", "peanut"),
            ("What is my job?", "nurse"),
            ("What is the name of my dog?", "max"),
        ],
    ),
    "zh": (
        [
            "你好，我叫小明。",
            "我姐姐住在上海。",
            "我对花生过敏。",
            "我在医院当护士。",
            "我的狗叫旺财。",
        ],
        [
            ("我叫什么名字？", "小明"),
            ("我姐姐住在哪里？", "上海"),
            ("我对什么过敏？", "花生"),
            ("我做什么工作？", "护士"),
            ("我的狗叫什么？", "旺财"),
        ],
    ),
}


@pytest.fixture(scope="session")
def model() -> None:
    try:
        find(Config().llm.model, "llm")
    except ModelError as error:
        pytest.skip(str(error))


def chat(folder: Path, bank: str) -> subprocess.Popen[str]:
    options = ["--data", str(folder), "--set", "memory.key=file"]
    return subprocess.Popen(
        [sys.executable, "run.py", *options, "chat", "--bank", bank],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def say(folder: Path, bank: str, lines: list[str], *, killed: bool = False) -> list[str]:
    """The replies; `killed`: nothing is given time after the last one is out."""
    with chat(folder, bank) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        replies = [process.stdout.readline().strip() for _ in lines]
        if killed:
            process.kill()
        process.stdin.close()
        process.wait(60)
    return replies


@pytest.mark.models
@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("language", STORIES)
def test_c8_five_facts_are_known_after_a_restart_and_to_nobody_else(
    tmp_path: Path, language: str, way: str
) -> None:
    told, asked = STORIES[language]
    say(tmp_path, "one", told, killed=way == "kill -9")
    replies = say(tmp_path, "ONE", [question for question, _ in asked])
    right = [answer in reply.casefold() for (_, answer), reply in zip(asked, replies, strict=True)]
    assert sum(right) >= len(asked) - 1, replies  # a small model may word one oddly
    strange = say(tmp_path, "other", [question for question, _ in asked])
    for (question, answer), reply in zip(asked, strange, strict=True):
        assert answer not in reply.casefold(), f"{question} {reply}"
    readable = b"".join(path.read_bytes() for path in tmp_path.rglob("*.db*"))
    words = [answer.encode() for _, answer in asked if len(answer.encode()) > 4]
    assert words  # a shorter one turns up in random bytes by chance
    assert not any(word in readable.lower() for word in words)
    assert Banks(tmp_path, "file").names() == ["one", "other"]
