"""What the words are for while a task waits for something: its value, or something else (D2)?"""

from __future__ import annotations

import re
from dataclasses import replace

from assistant.mind.carrying import ordinal, until
from assistant.mind.dialogue import CONFIRM, Task, frozen
from assistant.mind.filling import (
    Read,
    begun,
    covered,
    distinct,
    filled,
    read_slots,
    renamed,
    slots_of,
)
from assistant.mind.intents import Match, matches
from assistant.mind.opening import MOSTLY, TYPED, asks, is_command, resumed
from assistant.mind.recall import last_deed, recalled
from assistant.mind.steps import advance, backed, begin, run
from assistant.mind.view import Decision, View

CONTINUE = 0.35
DETACH = 0.65
"""Between these the gate is unsure."""
IN_PASSING = 0.3
"""share of the words below which a value stands in a sentence about something more"""
_ASKS_BACK = re.compile(r"[?？]|(?:没错|对|是)吧")
"""a yes that is a question"""
_ADDRESSES = re.compile(r"\b(?:me|us)\b|我")
"""in a cue: said to the assistant, not told about ("remind me", "提醒我")"""


def collecting(view: View, task: Task) -> Decision:
    for step in (_command, _back, _labelled, _answered_yes_no, _changed, _detached, _answered):
        decision = step(view, task)
        if decision is not None:
            return decision
    if (decision := recalled(view) or last_deed(view)) is not None:
        return decision
    return _unclear(view, task)


def _command(view: View, task: Task) -> Decision | None:
    """Cancel, start over, undo: they are never taken for a value."""
    if is_command(view, "cancel") and not _declines(view, task) and not _any_will_do(view, task):
        dialogue = replace(view.dialogue, task=None, queue=())
        return Decision("cancelled", dialogue, task.name, True, task.slots, ("cancel",), task=task)
    if is_command(view, "restart"):
        again = Task(task.flow, task.intent, touched=view.stamp)
        return advance(view, again, ("start over",), act="restarted")
    if is_command(view, "undo"):
        if task.earlier:
            back = replace(
                task, slots=task.earlier[-1], earlier=task.earlier[:-1], touched=view.stamp
            )
            return advance(view, back, ("undo: the slots before",), act="undone")
        dialogue = replace(view.dialogue, task=None, queue=())
        why = ("undo: nothing was changed yet",)
        return Decision("cancelled", dialogue, task.name, True, task.slots, why, task=task)
    return None


def _back(view: View, task: Task) -> Decision | None:
    """ "Back to the room" while something else is asked."""
    return resumed(view) if view.dialogue.suspended or view.dialogue.done else None


def _declines(view: View, task: Task) -> bool:
    """ "No thanks", "I don't care": what was offered is not wanted."""
    words, text = view.common, view.plain
    return task.asked in view.intent(task).offer and (
        words.whole("no", text) or words.whole("either_way", text)
    )


def _any_will_do(view: View, task: Task) -> bool:
    return task.asked in task.offered and view.common.whole("either_way", view.plain)


def _labelled(view: View, task: Task) -> Decision | None:
    """ "reason: visiting a customer": a field that is named is that field, whatever it holds."""
    intent = view.intent(task)
    flow = view.flow(task)
    slot = flow.slots.get(task.asked)
    if slot is None or slot.type != "text":
        return None
    labels = tuple(slot.words.get(view.language, ()))
    start = view.common.without_fillers(view.plain)
    if not any(start.startswith(label.lower()) for label in labels):
        return None
    if asks(view) and ":" not in view.text and "：" not in view.text:
        return None  # "why do you need a reason"
    found = read_slots(view, [slot], [slot.name])
    if not found.sure:
        return None
    return advance(view, filled(view, task, found), (f"{slot.name}: named",), intent=intent)


