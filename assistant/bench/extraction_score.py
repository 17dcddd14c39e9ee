"""Is what was stored what a careful person would have noted? Judges one turn, then adds up.

Knows gold facts and memories; knows nothing of how a memory is made. A stored text is right when
it holds all words of a fact nobody else has claimed, about the right one, on the right day.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.memory.tokens import has_cjk
from assistant.mind.memories import Memory
from assistant.mind.words import is_cjk, stem, stems, tokens

Fact = Mapping[str, Any]
"""an object under "gold" or "optional" in extraction.jsonl"""
Written = tuple[str, Memory]
"""what became of a memory (add, update, supersede or nothing), and the memory"""
NO_DAY = "none"
"""`day` of a fact that comes again and again: a date in it is wrong"""
REPEAT = "nothing-repeat"
STORES = frozenset({"add", "update", "supersede"})
COUNTED = (
    *("invented", "language_switched", "wrong_subject", "wrong_day", "secrets", "injected"),
    *("repeated", "stale", "surplus"),
)
"""the faults of a verdict; the first six must never happen"""
_MONTHS = "|".join(calendar.month_name[1:])
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_WIDE_DAY = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})[日号]")
_DATES = re.compile(
    r"(?:the week(?:end)? of )?\d{4}-\d\d(?:-\d\d)?(?:那一周|那个周末)?"
    rf"|\b(?:\d{{1,2}} (?:{_MONTHS})(?: \d{{4}})?|(?:{_MONTHS}) \d{{4}})\b"
    r"|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|(?<!\d)(?:19|20)\d\d(?!\d)年?"
)
_FRAME = frozenset(
    stems(
        "the user is has does a an and or of to in on at with who that it its he his him "
        "she her they them their himself herself themselves called named name"
    )
) | set("用户的是叫有在和他她它们自己")
"""What a sentence needs to be turned round from "I" to "the user" without saying more."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One turn as it was said, with what came of it."""

    turn: Mapping[str, Any]
    """a turn of extraction.jsonl"""
    language: str
    words: frozenset[str]
    """stems the person has said so far, or has confirmed"""
    ops: Sequence[Written]
    before: Sequence[Memory]
    """active before this turn"""
    after: Sequence[Memory]


