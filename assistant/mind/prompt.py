"""State, recent turns and new words → the messages of the reply prompt.

The order is the order of change: rules never change, turns are appended, notes change when
something was noted, and only the last message holds the new words. So most of the prompt is
still in the KV cache when somebody speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from assistant.mind.address import to_you
from assistant.mind.block import estimate
from assistant.mind.days import absolute, relative
from assistant.mind.known import relevant, unknown
from assistant.mind.notes import stated
from assistant.mind.state import Fact, State
from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk
from assistant.stages import Message

LONGEST_ECHO = 16
"""Characters of a Chinese statement that the hint repeats whole."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One finished turn."""

    user: str
    reply: str


def reply_messages(
    state: State,
    recent: Sequence[Exchange],
    user_text: str,
    language: str,
    memory: Sequence[str] = (),
    moment: Sequence[str] = (),
    *,
    notes: Sequence[str] | None = None,
    today: date | None = None,
) -> list[Message]:
    """The prompt of a spoken reply (M4). `language` is that of the new words.

    `memory` and `moment` are lines of long-term memory, part of the one message of notes (C6):
    before those of the state the profile, after them what comes and goes with the topic.
    `notes`: lines of the state, when not all of them are to stand there (`note_lines`).
    `today`: what was said about "tomorrow" on another day is said as it is true now.
    """
    own = note_lines(state, today) if notes is None else notes
    lines = [*memory, *own, *moment]
    messages = opening()
    for exchange in recent:
        if not _denial(exchange.reply):
            messages += _turn(exchange.user, exchange.reply)
    messages.append(_notes("\n".join(map(to_you, lines))))
    messages.append({"role": "user", "content": _last(lines, recent, user_text, language)})
    return messages


def opening() -> list[Message]:
    """The beginning of every reply prompt: rules and worked examples."""
    texts = prompts("en")["reply"]
    messages = [{"role": "system", "content": texts["rules"]}]
    for words, reply in texts["examples"]:
        messages += _turn(words, reply)
    return messages


def _last(lines: Sequence[str], recent: Sequence[Exchange], user_text: str, language: str) -> str:
    """The new words, with a hint where a small model needs one: it alone is evaluated late."""
    texts = prompts(language)["reply"]
    told = [exchange.user for exchange in recent if not exchange.user.strip().endswith(("?", "？"))]
    foreign = [line for line in lines if is_cjk(line) != (language == "zh")]
    if unknown(user_text, [*lines, *told]):
        form = "unknown"
    elif start := _told(user_text, texts["feeling"], texts["greeting"]):
        return str(texts["told"].format(words=user_text, start=start))
    elif re.search(texts["remember"], user_text, re.I) and (note := relevant(user_text, lines)):
        said = _framed(note, texts)
        form = "known" if is_cjk(said) == (language == "zh") else "known_other"
        return str(texts[form].format(words=user_text, note=said))
    else:
        form = "other" if foreign else "same"
    return str(texts[form].format(words=user_text))


def _framed(note: str, texts: Mapping[str, Any]) -> str:
    """A note said to the user; its frame in the language of the answer where a rule knows it."""
    said = to_you(note)
    for pattern, other in texts["frames"]:
        said = re.sub(pattern, other, said)
    return said


def _told(user_text: str, feeling: str, greeting: str) -> str:
    """How an answer to what the user tells begins, said to them; "" when nothing plain is told.

    Left alone, a small model answers "My birthday is in May" with "You have not told me that".
    """
    notes = stated(user_text)
    if not notes or "?" in user_text or re.search(feeling, user_text, re.I):
        return ""
    said = to_you(notes[0]).rstrip(".。")
    if is_cjk(said):
        return said if said.startswith("你") and len(said) <= LONGEST_ECHO else ""
    if name := re.match(r"the user is called (?P<name>.+)", said, re.I):
        return str(greeting.format(name=name["name"]))
    first = re.match(r"you(?:r [\w'’-]+)? [\w'’-]+", said, re.I)
    ours = re.match(r"\W*(?:and |so |well,? )?(?:we|our)\b", user_text, re.I)
    return first.group()[:1].lower() + first.group()[1:] if first and not ours else ""


def _notes(notes: str) -> Message:
    texts = prompts("en")["reply"]
    return {"role": "system", "content": texts["notes"].format(notes=notes or texts["no_notes"])}


@lru_cache(256)
def _as_of(fact: Fact, today: date | None) -> str:
    """The note, with its days as they are called today."""
    if today is None or not fact.day or fact.day == today.isoformat():
        return fact.note
    return _now(absolute(fact.note, date.fromisoformat(fact.day)), today)


@lru_cache(256)
def _now(text: str, today: date) -> str:
    """The same lines come turn after turn."""
    return relative(text, today)


def _turn(words: str, reply: str) -> list[Message]:
    turn = [{"role": "user", "content": words}, {"role": "assistant", "content": reply}]
    return turn if reply else turn[:1]


def _denial(reply: str) -> bool:
    """True for "You have not told me that": seen once, a small model repeats it for ever."""
    texts = [prompts(name)["reply"] for name in ("en", "zh")]
    return any(text[kind] in reply for text in texts for kind in ("denial", "refusal"))


def note_lines(state: State, today: date | None = None, tokens: int | None = None) -> list[str]:
    """All that is known, as sentences: lasting ones, the summary, facts, the task.

    `tokens`: about so many at most; of facts and lasting ones the newest stay. What is left out
    is in long-term memory.
    """
    lasting = [_as_of(fact, today) for fact in state.preference.values()]
    facts = [_as_of(fact, today) for fact in state.facts.values()]
    summary = [_now(state.history_summary, today) if today else state.history_summary]
    task = list(_task_lines(state))
    if tokens is None:
        return [*lasting, *filter(None, summary), *facts, *task]
    room = tokens - sum(map(estimate, task))
    facts, room = _newest(facts, room // 2, room)
    lasting, room = _newest(lasting, room, room)
    sentences = re.findall(r"[^.!?。！？]+(?:[.!?。！？]+\s*|$)", summary[0])
    kept, _ = _newest([one.strip() for one in sentences], room, room)
    return [*lasting, *filter(None, [" ".join(kept)]), *facts, *task]


def _newest(lines: Sequence[str], share: int, room: int) -> tuple[list[str], int]:
    """The last lines that fit into a share of the room, and the room that is left."""
    kept: list[str] = []
    for line in reversed(lines):
        share -= estimate(line)
        if share < 0:
            break
        kept.insert(0, line)
    return kept, room - sum(map(estimate, kept))


def _task_lines(state: State) -> Iterator[str]:
    texts = prompts("en")["reply"]
    if state.task:
        yield texts["task"].format(task=state.task)
    if state.steps:
        yield texts["steps"].format(steps="; ".join(state.steps))
    if state.pending:
        yield texts["pending"].format(pending="; ".join(state.pending))
    if state.interrupted:
        yield texts["interrupted"].format(interrupted=state.interrupted)
