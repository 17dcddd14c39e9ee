"""A decision and what came of it → sentences, from the flows' own wording (en, zh)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assistant.mind import wordplay
from assistant.mind.cues import of
from assistant.mind.dialogue import CONFIRM, Done, Filled, Task
from assistant.mind.flows import Slot
from assistant.mind.slots import spoken
from assistant.mind.view import Decision, View
from assistant.mind.wordplay import joined, slot_of, wording
from assistant.wording import words

LEADS = ("refuse", "cancelled", "undone", "cannot_undo", "restarted", "resumed")
"""acts with a sentence of their own, before what is asked"""
MOST_NAMED = 4
"""values that a question names to choose from"""


def told(view: View, decision: Decision) -> str:
    """What is said to a decision that carried nothing out; "" when the model is to answer."""
    act, task, language = decision.act, decision.task, view.language
    if act == "rollback":
        return words("rolled_back", language)
    if task is None or act == "model":
        return ""
    if act == "recall" and decision.slot:
        return _recalled(view, decision, task)
    if decision.done is not None and act in ("resumed", "recall"):
        return words("resumed_done", language, what=_summary(view, decision.done.task))
    asked = question(view, decision) if decision.slot else ""
    if act in LEADS:
        places = {
            "title": text_of(view.intent(task).title, language),
            "name": text_of(view.flow(task).name, language),
            "what": _listed(view, task, values(view, task)),
        }
        lead = f"{act}_so_far" if act == "resumed" and task.slots and task.asked != CONFIRM else act
        return _two(words(lead, language, **places), asked, language)
    return asked


def result(view: View, task: Task, outcome: str, extra: Mapping[str, str]) -> str:
    """What came of an action."""
    intent = view.intent(task)
    raw = {name: one.value for name, one in task.slots.items()} | dict(extra)
    flow = view.flow(task)

    def speak(place: str, value: str) -> str:
        slot = slot_of(flow, place)
        return value if slot is None else said_value(view, slot, value)

    return wordplay.told(intent, outcome, raw, view.language, speak)


def question(view: View, decision: Decision) -> str:
    """What is asked: a missing value, "Do you mean …?", or a yes."""
    task, language = decision.task, view.language
    if task is None:
        return ""
    intent = view.intent(task)
    if decision.slot == CONFIRM:
        texts = intent.confirm
        if texts:
            return wording(text_of(texts, language), values(view, task), language)
        title = text_of(intent.title, language)
        return words("confirm", language, title=title, what=_summary(view, task))
    slot = view.flow(task).slots[decision.slot]
    if slot.name in task.maybe and slot.name not in task.slots:
        value = said_value(view, slot, task.maybe[slot.name].value)
        return words("do_you_mean", language, value=value)
    offered = task.offered.get(slot.name, ())
    if 1 < len(offered) <= MOST_NAMED:
        options = _either([_choice(view, slot, value) for value in offered], language)
        return words("which", language, options=options)
    return text_of(slot.ask, language) or words("ask", language, slot=_label(slot, language))


def _either(options: Sequence[str], language: str) -> str:
    """ "A302, A305 or B210" """
    comma = words("comma", language)
    return words("or", language, first=comma.join(options[:-1]), last=options[-1])


def values(view: View, task: Task) -> dict[str, str]:
    """The slots in their spoken form; a flag that is not wanted is left out."""
    slots = view.flow(task).slots
    said = {name: said_value(view, slots[name], one.value) for name, one in task.slots.items()}
    return {name: text for name, text in said.items() if text}


def said_value(view: View, slot: Slot, value: str) -> str:
    """How a value is said; a flag is said by its name, and not at all when it is not wanted."""
    if slot.type == "flag":
        return _label(slot, view.language) if value == "yes" else ""
    if slot.type in ("choice", "code"):
        return _choice(view, slot, value)
    return spoken(slot.type, value, view.language, view.now)


def _choice(view: View, slot: Slot, value: str) -> str:
    for choice in (*slot.choices, *view.choices(slot)):
        if choice.value == value:
            return next(iter(of(choice.words, view.language)), value)
    return value


def _label(slot: Slot, language: str) -> str:
    return next(iter(of(slot.words, language)), slot.name)


def _recalled(view: View, decision: Decision, task: Task) -> str:
    slot = view.flow(task).slots[decision.slot]
    value = said_value(view, slot, task.slots[decision.slot].value)
    if slot.type == "flag":
        value = words(task.slots[decision.slot].value, view.language)
        answer = words("recall_flag", view.language, value=value)
    else:
        answer = words("recall", view.language, value=value)
    open_ = view.dialogue.task
    again = ""
    if open_ is not None and open_.asked:
        waiting = Decision("", view.dialogue, task=open_, slot=open_.asked)
        again = question(view, waiting)
    return _two(answer, again, view.language)


def _summary(view: View, task: Task) -> str:
    """ "book the meeting room: tomorrow, 10 to 12, A302" """
    said = _listed(view, task, values(view, task))
    title = text_of(view.intent(task).title, view.language)
    return f"{title}{words('colon', view.language)}{said}" if said else title


def _listed(view: View, task: Task, known: Mapping[str, str]) -> str:
    """The values in the order the task needs them; bare numbers with what they count."""
    slots = view.flow(task).slots
    return joined(
        [
            words("counted", view.language, value=text, label=_label(slots[name], view.language))
            if slots[name].type == "number"
            else text
            for name in view.intent(task).slots
            if (text := known.get(name))
        ],
        view.language,
    )


def text_of(texts: Mapping[str, str], language: str) -> str:
    """In the language spoken, else in English."""
    return texts.get(language) or texts.get("en", "")


def _two(one: str, other: str, language: str) -> str:
    gap = "" if language == "zh" else " "
    return f"{one}{gap}{other}" if other else one


def notes(view: View, task: Task) -> Sequence[tuple[str, str, int, str]]:
    """(slot, value, turn, a sentence about it) for the inner monologue (M1 `facts`)."""
    flow = view.flow(task)
    name = text_of(flow.name, view.language)
    found = []
    for key, filled in task.slots.items():
        slot = flow.slots[key]
        said = _lasting(view, slot, filled)
        label = slot.name.replace("_", " ") if view.language == "en" else _label(slot, "zh")
        text = words("slot_note", view.language, name=name, slot=label, value=said)
        found.append((key, said, filled.turn, text))
    return found


def _lasting(view: View, slot: Slot, filled: Filled) -> str:
    """A value that is still true tomorrow: "2026-12-01" rather than "tomorrow"."""
    if slot.type == "date":
        return filled.value
    if slot.type == "flag":
        return words(filled.value, view.language)
    return said_value(view, slot, filled.value)


def done_note(view: View, done: Done) -> str:
    """One sentence for the summary (M9)."""
    task, slots = done.task, view.flow(done.task).slots
    known = {
        name: _label(slots[name], view.language)
        if slots[name].type == "flag"
        else _lasting(view, slots[name], one)
        for name, one in task.slots.items()
        if one.value != "no" or slots[name].type != "flag"
    }
    title = text_of(view.intent(task).title, view.language)
    return words("done_note", view.language, title=title, what=_listed(view, task, known))
