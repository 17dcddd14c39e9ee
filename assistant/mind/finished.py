"""Do the words stop where a person would stop? A judgement on one text, in words a site may edit.

What was asked for decides first (a bare value of the slot is an answer), then what the text ends
with, then its form. Knows nothing of sound or time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assistant.mind.dialogue import CONFIRM, Dialogue
from assistant.mind.finish_words import (
    WORD,
    Said,
    any_of,
    begins,
    bounded,
    said_of,
    tail,
    whole,
)
from assistant.mind.flows import Book, Choice, Slot
from assistant.mind.slots import Found, read
from assistant.mind.texts import prompts

LANGUAGES = ("en", "zh")
_OPEN_MARK = re.compile(r"(?:[,，、;；:：—–-]|\.\.+|…)\s*$")
_MARK = re.compile(r"([.!?。！？])\s*$")
_COMMA = re.compile(r"[,，、]")
_LEAST = {"en": 3, "zh": 4}
"""words, or Chinese characters, of a sentence"""
_LISTED = 3
"""things after one another that are a list"""
_BESIDE = 60
"""characters beside a value, at most"""
_YES_NO = Slot("confirm", "flag")

By = Literal["flow", "form", "wish", "mark", ""]


@dataclass(frozen=True, slots=True)
class Finish:
    """Whether a person has finished, by the words alone."""

    state: Literal["finished", "open", "unknown"]
    why: str
    by: By = ""
    """what shows it, surest first: it was asked for or is whole by itself; it has the form of a
    command or a question, or of a wish; the recogniser heard the end of a sentence"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the assistant has just asked for."""

    slot: Slot | None
    """None: a yes or a no"""
    now: datetime
    known: tuple[Choice, ...] = ()
    """values it may have beside its own choices"""


def wanted(
    dialogue: Dialogue, book: Book, known: Mapping[str, tuple[Choice, ...]], now: datetime
) -> Wanted | None:
    """What the task under way waits for; None when nothing was asked."""
    task = dialogue.task
    if task is None or not task.asked:
        return None
    if task.asked == CONFIRM:
        return Wanted(None, now)
    slot = book.flows[task.flow].slots.get(task.asked) if task.flow in book.flows else None
    if slot is None:
        return None
    offered = tuple(Choice(value) for value in task.offered.get(slot.name, ()))
    return Wanted(slot, now, (*known.get(slot.source, ()), *offered))


def sounds_finished(text: str, language: str, asked: Wanted | None = None) -> Finish:
    """Judge what was said so far; `unknown` for languages without words."""
    said = said_of(text, language if language in LANGUAGES else "")
    if not said.plain:
        return Finish("unknown", "no words to judge")
    if asked is not None and asked.slot is not None and whole(said, "begun"):
        return Finish("open", "the answer has only begun")
    if whole(said, "wholes"):
        return Finish("finished", "whole by itself", "flow")
    if reason := _goes_on(said):
        return Finish("open", reason)
    found = _answer(said, asked) if asked is not None else None
    if found is None and (reason := _counting(said)):
        return Finish("open", reason)
    return found or _form(said)


# ── open: what nobody stops at ──


def _goes_on(said: Said) -> str:
    """Why more must come, or ""."""
    if _OPEN_MARK.search(said.text):
        return "it breaks off"
    end = _core_end(said)
    if match := tail("goes_on", said.language).search(end):
        return f"nobody stops at {match.group().strip()!r}"
    if said.language == "en" and (reason := _preposition(said, end)):
        return reason
    if not _COMMA.search(said.text) and whole(said, "needs_more"):
        return "the rest is missing"
    return ""


def _core_end(said: Said) -> str:
    """Without politeness at the end: "can you please" ends like "can you"."""
    end = said.plain
    while match := tail("polite", said.language).search(end):
        if match.start() == 0:
            break
        end = end[: match.start()]
    return end


def _preposition(said: Said, end: str) -> str:
    last = end.rsplit(" ", 1)[-1]
    asks = begins(said, "questions")
    if tail("prepositions", "en").search(end) and not asks:
        return f"nobody stops at {last!r}"
    if tail("particles", "en").search(end) and not asks and " " in end:
        verb = re.search(rf"\b{any_of('particle_verbs', 'en')}\b", end)
        return "" if verb else f"nobody stops at {last!r}"
    return ""


