"""What comes next in a task: ask what is missing, offer, read back, carry out (D1, D9, M12).

A write of high risk, and a write whose values were changed or not surely heard, is carried out
only after a yes to exactly its values (fail closed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assistant.mind.carrying import inherited, picked, renewed
from assistant.mind.dialogue import CONFIRM, Call, Task, frozen
from assistant.mind.filling import begun
from assistant.mind.flows import Intent
from assistant.mind.intents import Match
from assistant.mind.view import MAX_SUSPENDED, Decision, View


def backed(view: View, match: Match) -> bool:
    """The request is clear: by its noun, or by a value beside a cue that could mean anything."""
    if match.alone:
        return True
    opens = view.language == "zh" or match.start <= view.opening + 1
    read = begun(view, match.intent, match.cue, left=opens)
    return bool(read.sure or picked(view, match.intent, read.sure, guess=False))


def begin(view: View, match: Match, why: tuple[str, ...]) -> Decision:
    """A new task; the one under way waits."""
    intent = match.intent
    read = renewed(view, intent, begun(view, intent, match.cue), view.last_of(intent.flow))
    # What was not heard surely is taken, as a query harms nothing and a write is read back.
    sure = {**read.sure, **read.maybe}
    sure = {**sure, **picked(view, intent, sure)}
    sure = {**inherited(view, intent, sure), **sure}
    dialogue = view.dialogue
    if dialogue.task is not None and (
        dialogue.task.name != intent.full or view.intent(dialogue.task).kind != "read"
    ):
        waiting = (*dialogue.suspended, dialogue.task)[-MAX_SUSPENDED:]
        dialogue = replace(dialogue, task=None, suspended=waiting)
    last = view.last_of(intent.flow)
    offered = last.offered if last is not None else frozen()
    task = Task(
        intent.flow,
        intent.name,
        frozen(sure),
        offered=offered,
        changed=bool(read.maybe) or unjudged(view, intent),
        touched=view.stamp,
    )
    return advance(view.with_dialogue(dialogue), task, why, continued=False)


def unjudged(view: View, intent: Intent) -> bool:
    """A condition was named that no rule can judge: nothing is written without a yes."""
    return intent.kind != "read" and (not view.judged or view.condition is not None)


def advance(
    view: View,
    task: Task,
    why: Sequence[str],
    *,
    act: str = "",
    continued: bool = True,
    intent: Intent | None = None,
) -> Decision:
    """Ask what is missing, offer what may be wanted, read back what is risky, or carry it out."""
    intent = intent or view.intent(task)
    if not view.permitted(intent):
        dialogue = replace(view.dialogue, task=None)
        why = (*why, "not permitted")
        return Decision("refuse", dialogue, intent.full, continued, task.slots, why, task=task)
    name = _next(task, intent)
    if not name and needs_yes(task, intent):
        name = CONFIRM
    if not name:
        decision = run(view, task, tuple(why))
        return replace(decision, continued=continued)
    kept = replace(task, asked=name)
    step = "confirm" if name == CONFIRM else f"ask:{name}"
    return Decision(
        act or step,
        replace(view.dialogue, task=kept),
        intent.full,
        continued,
        kept.slots,
        (*why, "wants a yes" if name == CONFIRM else f"wants {name}"),
        task=kept,
        slot=name,
    )


def _next(task: Task, intent: Intent) -> str:
    """The slot to ask for: an unsure one, a missing one, an offer not yet made; or ""."""
    for name in task.maybe:
        if name not in task.slots:
            return name
    for name in intent.required:
        if name not in task.slots:
            return name
    for name in intent.offer:
        if name not in task.slots and name not in task.declined:
            return name
    return ""


def needs_yes(task: Task, intent: Intent) -> bool:
    """Whatever is not surely a query is a write; a risky write waits for a yes (D9, M12)."""
    return intent.kind != "read" and (intent.risk != "low" or task.changed)


def run(view: View, task: Task, why: tuple[str, ...], *, confirmed: bool = False) -> Decision:
    intent = view.intent(task)
    call = Call(intent.action, frozen({name: one.value for name, one in task.slots.items()}))
    dialogue = replace(view.dialogue, task=None)
    return Decision(
        "run", dialogue, intent.full, True, task.slots, why, call, task, confirmed=confirmed
    )


def unfilled(task: Task, intent: Intent) -> tuple[str, ...]:
    """What a task still misses (M1 `pending`)."""
    return tuple(name for name in intent.required if name not in task.slots)
