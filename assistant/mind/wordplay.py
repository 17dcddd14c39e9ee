"""Sentences with places in them: "Done, {room} is booked[ for {people} {people|person|people}]."

`{x}` is what x is called; `[ … {x} … ]` is left out when an x in it is not known; `{x|one|other}`
picks a word by the number x, or by how many x holds; a value "A302|B105" is a list and is joined
as the language does. Knows nothing of tasks and files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from assistant.mind.flows import Choice, Flow, Intent, Slot

EACH = "each"
"""the value that holds rows as JSON, and the sentence that tells one of them"""
SEPARATOR = "|"

_PLACE = re.compile(r"\{(\w+)(?:\|([^{}|]*)\|([^{}|]*))?\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Speak = Callable[[str, str], str]
"""place, resolved value → how it is said"""


def wording(template: str, values: Mapping[str, str], language: str = "en") -> str:
    """Fill the places in; one that is not known and not optional is left out as well."""

    def optional(match: re.Match[str]) -> str:
        names = [place.group(1) for place in _PLACE.finditer(match.group(1))]
        return match.group(1) if all(values.get(name) for name in names) else ""

    def place(match: re.Match[str]) -> str:
        value = values.get(match.group(1), "")
        if match.group(2) is not None:
            return match.group(2) if _count(value) == 1 else match.group(3)
        return joined(value.split(SEPARATOR), language) if SEPARATOR in value else value

    text = template
    while (shorter := _OPTIONAL.sub(optional, text)) != text:
        text = shorter
    return _tidy(_PLACE.sub(place, text))


def joined(items: Sequence[str], language: str) -> str:
    """ "A302, B105 and C001"; "A302、B105和C001"; by semicolons where items hold commas."""
    items = [item for item in items if item]
    if len(items) < 2:
        return "".join(items)
    parted = any(mark in item for item in items for mark in ",，")
    if language == "zh":
        return ("；".join(items)) if parted else "、".join(items[:-1]) + "和" + items[-1]
    comma, last = ("; ", "; and ") if parted else (", ", " and ")
    return comma.join(items[:-1]) + last + items[-1]


def places(template: str) -> tuple[str, ...]:
    """Names of the values a sentence uses, optional ones included."""
    return tuple(dict.fromkeys(match.group(1) for match in _PLACE.finditer(template)))


def slot_of(flow: Flow, place: str) -> Slot | None:
    """The slot whose kind of value stands at a place: "time" and "near_time" are both a time."""
    while place and place not in flow.slots:
        _, _, place = place.partition("_")
    return flow.slots.get(place)


def choice_words(slot: Slot, value: str, language: str, known: Sequence[Choice] = ()) -> str:
    """What one of a slot's values is called; the value itself when nothing is known of it."""
    for choice in (*slot.choices, *known):
        if choice.value == value:
            return next(iter(choice.words.get(language, ())), value)
    return value


def told(
    intent: Intent, outcome: str, values: Mapping[str, str], language: str, speak: Speak
) -> str:
    """The intent's sentence for an outcome. `values`: the task's resolved slots and the outcome's.

    KeyError when the flow has no sentence for it.
    """
    texts = intent.say[outcome]
    said = {
        name: _rows(intent, value, language, speak) if name == EACH else _said(name, value, speak)
        for name, value in values.items()
    }
    return wording(texts.get(language) or texts["en"], said, language)


def _said(name: str, value: str, speak: Speak) -> str:
    return SEPARATOR.join(speak(name, item) for item in value.split(SEPARATOR))


def _rows(intent: Intent, value: str, language: str, speak: Speak) -> str:
    texts = intent.say[EACH]
    template = texts.get(language) or texts["en"]
    rows = (
        {name: _said(name, text, speak) for name, text in row.items()} for row in json.loads(value)
    )
    return joined([wording(template, row, language) for row in rows], language)


def _count(value: str) -> float:
    if SEPARATOR in value:
        return len(value.split(SEPARATOR))
    number = _NUMBER.match(value)
    return float(number.group()) if number else 1


def _tidy(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r" (?=[,.;:!?，。；：！？])", "", text)
