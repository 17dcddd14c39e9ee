"""Corrections and changes over time: which older fact ends, what is believed afterwards (V16)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from assistant.config import MindConfig
from assistant.memory.db import migrations
from assistant.memory.facts import load_memories, remember
from assistant.mind.memories import Memory
from assistant.mind.merge import merge
from assistant.mind.notes import read_notes, stated
from assistant.mind.remember import memories_of
from assistant.mind.state import State
from assistant.mind.words import is_cjk, stems

CHANGES = Path(__file__).with_name("memory_changes.jsonl")
DAY = date(2026, 11, 30)
NOW = 1_796_000_000.0


def believed(turns: list[str], *, apart: bool = False) -> tuple[list[Memory], list[Memory]]:
    """(active, ended) after all turns; `apart`: every turn is a conversation of its own."""
    db, state = Database(memory=True), State()
    migrations.apply(db)
    for turn, words in enumerate(turns, 1):
        if apart:
            state = State()
        raw = "\n".join(stated(words))
        update = read_notes(raw, words, "en", turn, state)
        session = f"s{turn}" if apart else "s"
        found = memories_of(update, state, words, "en", DAY, session=session, turn=turn)
        state = merge(state, update, MindConfig())
        now = NOW + turn * 60
        remember([replace(one, said=now) for one in found], now)(db)
    every = load_memories(active=False)(db)
    return [one for one in every if one.ended is None], [one for one in every if one.ended]


def says(text: str, words: str) -> bool:
    if is_cjk(words):
        rest = text
        for word in words:
            if word not in rest:
                return False
            rest = rest.replace(word, "", 1)
        return True
    bare = words.endswith(".")
    return set(stems(words)) <= set(stems(text)) and (not bare or words in text.lower())


def rows(half: str, language: str) -> Iterator[dict[str, Any]]:
    for line in CHANGES.read_text("utf-8").splitlines():
        row = json.loads(line)
        if (row["half"], row["language"]) == (half, language):
            yield row


def faults(row: dict[str, Any]) -> list[str]:
    active, ended = believed(row["turns"])
    found = []
    for fact in row["active"]:
        about = [one for one in active if fact["about"] in one.subject or fact["about"] == ""]
        about += [one for one in active if one.subject == "user" and fact["about"] in one.text]
        if not any(says(one.text, fact["words"]) for one in about):
            found.append(f"missed {fact}")
    if row["ended"] and not any(says(one.text, row["ended"]) for one in ended):
        found.append(f"not ended: {row['ended']}")
    if row["gone"] and any(says(one.text, row["gone"]) for one in active):
        found.append(f"still: {row['gone']}")
    return found
