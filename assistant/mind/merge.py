"""A proposed update becomes the next state: key by key, bounded, nothing deleted by omission."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType

from assistant.config import MindConfig
from assistant.mind.days import absolute
from assistant.mind.dialogue import Dialogue
from assistant.mind.state import Fact, State

MAX_PREFERENCES = 24
"""What is known beyond a task; the oldest beyond that moves into the summary."""


@dataclass(frozen=True, slots=True)
class Update:
    """What a turn proposes. None, "" and empty mappings change nothing."""

    task: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    pending: tuple[str, ...] | None = None
    steps: tuple[str, ...] | None = None
    preference: Mapping[str, Fact] = field(default_factory=dict)
    history_summary: str = ""
    interrupted: str | None = None
    drop: frozenset[str] = frozenset()
    """keys of facts or preferences that are no longer true"""
    dialogue: Dialogue | None = None
    ended: bool = False
    """the task is over: its name and its questions go (M9)"""


def merge(state: State, update: Update, limits: MindConfig) -> State:
    """The state after the update; the very same object when nothing changed."""
    facts, moved = _bounded(_with(state.facts, update.facts, update.drop), limits.max_facts)
    preference, old = _bounded(
        _with(state.preference, update.preference, update.drop), MAX_PREFERENCES
    )
    summary = update.history_summary or state.history_summary
    for note in map(lasting_note, (*old, *moved)):
        if note not in summary:
            summary = f"{summary} {note}".strip()
    proposed = replace(
        state,
        task=update.task or ("" if update.ended else state.task),
        facts=facts,
        preference=preference,
        pending=_list(update.pending, () if update.ended else state.pending)[: limits.max_pending],
        steps=_list(update.steps, state.steps)[-limits.max_steps :],
        history_summary=_newest_sentences(summary, limits.max_summary_chars),
        interrupted=state.interrupted if update.interrupted is None else update.interrupted,
        dialogue=update.dialogue or state.dialogue,
    )
    return state if proposed == state else replace(proposed, version=state.version + 1)


def carried(state: State, limits: MindConfig) -> State:
    """What the next session begins with: preferences stay, facts fold into the summary (M9)."""
    summary = " ".join([state.history_summary, *map(lasting_note, state.facts.values())])
    summary = _newest_sentences(summary.strip(), limits.max_summary_chars)
    # Numbers of turns begin anew: none of these was said in the conversation that begins.
    kept = {key: replace(fact, turn=0) for key, fact in state.preference.items()}
    return State(version=1, preference=MappingProxyType(kept), history_summary=summary)


def lasting_note(fact: Fact) -> str:
    """The note as it will still be true: "tomorrow" becomes the day."""
    return absolute(fact.note, date.fromisoformat(fact.day)) if fact.day else fact.note


def _list(new: tuple[str, ...] | None, old: tuple[str, ...]) -> tuple[str, ...]:
    return old if new is None else new


def _with(
    old: Mapping[str, Fact], new: Mapping[str, Fact], drop: frozenset[str]
) -> dict[str, Fact]:
    """A changed fact becomes the newest; one that is repeated keeps its place."""
    result = {key: fact for key, fact in old.items() if key not in drop or key in new}
    for key, fact in new.items():
        known = result.get(key)
        if known is None or known.note != fact.note:
            result.pop(key, None)
            result[key] = fact
    return result


def _bounded(facts: Mapping[str, Fact], most: int) -> tuple[Mapping[str, Fact], list[Fact]]:
    """Keep the `most` most important; returns them and what has to move, oldest first."""
    order = list(facts)
    ranked = sorted(order, key=lambda key: (_importance(facts[key]), order.index(key)))
    moved = set(ranked[: max(0, len(order) - most)])
    kept = {key: fact for key, fact in facts.items() if key not in moved}
    return MappingProxyType(kept), [facts[key] for key in order if key in moved]


def _importance(fact: Fact) -> int:
    """1 for a value that has to be exact (a number, a time), else 0."""
    return 1 if re.search(r"\d|[零一二两三四五六七八九十百千]+[点号月日个]", fact.value) else 0


def _newest_sentences(text: str, most: int) -> str:
    """The end of a summary, cut at a sentence where there is one."""
    if len(text) <= most:
        return text
    cut = text[len(text) - most :]
    start = re.search(r"(?<=[.!?。！？])\s*", cut)
    return cut[start.end() :] if start and start.end() < len(cut) else cut