def _answered_yes_no(view: View, task: Task) -> Decision | None:
    """A yes or no to "Shall I …?", to "Do you mean …?" and to an offer."""
    if task.asked == CONFIRM:
        return _confirmation(view, task)
    words, text = view.common, view.plain
    if task.asked in task.maybe:
        value = task.maybe[task.asked]
        maybe = frozen({key: one for key, one in task.maybe.items() if key != task.asked})
        if words.whole("yes", text):
            found = Read({task.asked: value}, {})
            kept = filled(view, replace(task, maybe=maybe), found)
            return advance(view, kept, (f"{task.asked}: yes, {value.value}",))
        if words.whole("no", text):
            return advance(view, replace(task, maybe=maybe, touched=view.stamp), ("not meant",))
        return None
    if _declines(view, task):
        return advance(view, _without_offer(task, view), (f"{task.asked}: not wanted",))
    return None


def _without_offer(task: Task, view: View) -> Task:
    return replace(task, declined=(*task.declined, task.asked), touched=view.stamp)


def _confirmation(view: View, task: Task) -> Decision | None:
    words, text = view.common, view.plain
    changes = _changes(view, task)
    if changes:
        return advance(view, filled(view, task, changes), ("changed before the yes",))
    if words.whole("yes", text) and not _ASKS_BACK.search(view.text):
        # A yes and nothing else, to a question that was just asked: fail closed.
        if task.stale and view.intent(task).risk != "low":
            why = ("a yes, but something else was talked of: asked again",)
            return advance(view, replace(task, stale=False, touched=view.stamp), why)
        return run(view, task, ("the user said yes",), confirmed=True)
    if words.whole("no", text) or (words.starts("no", text) and not matches(view)):
        dialogue = replace(view.dialogue, task=None, queue=())
        return Decision("cancelled", dialogue, task.name, True, task.slots, ("no",), task=task)
    return None


def _changes(view: View, task: Task) -> Read:
    """Values given beside or instead of a yes: "no, make it the afternoon", "with a projector"."""
    intent = view.intent(task)
    slots = [view.flow(task).slots[name] for name in intent.slots]
    refuses = task.asked == CONFIRM and view.common.starts("no", view.plain) > 0
    said = refuses or view.common.has("change", view.plain)
    loose = [slot.name for slot in slots if said and slot.type in TYPED]
    found = read_slots(view, [slot for slot in slots if slot.type != "text"], loose)
    found = until(view, task, found) if said else found
    sure = {**found.sure, **(renamed(view, slots) if said else {})}
    news = {
        name: value
        for name, value in sure.items()
        if name not in task.slots or task.slots[name].value != value.value
    }
    return Read(news, found.maybe if said else {}, found.spans)


def _detached(view: View, task: Task) -> Decision | None:
    """A clear request of its own: another flow, another intent of this one, or the same anew."""
    every = matches(view, frozenset((task.flow,)))
    found = [match for match in every if match.intent.full != task.name]
    if (again := _anew(view, task, every)) is not None:
        return begin(view, again, (f"another one: {again.cue!r}",))
    other = [match for match in found if match.intent.flow != task.flow and match.alone]
    own = [one for one in found if one.intent.flow == task.flow and backed(view, one)]
    best = other[0] if other else None
    if best is not None and _is_answer(view, task, best):
        return None
    if best is None and own and not _is_answer(view, task, own[0]):
        best = own[0]
    if best is None:
        return None
    return begin(view, best, (f"clear request: {best.cue!r}",))


def _anew(view: View, task: Task, every: list[Match]) -> Match | None:
    """ "Remind me to call Bob", while the time of another reminder is asked for."""
    for match in every:
        if match.intent.full == task.name and match.alone and _ADDRESSES.search(match.cue):
            rest = [slot.name for slot in slots_of(view, match.intent) if slot.rest]
            read = begun(view, match.intent, match.cue).sure
            if any(name in read and name in task.slots for name in rest):
                return match
    return None


def _is_answer(view: View, task: Task, match: Match) -> bool:
    """The words answer what was asked, though a word of another intent stands in them (D2)."""
    slot = view.flow(task).slots.get(task.asked)
    if slot is None:
        return False
    opened = view.common.starts("opener", view.plain)
    at_start = match.start <= opened + 1
    if slot.type in ("text", "name"):
        addressed = (opened and at_start) or _ADDRESSES.search(match.cue) is not None
        return not addressed and not asks(view)
    wanted = bool(read_slots(view, [slot], [slot.name]).sure)
    return wanted and (match.intent.flow == task.flow or not at_start)


