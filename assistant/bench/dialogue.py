"""Scripted conversations: does every turn leave the state, the reply and the office as expected?

The scripts (dialogues_en.jsonl, dialogues_zh.jsonl) were written from the requirements. A turn
may expect `act` (a list for a compound sentence), `intent`, `continued`, `slots`, `asked`,
`active`, `suspended`, `says`, `says_not` (a list inside: any of these), `office` (query and first
value). No model is loaded: a turn that is not a rule's business has the act "model".
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from sqlite_utils import Database

from assistant.config import Config
from assistant.dialogues import Driver, Handled, load_gate, load_skills
from assistant.flowbook import load_book
from assistant.mind.dialogue import CONFIRM, Dialogue, Filled, Task
from assistant.skills.office import open_office
from assistant.testing import ScriptedMemory

HERE = Path(__file__).resolve().parent
LANGUAGES = ("en", "zh")
START = "2026-11-30T09:00"
"""a Monday, unless a script says otherwise"""
BETWEEN = timedelta(seconds=5)
"""from one turn to the next"""
LIMIT_MS = 5.0
"""99 of 100 decisions take no longer"""

Script = Mapping[str, Any]


class Driving(Protocol):
    """What takes a turn: dialogues.Driver."""

    def handle(
        self, dialogue: Dialogue, text: str, language: str, turn: int, now: datetime, said: str = ""
    ) -> Handled: ...


MakeDriver = Callable[[Script], tuple[Driving, Database]]
"""A driver and the fresh sample office it works on."""


@dataclass(slots=True)
class Played:
    """What came of one conversation."""

    id: str
    turns: int = 0
    wrong: int = 0
    """turns with a mismatch"""
    mismatches: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    """of each turn: the decision and its action"""
    model_calls: int = 0
    """turns left to the model although a rule was expected to decide"""
    re_asks: int = 0
    """questions for something that was known"""


def scripts(language: str) -> list[Script]:
    """The conversations in a language."""
    lines = (HERE / f"dialogues_{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [{"language": language, **json.loads(line)} for line in lines if line.strip()]


def run_conversation(conversation: Script, make_driver: MakeDriver) -> list[str]:
    """Everything that is not as expected."""
    return play(conversation, make_driver).mismatches


def play(conversation: Script, make_driver: MakeDriver) -> Played:
    """Hold the conversation; an exception is a mismatch that ends it."""
    driver, office = make_driver(conversation)
    played = Played(conversation["id"])
    now = datetime.fromisoformat(conversation.get("now", START))
    dialogue, said = Dialogue(), ""
    with closing(office.conn):
        for turn in conversation["turns"]:
            if turn.get("restart"):
                dialogue = Dialogue.from_dict(json.loads(json.dumps(dialogue.to_dict())))
                continue
            now += timedelta(minutes=turn.get("wait_minutes", 0)) + BETWEEN
            played.turns += 1
            began = time.perf_counter()
            try:
                handled = driver.handle(
                    dialogue, turn["user"], conversation["language"], played.turns, now, said
                )
            except Exception as error:
                _note(played, turn, [f"raised {error!r}"])
                break
            played.milliseconds.append((time.perf_counter() - began) * 1000)
            again = asked_again(dialogue, handled)
            played.re_asks += len(again)
            played.model_calls += _acts(handled) == ["model"] != _listed(turn.get("act", "model"))
            _note(played, turn, again + _faults(turn, handled, office))
            dialogue, said = handled.dialogue, " ".join(handled.replies)
    left = sum("user" in turn for turn in conversation["turns"]) - played.turns
    return replace(played, turns=played.turns + left, wrong=played.wrong + left)


def _note(played: Played, turn: Mapping[str, Any], faults: Sequence[str]) -> None:
    start = f"{played.id}, turn {played.turns}, {turn['user']!r}"
    played.mismatches += [f"{start}: {fault}" for fault in faults]
    played.wrong += bool(faults)


def asked_again(before: Dialogue, handled: Handled) -> list[str]:
    """A question for a slot that is filled, was filled a moment ago, or was not wanted."""
    task = handled.dialogue.task
    if task is None or task.asked in ("", CONFIRM):
        return []
    if task.asked in task.slots:
        return [f"asks for {task.asked} again, which is {task.slots[task.asked].value!r}"]
    if {"run", "restarted", "undone", "cancelled"} & set(_acts(handled)):
        return []  # "A302 is taken, which one?"; emptied on purpose
    for old in (before.task, *before.suspended):
        if old is not None and old.name == task.name and handled.decisions[-1].continued:
            if task.asked in old.slots:
                return [f"has lost {task.asked} ({old.slots[task.asked].value!r}) and asks for it"]
            if task.asked in old.declined:
                return [f"offers {task.asked} again"]
    return []


def _faults(turn: Mapping[str, Any], handled: Handled, office: Database) -> list[str]:
    """Every expectation that does not hold."""
    last, after = handled.decisions[-1], handled.dialogue
    acts = _acts(handled)
    have: dict[str, Any] = {
        "act": acts if isinstance(turn.get("act"), list) else acts[0] if len(acts) == 1 else acts,
        "intent": last.intent,
        "continued": last.continued,
        "asked": after.task.asked if after.task else "",
        "active": after.task.name if after.task else None,
        "suspended": [task.name for task in after.suspended],
    }
    why = f" ({'; '.join(part for one in handled.decisions for part in one.why)})"
    faults = [
        f"{key} is {value!r}, not {turn[key]!r}{why if key == 'act' else ''}"
        for key, value in have.items()
        if key in turn and value != turn[key]
    ]
    return faults + _slot_faults(turn, handled) + _reply_faults(turn, handled) + _held(turn, office)


def _slot_faults(turn: Mapping[str, Any], handled: Handled) -> list[str]:
    slots = {name: one.value for name, one in _slots(handled).items()}
    return [
        f"{name} is {slots.get(name)!r}, not {value!r}"
        for name, value in turn.get("slots", {}).items()
        if slots.get(name, "").casefold() != value.casefold()
    ]


def _slots(handled: Handled) -> Mapping[str, Filled]:
    """Of the task that the decision was about."""
    last, after = handled.decisions[-1], handled.dialogue
    tasks: list[Task] = [after.task] if after.task else []
    tasks += [done.task for done in after.done[-1:]]
    return next((task.slots for task in tasks if task.name == last.intent), last.slots)


def _reply_faults(turn: Mapping[str, Any], handled: Handled) -> list[str]:
    reply = " ".join(handled.replies)
    if _acts(handled) == ["model"]:
        return [f"the model is to answer, yet it says {reply!r}"] if reply else []
    if not reply or "{" in reply or "[" in reply:
        return [f"says {reply!r}"]
    low = reply.casefold()
    wanted = [_listed(words) for words in turn.get("says", ())]
    return [
        f"does not say {' or '.join(words)}: {reply!r}"
        for words in wanted
        if not any(word.casefold() in low for word in words)
    ] + [f"says {word}: {reply!r}" for word in turn.get("says_not", ()) if word.casefold() in low]


def _held(turn: Mapping[str, Any], office: Database) -> list[str]:
    """The office database holds the truth."""
    faults = []
    for sql, expected in turn.get("office", ()):
        row = office.execute(sql).fetchone()
        found = row[0] if row else None
        if found != expected:
            faults.append(f"{sql} is {found!r}, not {expected!r}")
    return faults


def _acts(handled: Handled) -> list[str]:
    return [decision.act for decision in handled.decisions]


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list) else [value]


def makers(config: Config, folder: Path) -> Callable[[Script], tuple[Driver, Database]]:
    """A fresh sample office for each conversation. Raises ConfigError, StorageError."""
    book = load_book([Path(one).expanduser() for one in config.flows.folders], load_skills())
    gate = load_gate()
    names = iter(range(10**6))

    def make(conversation: Script) -> tuple[Driver, Database]:
        office = open_office(folder / f"{next(names)}.db")
        denied = conversation.get("denied", ())
        driver = Driver(book, office, denied=denied, gate=gate, minutes=config.flows.task_minutes)
        driver.memory = ScriptedMemory(*conversation.get("memory", ()))
        return driver, office

    return make


def figures(played: Sequence[Played]) -> dict[str, Any]:
    """All conversations together."""
    spent = sorted(one for conversation in played for one in conversation.milliseconds)
    turns = sum(one.turns for one in played)
    wrong = sum(one.wrong for one in played)
    return {
        "conversations": len(played),
        "turns": turns,
        "right": turns - wrong,
        "wrong": wrong,
        "wrong_conversations": sum(bool(one.mismatches) for one in played),
        "model_calls": sum(one.model_calls for one in played),
        "re_asks": sum(one.re_asks for one in played),
        "decision_ms_p50": _percentile(spent, 0.50),
        "decision_ms_p99": _percentile(spent, 0.99),
    }


def _percentile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[int(share * (len(ordered) - 1))], 3) if ordered else 0.0


def run(config: Config) -> Iterator[Played]:
    """Hold every conversation on a temporary office."""
    with tempfile.TemporaryDirectory(prefix="office-") as folder:
        make = makers(config, Path(folder))
        driver, _ = make({})
        driver.warm()  # as at the start of the program
        for language in LANGUAGES:
            for conversation in scripts(language):
                yield play(conversation, make)


def report(config: Config, emit: Callable[..., None], *, as_json: bool) -> int:
    """The command: what went wrong, then one object. 0 when all is as expected and in time."""
    played = []
    for one in run(config):
        played.append(one)
        for fault in one.mismatches:
            emit({"id": one.id, "fault": fault}, fault)
    result = figures(played)
    lines = "" if as_json else "\n".join(f"{key}: {value}" for key, value in result.items())
    emit(result, lines)
    missed = result["wrong"] or result["re_asks"] or result["model_calls"]
    return 1 if missed or result["decision_ms_p99"] > LIMIT_MS else 0
