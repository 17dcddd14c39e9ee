"""How good is the mind? Replies and notes against what a person would expect, on the real weights.

The probes are split: wording and rules were tuned on the half "tune" only; "held" is the proof,
written before the tuning and spent once its failures have been read.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assistant.config import Config
from assistant.llm import Context, Weights
from assistant.mind.merge import merge
from assistant.mind.notes import needs_model, note_messages, provisional, read_notes
from assistant.mind.prompt import Exchange, reply_messages
from assistant.mind.reply import answer
from assistant.mind.state import Fact, State
from assistant.mind.words import is_cjk, stems
from assistant.weights import find
from assistant.workers import CancelToken

HERE = Path(__file__).resolve().parent
NOTES_CONTEXT = 1024
Probe = Mapping[str, Any]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """One probe and what came of it."""

    probe: Probe
    answer: str
    """the spoken reply, or the notes one a line"""
    right: int
    """replies: 1 or 0; notes: expected facts found"""
    wrong: int
    """notes that nobody expected"""
    expected: int
    seconds: float
    first_s: float = 0.0
    why: str = ""
    raw: str = ""

    def to_dict(self) -> dict[str, Any]:
        keys = ("id", "half", "kind", "language", "text")
        return {key: self.probe[key] for key in keys if key in self.probe} | {
            "answer": self.answer,
            "ok": self.right == self.expected and not self.wrong,
            "why": self.why,
            "raw": self.raw,
            "seconds": round(self.seconds, 3),
        }


def probes(name: str) -> list[Probe]:
    """The probes of `mind_replies` or `mind_notes`."""
    text = (HERE / f"mind_{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def reply_fault(probe: Probe, spoken: Sequence[str]) -> str:
    """ "" for a right reply, else what is wrong with it."""
    text = " ".join(spoken).lower()
    if not text:
        return "empty"
    for group in probe["must"]:
        if not any(word in text for word in group):
            return "none of: " + ", ".join(group)
    for word in probe.get("not", ()):
        if word in text:
            return f"says: {word}"
    if is_cjk(text) != (probe["language"] == "zh"):
        return "wrong language"
    if len(re.findall(r"[.!?。！？](?=\s|$|[^\x00-\x7f])", text)) > 2:
        return "more than two sentences"
    return ""


def score_notes(probe: Probe, notes: Sequence[str]) -> tuple[int, int, str]:
    """(expected facts found, notes nobody expected, what is wrong)."""
    gold = list(probe["gold"])
    optional = list(probe.get("optional", ()))
    found = {index for index, fact in enumerate(gold) if any(_says(note, fact) for note in notes)}
    surplus = [note for note in notes if not any(_says(note, fact) for fact in gold + optional)]
    missed = [fact["words"] for index, fact in enumerate(gold) if index not in found]
    why = "; ".join([f"missed: {words}" for words in missed] + [f"surplus: {s}" for s in surplus])
    return len(found), len(surplus), why


def _says(note: str, fact: Mapping[str, Any]) -> bool:
    """True when the note holds all words of the fact and is about the right one."""
    return set(stems(fact["words"])) <= set(stems(note)) and any(
        _about(note, who) for who in fact["about"]
    )


def _about(note: str, who: str) -> bool:
    low = note.lower()
    if who == "user":
        return low.startswith(("the user ", "用户", "it is the user's")) and not low.startswith(
            "用户的"
        )
    start = low[:8] if is_cjk(note) else " ".join(low.split()[:6])
    return who in start


def state_of(probe: Probe) -> State:
    """The notes of a reply probe as a state."""
    facts = {
        str(index): Fact(note, note, "zh" if is_cjk(note) else "en", 1)
        for index, note in enumerate(probe["notes"])
    }
    return State(version=1, facts=MappingProxyType(facts))


def check_reply(context: Context, config: Config, probe: Probe) -> Checked:
    """Prepare as between two turns, then answer; only the answer is timed."""
    recent = [Exchange(*turn) for turn in probe["turns"]]
    said = [(turn, user, probe["language"]) for turn, (user, _) in enumerate(probe["turns"], 1)]
    known = provisional(state_of(probe), said, config.mind)  # as in a conversation
    make = partial(reply_messages, known, recent)
    token = CancelToken()
    context.prepare(make("", probe["language"]), token)
    began = time.perf_counter()
    raw: list[str] = []
    pieces = context.stream(
        make(probe["text"], probe["language"]), token, max_tokens=config.llm.max_reply_tokens
    )
    first, spoken = 0.0, []
    for sentence in answer(_kept(pieces, raw), probe["language"], probe["text"]):
        first = first or time.perf_counter() - began
        spoken.append(sentence)
    why = reply_fault(probe, spoken)
    spent = time.perf_counter() - began
    return Checked(
        probe,
        " ".join(spoken),
        int(not why),
        0,
        1,
        spent,
        context.stats.first_token_s,
        why,
        "".join(raw),
    )


def check_notes(context: Context, config: Config, probe: Probe) -> Checked:
    """One note update as the loop makes it, on the state that earlier words left."""
    state = State()
    for turn, words in enumerate(probe.get("earlier", ()), 1):
        state = merge(state, read_notes("", words, probe["language"], turn, state), config.mind)
    text, language = probe["text"], probe["language"]
    began = time.perf_counter()
    raw = ""
    if needs_model(text, language):
        messages = note_messages(text, language)
        pieces = context.stream(messages, CancelToken(), max_tokens=config.mind.notes_tokens)
        raw = "".join(pieces)
    update = read_notes(raw, text, language, 9, state)
    notes = [fact.note for fact in (*update.preference.values(), *update.facts.values())]
    spent = time.perf_counter() - began
    right, wrong, why = score_notes(probe, notes)
    return Checked(
        probe, "\n".join(notes), right, wrong, len(probe["gold"]), spent, why=why, raw=raw
    )


def _kept(pieces: Iterable[str], into: list[str]) -> Iterator[str]:
    for piece in pieces:
        into.append(piece)
        yield piece


def run(
    config: Config, path: Path, emit: Callable[[Checked], None], progress: Progress
) -> dict[str, Any]:
    """Ask every probe; returns the figures. Raises ModelError for weights that cannot be read."""
    replies: list[Checked] = []
    notes: list[Checked] = []
    with Weights.load(config.llm, path, gpu_layers=config.llm.gpu_layers) as weights:
        for name, size, check, into in (
            ("replies", config.llm.context, check_reply, replies),
            ("notes", NOTES_CONTEXT, check_notes, notes),
        ):
            context = weights.context(size)
            todo = probes(name)
            for number, probe in enumerate(todo, 1):
                into.append(check(context, config, probe))
                emit(into[-1])
                progress(name, number, len(todo))
            context.close()
    return figures(replies, notes) | {"model": path.name}


def figures(replies: Sequence[Checked], notes: Sequence[Checked]) -> dict[str, Any]:
    """All halves, then each half by itself under tune_… and held_…."""
    result = _figures(replies, notes)
    for half in ("tune", "held"):
        part = _figures(
            [one for one in replies if one.probe["half"] == half],
            [one for one in notes if one.probe["half"] == half],
        )
        result |= {
            f"{half}_{name}": part[name]
            for name in ("reply_accuracy", "notes_precision", "notes_recall")
        }
    return result


def _figures(replies: Sequence[Checked], notes: Sequence[Checked]) -> dict[str, Any]:
    right = sum(one.right for one in notes)
    given = right + sum(one.wrong for one in notes)
    expected = sum(one.expected for one in notes)
    asked = [one for one in notes if one.raw]
    return {
        "replies": len(replies),
        "notes": len(notes),
        "reply_accuracy": _ratio(sum(one.right for one in replies), len(replies)),
        "notes_precision": _ratio(right, given),
        "notes_recall": _ratio(right, expected),
        "first_token_s": _median(one.first_s for one in replies),
        "reply_s": _median(one.seconds for one in replies),
        "notes_s": _median(one.seconds for one in asked),
    }


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return round(statistics.median(found), 3) if found else 0.0


def report(config: Config, model: str | None, emit: Callable[..., None], *, as_json: bool) -> None:
    """The command: every probe as it is checked, then one object with the figures."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    path = find(model or config.llm.model, "llm")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), disable=as_json) as bar:
        tasks: dict[str, Any] = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done)

        result = run(config, path, lambda one: emit(one.to_dict(), _line(one)), progress)
    emit(result, "\n".join(f"{key}: {value}" for key, value in result.items()))


def _line(one: Checked) -> str | None:
    """What a person wants to read: only what went wrong."""
    if not one.why:
        return None
    answer = one.answer.replace("\n", " / ")
    return f"{one.probe['id']} {one.probe['text']} -> {answer} ({one.why})"
