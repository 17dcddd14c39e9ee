"""Is this still about the last thing? What is missing? What is to be done? (D1-D3, D5, D9, D12)

Pure: a view goes in, a decision comes out, and every decision says why. Nothing is carried out
here, no model is asked.
"""

from __future__ import annotations

from dataclasses import replace

from assistant.mind.collecting import collecting
from assistant.mind.dialogue import Dialogue
from assistant.mind.opening import opened
from assistant.mind.view import MAX_TRAIL, Decision, View


def decide(view: View) -> Decision:
    """What to do with the words of one turn."""
    view = view.with_dialogue(expired(view))
    if view.dialogue.task is not None and view.dialogue.task.asked:
        decision = collecting(view, view.dialogue.task)
    else:
        decision = opened(view)
    return _trailed(view, decision)


def expired(view: View) -> Dialogue:
    """The dialogue without tasks that have waited too long (D3)."""
    dialogue = view.dialogue
    task = dialogue.task if dialogue.task and view.fresh(dialogue.task) else None
    suspended = tuple(one for one in dialogue.suspended if view.fresh(one))
    if task is dialogue.task and suspended == dialogue.suspended:
        return dialogue
    queue = dialogue.queue if task is dialogue.task else ()
    return replace(dialogue, task=task, suspended=suspended, queue=queue)


def _trailed(view: View, decision: Decision) -> Decision:
    """ "T3:rooms.book -> rooms" (D11)."""
    if not decision.intent:
        return decision
    line = f"T{view.turn}:{decision.intent} -> {decision.intent.partition('.')[0]}"
    trail = decision.dialogue.trail
    if not trail or trail[-1] != line:
        trail = (*trail, line)[-MAX_TRAIL:]
    return replace(decision, dialogue=replace(decision.dialogue, trail=trail))
