"""Which facts are kept for good, and are they right? Conversations against gold facts.

Plays every conversation through the product's own path, turn by turn, into a real database:
secrets out, notes (rules, and the model where they are not sure), state, memories, facts. The
conversations were written apart from the extractor; developers read failures of the half "tune".
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from assistant.bench.extraction_score import COUNTED, Heard, Verdict, judge
from assistant.config import Config
from assistant.llm import Weights
from assistant.memory.db import migrations
from assistant.memory.facts import load_memories, remember
from assistant.mind.merge import merge
from assistant.mind.notes import needs_model, note_messages, read_notes
from assistant.mind.remember import memories_of
from assistant.mind.state import State
from assistant.mind.words import stems
from assistant.redact import redact
from assistant.stages import LanguageModel
from assistant.weights import find
from assistant.workers import CancelToken

DATA = Path(__file__).with_suffix(".jsonl")
NOTES_CONTEXT = 1024
TURN_SECONDS = 20.0
"""between two turns of a conversation; the first is at noon"""
RULES_ONLY = "rules"
Talk = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """One turn and what it counts for."""

    talk: Talk
    number: int
    """of the turn, from 1"""
    verdict: Verdict
    stored: tuple[str, ...]
    seconds: float
    raw: str

    def to_dict(self) -> dict[str, Any]:
        verdict = self.verdict
        return {
            "id": f"{self.talk['id']}.{self.number}",
            "half": self.talk["half"],
            "language": self.talk["language"],
            "user": self.talk["turns"][self.number - 1]["user"],
            "ok": not verdict.faults,
            "stored": self.stored,
            "faults": verdict.faults,
            "raw": self.raw,
            "seconds": round(self.seconds, 3),
        }

    def line(self) -> str | None:
        """What a person wants to read: only what went wrong."""
        if not self.verdict.faults:
            return None
        said = self.talk["turns"][self.number - 1]["user"]
        return f"{self.talk['id']}.{self.number} {said} -> " + "; ".join(self.verdict.faults)


def talks(half: str | None = None) -> list[Talk]:
    """The conversations, of one half where it is named."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    every: list[Talk] = [json.loads(line) for line in lines if line.strip()]
    return [talk for talk in every if half in (None, talk["half"])]


@dataclass(slots=True)
class Listener:
    """One person's memory during one conversation."""

    config: Config
    model: LanguageModel | None
    talk: Talk
    db: Database = field(default_factory=lambda: Database(memory=True))
    state: State = field(default_factory=State)
    words: set[str] = field(default_factory=set)
    """stems said or confirmed so far"""
    user: str = ""
    reply: str = ""
    """what was said last, by the person and by the assistant"""

    def __post_init__(self) -> None:
        migrations.apply(self.db)

    def hear(self, number: int) -> Judged:
        """Turn `number` (from 1) through the whole path."""
        turn, language = self.talk["turns"][number - 1], self.talk["language"]
        began = time.perf_counter()
        said = self._without_secrets(turn["user"])
        raw = self._raw(said, language)
        before, active = self.state, load_memories()(self.db)
        update = read_notes(raw, said, language, number, before)
        self.state = merge(before, update, self.config.mind)
        at = datetime.fromisoformat(f"{self.talk['day']}T12:00:00")
        now = at.timestamp() + number * TURN_SECONDS
        memories = memories_of(
            update, before, said, language, at.date(),
            session=self.talk["id"], turn=number, last_reply=self.reply,
        )  # fmt: skip
        memories = [replace(one, said=now) for one in memories]
        ops = [(op.kind, op.memory) for op in remember(memories, now)(self.db)]
        spent = time.perf_counter() - began
        self.words |= {*stems(turn["user"]), *stems(said)}
        if turn.get("confirmed"):
            self.words |= {*stems(self.reply)}
        self.user, self.reply = said, turn["reply"]
        heard = Heard(turn, language, frozenset(self.words), ops, active, load_memories()(self.db))
        stored = tuple(f"{kind}: {one.text} [{one.subject}]" for kind, one in ops)
        return Judged(self.talk, number, judge(heard), stored, spent, raw)

    def _without_secrets(self, text: str) -> str:
        """As turns.py takes them out, before anything sees the words."""
        found = redact(text, after=self.reply)
        return found.text if found.kinds else redact(text, after=self.user).text

    def _raw(self, said: str, language: str) -> str:
        """The model's sentences, as the scribe asks for them."""
        if self.model is None or not needs_model(said, language):
            return ""
        messages = note_messages(said, language, self.reply)
        pieces = self.model.stream(
            messages, CancelToken(), max_tokens=self.config.mind.notes_tokens
        )
        return "".join(pieces)