def _counting(said: Said) -> str:
    """A number told digit by digit, a list without its last "and"."""
    digit = any_of("digits", said.language)
    gap, edge = ("", "") if said.language == "zh" else (" ?", r"(?<!\w)")
    digits = rf"{digit}(?:{gap}{digit})*"
    words = WORD.findall(said.text.lower())
    if re.fullmatch(digits, said.plain) and len(words) > 1:
        return "digits, one after the other"
    told = re.search(bounded("numbered", said.language), said.plain)
    if told and re.search(rf"{edge}{digits}$", said.plain[told.end() :]):
        return "digits of a number"
    parts = [part for part in _COMMA.split(said.text) if part.strip()]
    if begins(said, "listing") and len(parts) >= _LISTED:
        last = said_of(parts[-1], said.language).plain
        if not re.search(bounded("list_ends", said.language), last):
            return "a list without its last part"
    return ""


# ── finished: an answer, a command, a question ──


def _answer(said: Said, asked: Wanted) -> Finish | None:
    """What the text is to the question that was asked; None when it is no answer."""
    slot = asked.slot or _YES_NO
    if slot.type in ("text", "name"):
        return None
    found = read(slot, said.text, said.language, asked.now, asked.known, wanted=True)
    if not found:
        return _too_short(said, slot)
    best = found[0]
    before, after = said.text[: best.start], said.text[best.end :]
    if not (_beside(before, said.language) and _beside(after, said.language)):
        return None
    if slot.type == "time_range" and _start_only(best, said.language, asked.now):
        opens = re.search(bounded("span_opens", said.language), before.lower())
        return Finish("open" if opens else "unknown", "a time without its end", "mark")
    if slot.type in ("money", "quantity") and best.value.isdigit():
        return Finish("unknown", "a number whose unit may follow", "mark")
    name = "yes or no" if asked.slot is None else slot.name
    return Finish("finished", f"{name} was asked for", "flow")


def _start_only(found: Found, language: str, now: datetime) -> bool:
    """Whether a span of time was given by its beginning alone ("ten", not "ten to twelve")."""
    said = found.spoken
    times = read(Slot("start", "time"), said, language, now, wanted=True)
    return any(time.start == 0 and time.end == len(said) for time in times)


def _too_short(said: Said, slot: Slot) -> Finish | None:
    """Digits of a code that has more of them."""
    digit = any_of("digits", said.language)
    if slot.type == "code" and re.search(rf"(?:{digit})\W*$", said.plain):
        return Finish("open", f"{slot.name} is longer")
    return None


def _beside(part: str, language: str) -> bool:
    """Only fillers, and what is counted, stand beside the value."""
    counted = "|".join(prompts("slots")[language]["counted"])
    gap = "" if language == "zh" else "(?: |$)"
    plain = said_of(part, language).plain
    some = rf"(?:(?:{any_of('beside', language)}|{counted}){gap})*"
    return len(plain) <= _BESIDE and re.fullmatch(some, plain) is not None


def _form(said: Said) -> Finish:
    mark = _MARK.search(said.text)
    sign = mark[1] if mark else ""
    if whole(said, "may_go_on"):
        return Finish("unknown", "it often goes on", "mark")
    for by, why, shown in _FORMS:
        if shown(said, sign):
            return Finish("finished", why, by)
    # the recogniser often writes Chinese without marks
    ended = bool(sign) or said.language == "zh"
    return Finish("unknown", "no form of its own", "mark" if ended else "")


def _long(said: Said, more: int = 0) -> bool:
    """As long as a sentence."""
    count = len(said.core) if said.language == "zh" else len(said.core.split())
    return count >= _LEAST[said.language] + more


def _commands(said: Said, sign: str) -> bool:
    """A command, also after a comma: "if it rains, remind me"."""
    last = said_of(_COMMA.split(said.text)[-1], said.language)
    return any(_long(one, -1) and begins(one, "commands") for one in (said, last))


def _closes(said: Said, sign: str) -> bool:
    return _long(said, -1) and tail("closing", said.language).search(said.plain) is not None


_FORMS: tuple[tuple[By, str, Callable[[Said, str], bool]], ...] = (
    ("form", "a question or request", _closes),
    ("form", "a command", _commands),
    ("wish", "a wish", lambda said, sign: _long(said, 1) and begins(said, "wishes")),
    ("form", "a question", lambda said, sign: _long(said) and sign in ("?", "？")),
    ("mark", "a sentence", lambda said, sign: _long(said) and bool(sign)),
)
