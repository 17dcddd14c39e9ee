"""What a decision means for the office and, carried out, for the dialogue; the last gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assistant.mind.dialogue import Done, Task, frozen
from assistant.mind.flows import Intent
from assistant.mind.steps import unjudged
from assistant.mind.view import MAX_DONE, Decision, View
from assistant.skills.registry import Outcome
from assistant.wording import words


def warnings(view: View, decision: Decision) -> list[str]:
    """What of the words is not done: a condition that is not judged, a repetition."""
    begun = decision.task is not None and not decision.continued
    if not begun or decision.task is None or view.intent(decision.task).kind == "read":
        return []
    found = []
    if unjudged(view, view.intent(decision.task)):
        found.append(words("condition_unjudged", view.language))
    if view.common.has("every", view.plain):
        found.append(words("only_once", view.language))
    return found


def values_of(task: Task) -> Mapping[str, str]:
    """The slots as an action takes them."""
    return frozen({name: one.value for name, one in task.slots.items()})


def look_up(view: View, task: Task, slot: str) -> Intent | None:
    """A query that what is asked for may be picked from, when all it needs is known."""
    flow = view.flow(task)
    for name, follows in flow.follow.items():
        query = flow.intents[name]
        ready = set(query.required) <= set(task.slots) and query.kind == "read"
        if follows == task.intent and ready and slot in view.intent(task).required:
            return query
    return None


def writes(view: View, decision: Decision) -> bool:
    return decision.task is not None and view.intent(decision.task).kind != "read"


def refusal(intent: Intent, decision: Decision, view: View) -> str:
    """Why an action must not be carried out, "" when it may: the last gate (fail closed)."""
    if not view.permitted(intent):
        return "not permitted"
    if decision.act == "undone":
        return "" if decision.done is not None and decision.done.inverse == decision.call else "?"
    if intent.kind == "read":
        return ""
    task = decision.task
    if intent.risk == "low" and task is not None and not task.changed:
        return ""
    return "" if decision.confirmed else "not confirmed"


def settled(view: View, decision: Decision, outcome: Outcome) -> Decision:
    """The decision with the dialogue as it is after the action."""
    dialogue, task = decision.dialogue, decision.task
    assert task is not None
    if decision.act == "undone":
        others = tuple(one for one in dialogue.done if one is not decision.done)
        return replace(
            decision, dialogue=replace(dialogue, done=others if outcome.ok else dialogue.done)
        )
    again = next((name for name in outcome.offered if name in task.slots), "")
    if not outcome.ok and again:
        # "A302 is taken, B105 is free": the task goes on, that value has to be chosen anew
        kept = frozen({name: one for name, one in task.slots.items() if name != again})
        task = replace(task, slots=kept, asked=again, offered=outcome.offered, touched=view.stamp)
        return replace(decision, dialogue=replace(dialogue, task=task))
    cleared = replace(task, asked="", maybe=frozen(), earlier=(), touched=view.stamp)
    done = Done(
        cleared,
        outcome.name,
        frozen(outcome.values),
        outcome.inverse,
        view.intent(task).kind != "read" and outcome.ok,
        frozen(outcome.offered),
    )
    return replace(decision, dialogue=replace(dialogue, done=(*dialogue.done, done)[-MAX_DONE:]))
