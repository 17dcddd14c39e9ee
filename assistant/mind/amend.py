"""Corrections: "no, make it eleven" and "Anna, not Hannah" change a fact that is already known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from assistant.mind.keys import content
from assistant.mind.state import Fact, State
from assistant.mind.texts import prompts
from assistant.mind.values import Value, values
from assistant.mind.words import stems

_CUE = re.compile(
    "|".join(
        part for language in ("en", "zh") for part in prompts(language)["grammar"]["corrections"]
    ),
    re.I,
)
_NOT = (
    re.compile(r"\b(?P<new>[\w'-]+)(?:,| and)? not (?:the |on |at )?(?P<old>[\w'-]+)[.!]?$", re.I),
    re.compile(r"\b(?P<new>(?-i:[A-Z])[\w'-]+)(?:,| and)? not (?P<old>(?-i:[A-Z])[\w'-]+)", re.I),
    re.compile(
        r"\bnot (?:the |on |at )?(?P<old>[\w'-]+),? (?:but |it's |it is )(?:the )?(?P<new>[\w'-]+)",
        re.I,
    ),
    re.compile(r"(?:是|叫)(?P<new>[^，,。是不]{1,8})[，,]?不[是叫](?P<old>[^，,。]{1,8})"),
    re.compile(r"不[是叫](?P<old>[^，,。]{1,8})[，,]?(?:是|叫|而是)(?P<new>[^，,。]{1,8})"),
)
_EMPTY = frozenset(
    stems("could can will would you i we make change move moved please it that oh um thanks")
    + stems("better time day one's so then same hang on listen at the is")
    + list("吧了是那就请到成改换不对叫")
)
"""Words of a correction that name nothing."""
_NUMBER = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})\b", re.I
)


def amended(text: str, state: State, turn: int) -> dict[str, Fact]:
    """Facts (by their key) as they are after a correction; empty when it corrects nothing known."""
    corrects = _CUE.search(text) is not None
    swapped = _named(text, state, turn) if corrects else {}
    if swapped:
        return swapped
    new = _values(text, bare=corrects)
    about = set(content(_CUE.sub(" ", _without(text, new))))
    if not new or not (about or corrects):
        return {}
    lately = {
        key: fact for key, fact in state.preference.items() if corrects and fact.turn >= turn - 2
    }
    for key, fact in (
        *sorted(state.facts.items(), key=lambda item: -item[1].turn),
        *sorted(lately.items(), key=lambda item: -item[1].turn),
    ):
        if not about <= set(content(fact.note)) | _EMPTY:
            continue
        note = fact.note
        for value in new:
            note = _exchanged(note, value)
        if note != fact.note:
            said = " ".join(value.text for value in values(note))
            return {key: replace(fact, note=note, value=said or fact.value, turn=turn)}
    return {}


def contrast(said: str) -> tuple[str, str] | None:
    """(right, wrong) of "it's Anna, not Hannah"; None where nothing is set against another."""
    for pattern in _NOT:
        match = pattern.search(said.strip(" .!。"))
        if match:
            return match["new"].strip(), match["old"].strip()
    return None


def contrasted(said: str) -> str:
    """The very words of it, a span of what was said; "" for none."""
    found = (pattern.search(said.strip(" .!。")) for pattern in _NOT)
    return next((match.group() for match in found if match), "")


def _without(text: str, found: list[Value]) -> str:
    for value in reversed(found):
        text = text[: value.start] + " " + text[value.end :]
    return text


def _values(text: str, *, bare: bool) -> list[Value]:
    """Typed values; with `bare` also a number where nothing else is."""
    found = [value for value in values(text) if not _denied(text, value)]
    if bare and not found:
        number = _NUMBER.search(text)
        if number and not _denied(text, Value("number", number.group(), *number.span())):
            found = [Value("number", number.group(), *number.span())]
    return found


def _denied(text: str, value: Value) -> bool:
    """True for the "second" of "the twelfth, not the second"."""
    return (
        re.search(r"(?:\bnot (?:on |at |the )*|不是|不在)$", text[: value.start], re.I) is not None
    )


def _exchanged(note: str, new: Value) -> str:
    """The note with its last value of the same kind exchanged."""
    kinds = ("time", "count") if new.kind == "number" else (new.kind,)
    if new.kind == "date":
        kinds = ("date", "day")
    for kind in kinds:
        old = [value for value in values(note) if value.kind == kind]
        if old:
            text = new.text
            if new.kind == "number" and kind == "count":
                text = _NUMBER.sub(new.text, old[-1].text, count=1)
            before = note[: old[-1].start]
            if kind in ("day", "date"):
                before = _with_preposition(before, text)
            return before + text + note[old[-1].end :]
    return note


def _with_preposition(before: str, day: str) -> str:
    """ "on" stands before a weekday or date, not before "tomorrow"."""
    before = re.sub(r"\bon $", "", before)
    return before + "on " if re.match(r"(?:the |\w+day\b)(?<!today)(?!day)", day, re.I) else before


def _named(text: str, state: State, turn: int) -> dict[str, Fact]:
    """ "Anna, not Hannah": the words after "not" stand in a known note."""
    for pattern in _NOT:
        match = pattern.search(text.strip(" .!。"))
        if not match:
            continue
        old, new = match["old"].strip(), match["new"].strip()
        place = re.compile(rf"\b{re.escape(old)}\b" if old.isascii() else re.escape(old), re.I)
        every: Mapping[str, Fact] = {**state.preference, **state.facts}
        exchange = partial(place.sub, new.replace("\\", r"\\"))
        changed = {
            key: replace(fact, note=exchange(fact.note), value=exchange(fact.value), turn=turn)
            for key, fact in every.items()
            if place.search(fact.note)
        }
        if changed:
            return changed
    return {}