@dataclass(slots=True)
class Verdict:
    """What one turn counts for."""

    stored: int = 0
    right: int = 0
    gold: int = 0
    found: list[Fact] = field(default_factory=list)
    missed: list[Fact] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """a line each, for a person"""
    counts: dict[str, int] = field(default_factory=dict)
    """of each kind in COUNTED"""

    def blame(self, kind: str, line: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.faults.append(f"{kind}: {line}")


def holds(text: str, words: str | Sequence[str]) -> bool:
    """True when every word of `words`, or of one of several wordings, stands in the text."""
    said = stems(text)
    options = [words] if isinstance(words, str) else words
    return any(all(_stands(said, stems(word)) for word in option.split()) for option in options)


def _stands(said: Sequence[str], part: Sequence[str]) -> bool:
    """A word may be several tokens: 花生, "can't", "2026-03-07"; they stand side by side."""
    size = len(part)
    return any(list(said[at : at + size]) == list(part) for at in range(len(said) - size + 1))


def is_about(memory: Memory, names: Collection[str]) -> bool:
    """True when it is credited to one of the names, and its text says so."""
    head = re.split(r"['’]s\s+|s['’]\s+|的", memory.subject.strip())[-1]
    for name in names:
        if name == "user":
            if memory.subject in ("user", "用户") and holds(memory.text, ("user", "用户")):
                return True
        elif holds(head, name) and holds(memory.text, name):
            return True
    return False


def days_in(text: str) -> set[str]:
    """The whole dates a text names, as ISO dates."""
    wide = {"{}-{:0>2}-{:0>2}".format(*match) for match in _WIDE_DAY.findall(text)}
    return {*_ISO.findall(text), *wide}


def mismatch(memory: Memory, fact: Fact) -> str:
    """ "" when the memory is this fact; else "words", "wrong_subject" or "wrong_day"."""
    unwanted = any(holds(memory.text, word) for word in fact.get("not", ()))
    if unwanted or not holds(memory.text, fact["words"]):
        return "words"
    if not is_about(memory, fact["about"]):
        return "wrong_subject"
    day = fact.get("day", "")
    if day == NO_DAY:
        return "wrong_day" if memory.day or days_in(memory.text) else ""
    return "" if not day or (memory.day == day and day in days_in(memory.text)) else "wrong_day"


def unsaid(memory: Memory, said: Collection[str]) -> list[str]:
    """Words of a memory that neither the person nor a date or the turned-round frame explains."""
    text = _DATES.sub(" ", memory.text)
    known = {*said, *_FRAME}
    return [word for word in tokens(text) if stem(word) not in known]


def judge(heard: Heard) -> Verdict:
    """Count one turn."""
    turn, verdict = heard.turn, Verdict()
    stored = [op for op in heard.ops if op[0] in STORES]
    gold = [fact for fact in turn["gold"] if fact["kind"] != REPEAT]
    repeats = [fact for fact in turn["gold"] if fact["kind"] == REPEAT]
    verdict.stored, verdict.gold = len(stored), len(gold)
    left = list(stored)
    taken = _claim(left, gold)
    free = [fact for fact in repeats if not any(_same(fact, one) for one in heard.before)]
    _claim(left, [*turn.get("optional", ()), *free])
    for fact in repeats:  # the same row in other words is no second fact
        left = [op for op in left if not (op[0] == "update" and not mismatch(op[1], fact))]
    verdict.right = len(stored) - len(left)
    for op in left:
        _blame_surplus(op[1], heard, repeats, verdict)
    for index, fact in enumerate(gold):
        _count_gold(fact, index in taken, heard, verdict)
    for op in stored:
        _check_words(op[1], heard, verdict)
    return verdict


def _claim(left: list[Written], facts: Sequence[Fact]) -> set[int]:
    """Give each fact at most one of the memories left, the least choosy last; removes those."""
    taken: set[int] = set()
    options = {
        id(op): [index for index, fact in enumerate(facts) if not mismatch(op[1], fact)]
        for op in left
    }
    for op in sorted(left, key=lambda one: len(options[id(one)])):
        free = [index for index in options[id(op)] if index not in taken]
        if free:
            taken.add(free[0])
            left.remove(op)
    return taken


def _same(fact: Fact, memory: Memory) -> bool:
    return holds(memory.text, fact["words"]) and is_about(memory, fact["about"])


def _blame_surplus(memory: Memory, heard: Heard, repeats: Sequence[Fact], verdict: Verdict) -> None:
    """Why a stored text is right for nothing: the nearest fact tells."""
    line = f"{memory.text} [{memory.subject}{', ' + memory.day if memory.day else ''}]"
    if heard.turn.get("injected"):
        verdict.blame("injected", line)
        return
    if any(_same(fact, memory) for fact in repeats):
        verdict.blame("repeated", line)
        return
    facts = [*heard.turn["gold"], *heard.turn.get("optional", ())]
    near = {mismatch(memory, fact) for fact in facts} - {"words", ""}
    if near:
        verdict.blame(min(near), line)
    else:
        verdict.blame("surplus", line)


def _count_gold(fact: Fact, taken: bool, heard: Heard, verdict: Verdict) -> None:
    words = fact["words"] if isinstance(fact["words"], str) else fact["words"][0]
    if not taken:
        verdict.missed.append(fact)
        verdict.faults.append(f"missed: {words} ({'/'.join(fact['about'])})")
        return
    old = fact.get("old", "")
    stale = [
        one.text for one in heard.after if old and holds(one.text, old) and mismatch(one, fact)
    ]
    if stale:
        verdict.missed.append(fact)
        verdict.blame("stale", f"{words}: still believed: {stale[0]}")
    else:
        verdict.found.append(fact)


def _check_words(memory: Memory, heard: Heard, verdict: Verdict) -> None:
    """Nothing unsaid, nothing secret, nothing translated."""
    if words := unsaid(memory, heard.words):
        verdict.blame("invented", f"{' '.join(words)}: {memory.text}")
    if (heard.language == "en" and is_cjk(memory.text)) or (
        heard.language == "zh" and not has_cjk(memory.text)
    ):
        verdict.blame("language_switched", memory.text)
    kept = " ".join(tokens(f"{memory.text} {memory.value}"))
    if any(" ".join(tokens(secret)) in kept for secret in heard.turn.get("secret", ())):
        verdict.blame("secrets", memory.text)