def play(config: Config, model: LanguageModel | None, chosen: Sequence[Talk]) -> Iterator[Judged]:
    """Every turn of the conversations, each conversation with a memory of its own."""
    for talk in chosen:
        listener = Listener(config, model, talk)
        for number in range(1, len(talk["turns"]) + 1):
            yield listener.hear(number)
        listener.db.close()


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """Over all turns, then by language, half and kind of fact."""
    every = [one.verdict for one in judged]
    result: dict[str, Any] = {
        "turns": len(every),
        "gold": sum(one.gold for one in every),
        "stored": sum(one.stored for one in every),
        "precision": precision(every),
        "recall": recall(every),
    }
    for name, values in (("language", ("en", "zh")), ("half", ("tune", "held"))):
        for value in values:
            part = [one.verdict for one in judged if one.talk[name] == value]
            if part:
                result |= {f"precision_{value}": precision(part), f"recall_{value}": recall(part)}
    for kind in ("add", "update", "supersede"):
        result[f"recall_{kind}"] = _ratio(*_of_kind(every, kind))
    for name in COUNTED:
        result[name] = sum(one.counts.get(name, 0) for one in every)
    return result | {"seconds": round(sum(one.seconds for one in judged), 1)}


def precision(verdicts: Sequence[Verdict]) -> float:
    """Of what was stored, how much was right."""
    return _ratio(sum(one.right for one in verdicts), sum(one.stored for one in verdicts))


def recall(verdicts: Sequence[Verdict]) -> float:
    """Of what was worth storing, how much was found."""
    return _ratio(sum(len(one.found) for one in verdicts), sum(one.gold for one in verdicts))


def _of_kind(verdicts: Sequence[Verdict], kind: str) -> tuple[int, int]:
    found = sum(fact["kind"] == kind for one in verdicts for fact in one.found)
    return found, found + sum(fact["kind"] == kind for one in verdicts for fact in one.missed)


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def report(
    config: Config,
    model: str | None,
    emit: Callable[..., None],
    *,
    half: str | None = None,
    as_json: bool,
) -> None:
    """The command: every turn as it is judged, then one object with the figures.

    `model`: a GGUF under models/, or `RULES_ONLY`; None for the one in config.toml.
    """
    if model == RULES_ONLY:
        _show(config, None, talks(half), emit, name=model, as_json=as_json)
        return
    path = find(model or config.llm.model, "llm")
    with Weights.load(config.llm, path, gpu_layers=config.llm.gpu_layers) as weights:
        context = weights.context(NOTES_CONTEXT)
        _show(config, context, talks(half), emit, name=path.name, as_json=as_json)
        context.close()


def _show(
    config: Config,
    model: LanguageModel | None,
    chosen: Sequence[Talk],
    emit: Callable[..., None],
    *,
    name: str,
    as_json: bool,
) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    judged: list[Judged] = []
    with Progress(*columns, console=Console(stderr=True), disable=as_json) as bar:
        turns = bar.add_task("turns", total=sum(len(talk["turns"]) for talk in chosen))
        for one in play(config, model, chosen):
            judged.append(one)
            emit(one.to_dict(), one.line())
            bar.advance(turns)
    result = figures(judged) | {"model": name}
    emit(result, json.dumps(result, ensure_ascii=False))
