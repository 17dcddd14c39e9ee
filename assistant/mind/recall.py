""" "What time was that room?": answered from the tasks themselves, no model, no database."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.mind.cues import hits, of
from assistant.mind.dialogue import Done, Task
from assistant.mind.filling import mentioned, read_slots
from assistant.mind.view import Decision, View

LITTLE = {"en": 4, "zh": 2}
"""letters beside "what time was it?" that name nothing else"""


def recalled(view: View) -> Decision | None:
    """The decision to tell a value that is already known; None when nothing such is asked."""
    if not view.common.has("recall", view.plain):
        return None
    marked = view.common.has("recall_mark", view.plain)
    for about in _candidates(view):
        task = about.task if isinstance(about, Done) else about
        name = _slot_asked(view, task, marked=marked or mentioned(view, about))
        if name and not _tells_other(view, task):
            return Decision(
                "recall",
                view.dialogue,
                intent=task.name,
                continued=task is view.dialogue.task,
                slots=task.slots,
                why=(f"asks for {name}, which is known",),
                task=task,
                done=about if isinstance(about, Done) else None,
                slot=name,
            )
    return None


def _tells_other(view: View, task: Task) -> bool:
    """The question holds a value that the task does not have: it asks for something new."""
    slots = [slot for slot in view.flow(task).slots.values() if slot.type not in ("text", "name")]
    found = read_slots(view, slots).sure
    return any(
        name not in task.slots or task.slots[name].value != one.value
        for name, one in found.items()
        if view.flow(task).slots[name].type != "flag"
    )


def last_deed(view: View) -> Decision | None:
    """ "What did I just book?": the last thing that was carried out."""
    if not view.common.has("recall_done", view.plain):
        return None
    for done in reversed(view.dialogue.done):
        if done.write:
            why = ("asks what was done",)
            return Decision(
                "recall", view.dialogue, done.task.name, False, done.task.slots, why,
                task=done.task, done=done,
            )  # fmt: skip
    return None


def _candidates(view: View) -> Iterator[Task | Done]:
    """Tasks and what was done, newest first; those whose noun is named come before the others."""
    dialogue = view.dialogue
    every: list[Task | Done] = [
        *([dialogue.task] if dialogue.task else []),
        *reversed(dialogue.suspended),
        *reversed(dialogue.done),
    ]
    named = [about for about in every if mentioned(view, about)]
    yield from named
    if not named:
        yield from every[:2]


def _slot_asked(view: View, task: Task, *, marked: bool) -> str:
    """The filled slot that the question names, best within what asks ("what time was").

    Not `marked` as a question about what was said, it must hold little else.
    """
    asks = [(hit.start, hit.end) for hit in view.common.places("recall", view.plain)]
    best, most = "", 0
    for name in task.slots:
        slot = view.flow(task).slots.get(name)
        for hit in hits(of(slot.words, view.language), view.plain, view.language) if slot else ():
            around = [(start, end) for start, end in asks if start <= hit.start and hit.end <= end]
            if view.language == "zh" and around and all(end > hit.end for _, end in around):
                continue  # 多少 of 多少钱 is another question
            rest = len(view.plain) - max((end - start for start, end in around), default=0)
            if not marked and (not around or rest > LITTLE[view.language]):
                continue
            size = hit.end - hit.start + 100 * bool(around)
            if size > most:
                best, most = name, size
    return best
