"""The tasks as the inner monologue shows them: task, facts, pending, steps, summary (M1, M9)."""

from __future__ import annotations

from dataclasses import replace

from assistant.config import MindConfig
from assistant.mind.dialogue import Dialogue, Done, Task
from assistant.mind.merge import Update, merge
from assistant.mind.state import Fact, State
from assistant.mind.steps import unfilled
from assistant.mind.telling import done_note, notes, text_of
from assistant.mind.view import View
from assistant.wording import words


def projected(state: State, view: View, limits: MindConfig) -> State:
    """The state with `view.dialogue` in it; the facts of tasks that are over are in the summary."""
    dialogue = view.dialogue
    open_ = [task for task in (*dialogue.suspended, dialogue.task) if task is not None]
    facts: dict[str, Fact] = {}
    for task in open_:
        for slot, value, turn, note in notes(view, task):
            facts[f"{task.flow}.{slot}"] = Fact(value, note, view.language, turn)
    new = [one for one in dialogue.done if one not in state.dialogue.done and one.write]
    summary, steps = state.history_summary, state.steps
    for done in _taken_back(state, dialogue):
        summary = summary.replace(done_note(view, done), "").replace("  ", " ").strip()
        steps = _without(steps, _step(view, done))
    for done in new:
        summary = f"{summary} {done_note(view, done)}".strip()
    changes = Update(
        task=_title(view, dialogue.task),
        facts=facts,
        pending=_questions(view, dialogue.task),
        steps=(*steps, *(_step(view, done) for done in new)),
        interrupted="",
        drop=frozenset(key for key in state.facts if "." in key and key not in facts),
        dialogue=dialogue,
        ended=dialogue.task is None,
    )
    return merge(replace(state, history_summary=summary), changes, limits)


def _taken_back(state: State, dialogue: Dialogue) -> list[Done]:
    """Writes that are no longer done ("undo that"); what only became too old stays told."""
    kept = {one.task.touched for one in dialogue.done}
    oldest = min(kept, default=0.0)
    gone = (one for one in state.dialogue.done if one not in dialogue.done and one.write)
    return [one for one in gone if one.task.touched not in kept and one.task.touched >= oldest]


def _without(steps: tuple[str, ...], step: str) -> tuple[str, ...]:
    """The steps without the last one of that name."""
    for place in reversed(range(len(steps))):
        if steps[place] == step:
            return (*steps[:place], *steps[place + 1 :])
    return steps


def _title(view: View, task: Task | None) -> str:
    return text_of(view.intent(task).title, view.language) if task else ""


def _step(view: View, done: Done) -> str:
    return text_of(view.intent(done.task).title, view.language)


def _questions(view: View, task: Task | None) -> tuple[str, ...]:
    """What is still to be asked, in the words it is asked with."""
    if task is None:
        return ()
    slots = view.flow(task).slots
    return tuple(
        text_of(slots[name].ask, view.language)
        or words("ask", view.language, slot=name.replace("_", " "))
        for name in unfilled(task, view.intent(task))
    )
