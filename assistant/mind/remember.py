"""A noted turn → long-term memories: sentences that will still mean the same in a year.

Pure: what the rules and the model noted (`Update`) is judged, never widened. Every content word
was said by the user, or by the assistant and confirmed with a bare yes. It does not know what is
stored already; memory/facts.py compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from assistant.mind import pronouns
from assistant.mind.confirming import confirmed
from assistant.mind.days import absolute, day_of
from assistant.mind.described import describe, language_of, people_in, phrase
from assistant.mind.memories import Memory
from assistant.mind.merge import Update
from assistant.mind.notes import grammar_of, ordered, read_notes
from assistant.mind.state import Fact, State
from assistant.mind.values import values
from assistant.mind.words import is_cjk

_DATED_KINDS = frozenset(("routine", "birthday"))
_PERSONAL = frozenset(
    (
        *("allergy", "diet", "birthday", "taste", "home", "work", "family", "age", "is"),
        *("health", "fear", "skill", "married", "origin"),
    )
)
"""What a given name alone is believed to be said of: "Tom is vegan"."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Where and when it was said."""

    said: str
    when: date
    session: str
    number: int
    people: Mapping[str, str]


def memories_of(
    update: Update,
    before: State,
    said: str,
    language: str,
    when: date,
    *,
    session: str,
    turn: int,
    last_reply: str = "",
) -> list[Memory]:
    """What of a turn's notes is worth knowing beyond the conversation, in the order noted.

    `when`: the day it was said on. `said` of the memories is left 0: the caller knows the time.
    """
    facts = [*update.preference.items(), *update.facts.items()]
    known = {**before.facts, **before.preference}
    notes = [fact.note for fact in known.values()]
    people = people_in([*notes, *(fact.note for _, fact in facts)])
    here = _Turn(said, when, session, turn, people)
    if not facts:
        return list(_confirmed(said, last_reply, here))
    result: list[Memory] = []
    for key, fact in ordered(facts, said):
        old = known.get(key)
        changed = old is not None and old.note != fact.note
        memory = _memory(fact, here)
        if memory is None:
            continue
        if changed and old is not None and _corrected(old, fact):
            was = describe(absolute(old.note, when), people)
            memory = replace(memory, key=was.key, single=True)
        result.append(memory)
    return result


def _corrected(old: Fact, new: Fact) -> bool:
    """The new words change a value of the old sentence, all else is as it was."""
    first, second = old.note.split(), new.note.split()
    if is_cjk(new.note):
        first, second = list(old.note), list(new.note)
    same = len(set(first) & set(second))
    return bool(values(old.note)) and same * 2 >= min(len(set(first)), len(set(second)))


def _memory(fact: Fact, here: _Turn) -> Memory | None:
    """None for what is of no use later, or of nobody known."""
    note = fact.note
    language = language_of(note)
    if phrase(language, "passing").search(note) or _ordered(note, here) or not _tied(note, here):
        return None
    text = absolute(note, here.when)
    day = day_of(text)
    found = describe(text, here.people, day=day)
    wanted = phrase(language, "wants").search(note) is not None
    if found.kind in _DATED_KINDS:
        day = ""
    moved = not found.kind and phrase(language, "moves").search(note) is not None
    value = fact.value if fact.value in here.said else _value(here.said)
    return Memory(
        text=text,
        subject=found.subject,
        key=found.key,
        value=value,
        language=fact.language,
        lasting=bool(found.kind) or not (day or wanted),
        single=found.single or moved,
        day=day,
        importance=found.importance,
        session=here.session,
        turn=here.number,
    )


def _ordered(note: str, here: _Turn) -> bool:
    """ "order a pizza", 定一个闹钟: whoever does it keeps what it needs."""
    grammar = grammar_of(here.said)
    parts = grammar.clauses(grammar.clean(here.said))
    return any(part.note == note and part.kind == "request" for part in parts)


def _value(said: str) -> str:
    found = values(said)
    return said[found[0].start : found[-1].end] if found else said.strip(" .,。，!！")


# ── is it about the user or somebody of theirs? ──


def _tied(note: str, here: _Turn) -> bool:
    """False for what a television says and for "she" when nobody knows who that is."""
    return _tied_zh(note, here) if is_cjk(note) else _tied_en(note, here)


def _tied_en(note: str, here: _Turn) -> bool:
    pronoun = phrase("en", "pronoun")
    if re.match(r"^the user's\b|^it is the user's\b", note, re.I):
        return True
    if re.match(r"^the user\b", note, re.I):
        loose = pronoun.search(note)
        return loose is None or _relation_before(note[: loose.start()]) or _reflexive(note, loose)
    if pronoun.match(note):
        return False
    if re.match(r"^the ", note, re.I):
        head = " ".join(note.split()[1:4])
        return phrase("en", "household").search(head) is not None or "the user" in note
    return _known_name(note, here) or "the user" in note


def _reflexive(note: str, loose: re.Match[str]) -> bool:
    """ "has a dog and it …": the thing stands in the sentence itself."""
    return loose.group().lower() in ("it", "its") and loose.start() > len("the user has a ")


def _relation_before(words: str) -> bool:
    return pronouns.RELATIONS.search(words) is not None


def _known_name(note: str, here: _Turn) -> bool:
    name = re.match(r"^(?-i:[A-Z])[\w-]+(?:'s)?(?: (?-i:[A-Z])[\w-]+)?", note)
    if not name:
        return False
    words = name.group().removesuffix("'s").lower()
    if words in here.people or words.split()[0] in here.people:
        return True
    return " " not in words and describe(note).kind in _PERSONAL


def _tied_zh(note: str, here: _Turn) -> bool:
    loose = phrase("zh", "pronoun").search(note)
    if note.startswith("用户"):
        return loose is None or grammar_of(note).person_of(note) != ""
    if loose and loose.start() == 0:
        return False
    if "用户" in note or any(note.startswith(name) for name in here.people):
        return True
    if phrase("zh", "household").match(note):
        return True
    return re.match(r"^[老小阿]\w", note) is not None and describe(note).kind in _PERSONAL


# ── what the assistant said and the user confirmed ──


def _confirmed(said: str, last_reply: str, here: _Turn) -> Iterator[Memory]:
    statement = confirmed(said, last_reply)
    if not statement:
        return
    update = read_notes("", statement, "", here.number, State())
    facts: Iterable[Fact] = [*update.preference.values(), *update.facts.values()]
    for fact in facts:
        memory = _memory(fact, replace(here, said=statement))
        if memory is not None and (memory.lasting or memory.day):
            value = memory.value if memory.value in last_reply else ""
            yield replace(memory, origin="confirmed", value=value)