def _answered(view: View, task: Task) -> Decision | None:
    """A value for what was asked, or for any other slot of the task."""
    flow, intent = view.flow(task), view.intent(task)
    slot = flow.slots.get(task.asked)
    if slot is None:
        return None
    free = slot.type == "text"
    if free and (asks(view) or view.common.starts("change", view.plain)):
        return None
    chosen = ordinal(view, {name: of for name, of in task.offered.items() if name == task.asked})
    if chosen:
        return advance(view, filled(view, task, Read(chosen, {})), ("one of those named",))
    several = distinct(view, slot)
    if len(several) > 1 and not asks(view):
        again = replace(task, offered=frozen({slot.name: several}), touched=view.stamp)
        return advance(view, again, (f"{' or '.join(several)}: which one?",))
    slots = [slot] if free else [flow.slots[name] for name in intent.slots]
    found = read_slots(view, slots, [task.asked])
    if not _answers(view, task, found):
        return None
    kept = filled(view, task, found)
    if slot.type not in ("text", "flag") and covered(view, found) < IN_PASSING:
        kept = replace(kept, changed=True)  # picked out of a sentence: read back before it counts
    if task.asked in intent.offer and task.asked not in kept.slots:
        kept = _without_offer(kept, view)
    values = ", ".join(f"{name} = {one.value}" for name, one in found.sure.items())
    return advance(view, kept, (f"fits: {values or 'unsure'}",))


def _answers(view: View, task: Task, found: Read) -> bool:
    """The values found are what the words are for: not a question, not a chance likeness."""
    suggests = view.common.starts("suggestion", view.plain) > 0
    if not found or (asks(view) and not (suggests and task.asked in found.sure)):
        return False
    if any(view.common.whole(name, view.plain) for name in ("yes", "thanks", "no")):
        return view.flow(task).slots[task.asked].type == "flag"
    if covered(view, found) < MOSTLY and (not found.sure or _elsewhere(view, task)):
        return False
    return not (view.common.has("recall", view.plain) and recalled(view))


def _elsewhere(view: View, task: Task) -> bool:
    """The gate is sure that a sentence which merely holds a value is about something else."""
    free = task.asked and view.flow(task).slots[task.asked].type in ("text", "name")
    return not free and view.detach is not None and view.detach(view, task) >= DETACH


def _changed(view: View, task: Task) -> Decision | None:
    """A change of what was given before, though something else was asked for."""
    if not view.common.has("change", view.plain):
        return None
    if any(
        match.alone and match.intent.full != task.name
        for match in matches(view, frozenset((task.flow,)))
    ):
        return None
    changes = _changes(view, task)
    if not set(changes.sure) & set(task.slots) or task.asked in changes.sure:
        return None
    kept = filled(view, task, changes)
    if task.asked in view.intent(task).offer:
        kept = _without_offer(kept, view)
    return advance(view, kept, ("a change",))


def _unclear(view: View, task: Task) -> Decision:
    """No rule reads it: the gate says whether it was meant for the task."""
    detach = view.detach(view, task) if view.detach is not None else None
    if detach is not None and detach < CONTINUE and task.asked != CONFIRM and not asks(view):
        why = f"gate {detach:.2f}: meant for {task.asked}, but not understood"
        kept = replace(task, touched=view.stamp)
        dialogue = replace(view.dialogue, task=kept)
        return Decision(
            f"ask:{task.asked}", dialogue, task.name, True, task.slots, (why,),
            task=kept, slot=task.asked,
        )  # fmt: skip
    why = "no rule" if detach is None else f"gate {detach:.2f}"
    unsure = detach is not None and CONTINUE <= detach < DETACH and task.asked != CONFIRM
    waits = replace(task, stale=True) if task.asked == CONFIRM else task
    dialogue = replace(view.dialogue, task=waits)
    return Decision("model", dialogue, why=(f"{why}: the task waits",), task=waits, unsure=unsure)
