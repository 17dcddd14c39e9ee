"""What was said or done before gives a value: "the first one", "more of them", "until one"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from assistant.mind.dialogue import Done, Filled, Task
from assistant.mind.filling import Read, slots_of
from assistant.mind.flows import Intent, Slot
from assistant.mind.slots import read
from assistant.mind.view import View

_TO = re.compile(r"(?:\b(?:to|into|it)|[成到为])\s*(?:room\s*)?$", re.I)
_UNTIL = re.compile(r"\b(?:until|till|til)\b|(?:延长|推迟)?到", re.I)


def renewed(view: View, intent: Intent, found: Read, done: Done | None) -> Read:
    """ "Change it to B210": another room than the booked one is where the booking moves to."""
    if done is None or not done.write:
        return found
    sure = {}
    for name, value in found.sure.items():
        old, new = as_it_is(done).get(name), f"new_{name}"
        other = old is not None and old.value != value.value
        sure[new if other and new in intent.slots and _is_goal(view, value) else name] = value
    return replace(found, sure=sure)


def _is_goal(view: View, value: Filled) -> bool:
    """ "to B210", "换成B210": the value is where something goes to."""
    place = view.text.find(value.spoken)
    return _TO.search(view.text[: max(place, 0)]) is not None


def ordinal(view: View, offered: Mapping[str, tuple[str, ...]]) -> dict[str, Filled]:
    """ "the second one", "either": a choice among the values that were named."""
    picked: dict[str, Filled] = {}
    for slot, values in offered.items():
        number = _number_of(view, len(values))
        if number is not None:
            picked[slot] = Filled(values[number], view.text.strip(" .。!！"), view.turn)
    return picked


def _number_of(view: View, count: int) -> int | None:
    if not count:
        return None
    for name in view.book.common:
        kind, _, place = name.partition("_")
        if kind == "ordinal" and view.common.has(name, view.plain):
            index = -1 if place == "last" else int(place) - 1
            return index if index < count else None
    if view.common.has("either_way", view.plain) or (
        count == 1 and view.common.has("that_one", view.plain)
    ):
        return 0
    return None


def inherited(view: View, intent: Intent, new: Mapping[str, Filled]) -> dict[str, Filled]:
    """What the last thing done in the same flow already told (M4: never asked for again)."""
    done = view.last_of(intent.flow)
    if done is None:
        return {}
    changes = view.flow(done.task).change.get(done.task.intent) == intent.name
    again = view.common.has("again", view.plain) or (changes and intent.kind != "read")
    if done.task.intent == intent.name and not again:
        return {}
    before = view.intent(done.task)
    moved = bool(set(before.required) & set(new))
    slots = view.flow(done.task).slots
    told = {  # the number that an order was given
        name: Filled(done.values[name], done.values[name], view.turn)
        for name in intent.required
        if name not in new and done.values.get(name) and "|" not in done.values[name]
    }
    return told | {
        name: filled
        for name, filled in as_it_is(done).items()
        if name not in new
        and name in intent.slots
        and not slots[name].rest
        and (name in intent.required or (not moved and intent.kind != "read"))
    }


def as_it_is(done: Done) -> dict[str, Filled]:
    """The slots of what was done, a moved thing at its new place."""
    slots = dict(done.task.slots)
    for name in done.task.slots:
        if name.startswith("new_") and name[4:] in slots:
            slots[name[4:]] = slots.pop(name)
    return slots


def picked(
    view: View, intent: Intent, new: Mapping[str, Filled], *, guess: bool = True
) -> dict[str, Filled]:
    """Slots that only the last results can tell: "book the first one", "book it".

    `guess`: where there was only one result, it is meant without a word for it.
    """
    done = view.last_of(intent.flow)
    if done is None:
        return {}
    offered = {
        name: values
        for name, values in done.offered.items()
        if name in intent.slots and name not in new
    }
    found = ordinal(view, offered)
    for name, values in offered.items():
        if guess and name not in found and name in intent.required and len(values) == 1:
            found[name] = Filled(values[0], values[0], view.turn)
    return found


def until(view: View, task: Task, found: Read) -> Read:
    """ "Make it until one": a new end alone leaves the start as it was."""
    for slot in slots_of(view, view.intent(task)):
        old = task.slots.get(slot.name)
        if slot.type != "time_range" or old is None or not _UNTIL.search(view.text):
            continue
        ends = read(Slot(slot.name, "time"), view.text, view.language, view.now)
        start = old.value.split("-")[0]
        if len(ends) == 1 and ends[0].value > start:
            value = Filled(f"{start}-{ends[0].value}", ends[0].spoken, view.turn)
            span = (ends[0].start, ends[0].end)
            return Read({**found.sure, slot.name: value}, found.maybe, (*found.spans, span))
    return found
