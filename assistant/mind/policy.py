"""Is this still about the last thing? What is missing? What is to be done? (D1-D3, D5, D9, D12)

Pure: a view goes in, a decision comes out, and every decision says why. Nothing is carried out
here, no model is asked.
"""

from __future__ import annotations

import re
from dataclasses import replace

from assistant.mind.dialogue import CONFIRM, Dialogue, Done, Filled, Task, frozen
from assistant.mind.filling import (
    NOTHING,
    Read,
    as_it_is,
    covered,
    filled,
    inherited,
    mentioned,
    one_more,
    ordinal,
    read_slots,
    renewed,
    until,
)
from assistant.mind.intents import Match, matches
from assistant.mind.recall import recalled
from assistant.mind.steps import advance, backed, begin, run
from assistant.mind.view import MAX_SUSPENDED, MAX_TRAIL, Decision, View

CONTINUE = 0.35
DETACH = 0.65
"""Between these the gate is unsure."""
_ADDRESSES = re.compile(r"\b(?:me|us)\b|我")
"""in a cue: said to the assistant, not told about ("remind me", "提醒我")"""
TYPED = ("time_range", "date", "time", "money", "duration", "quantity", "number")
"""types of values that a change may name without any word for them: "make it three" """
FEW = 6
"""words (characters in Chinese) that name what is to be taken up again; more are a sentence"""
MOSTLY = 0.55
"""share of the words that are values, from which they are nothing but values"""


def decide(view: View) -> Decision:
    """What to do with the words of one turn."""
    view = view.with_dialogue(expired(view))
    if view.dialogue.task is not None and view.dialogue.task.asked:
        decision = _collecting(view, view.dialogue.task)
    else:
        decision = _open(view)
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


# While a task waits for something


def _collecting(view: View, task: Task) -> Decision:
    for step in (_command, _back, _labelled, _answered_yes_no, _changed, _detached, _answered):
        decision = step(view, task)
        if decision is not None:
            return decision
    if (decision := recalled(view)) is not None:
        return decision
    return _unclear(view, task)


def _command(view: View, task: Task) -> Decision | None:
    """Cancel, start over, undo: they are never taken for a value."""
    if _is(view, "cancel") and not _declines(view, task) and not _any_will_do(view, task):
        dialogue = replace(view.dialogue, task=None, queue=())
        return Decision("cancelled", dialogue, task.name, True, task.slots, ("cancel",), task=task)
    if _is(view, "restart"):
        again = Task(task.flow, task.intent, touched=view.stamp)
        return advance(view, again, ("start over",), act="restarted")
    if _is(view, "undo"):
        if task.earlier:
            back = replace(
                task, slots=task.earlier[-1], earlier=task.earlier[:-1], touched=view.stamp
            )
            return advance(view, back, ("undo: the slots before",), act="undone")
        return _undo_done(view)
    return None


def _declines(view: View, task: Task) -> bool:
    """ "No thanks", "I don't care": what was offered is not wanted."""
    words, text = view.common, view.plain
    return task.asked in view.intent(task).offer and (
        words.whole("no", text) or words.whole("either_way", text)
    )


def _any_will_do(view: View, task: Task) -> bool:
    return task.asked in task.offered and view.common.whole("either_way", view.plain)


def _is(view: View, name: str) -> bool:
    """The words are that command, "no, …" before it or not."""
    words, text = view.common, view.plain
    no = words.starts("no", text)
    return words.whole(name, text) or bool(no and words.whole(name, text[no:]))


def _back(view: View, task: Task) -> Decision | None:
    """ "Back to the room" while something else is asked."""
    return _resumed(view) if view.dialogue.suspended or view.dialogue.done else None


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
    if words.whole("yes", text) and "?" not in text:  # a yes and nothing else: fail closed
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
    news = {
        name: value
        for name, value in found.sure.items()
        if name not in task.slots or task.slots[name].value != value.value
    }
    return Read(news, found.maybe if said else {}, found.spans)


def _detached(view: View, task: Task) -> Decision | None:
    """A clear request of its own: another flow, or another intent of this one."""
    found = [
        match for match in matches(view, frozenset((task.flow,))) if match.intent.full != task.name
    ]
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


def _is_answer(view: View, task: Task, match: Match) -> bool:
    """The words answer what was asked, though a word of another intent stands in them (D2)."""
    slot = view.flow(task).slots.get(task.asked)
    if slot is None:
        return False
    opened = view.common.starts("opener", view.plain)
    at_start = match.start <= opened + 1
    if slot.type in ("text", "name"):
        addressed = (opened and at_start) or _ADDRESSES.search(match.cue) is not None
        return not addressed and not _asks(view)
    wanted = bool(read_slots(view, [slot], [slot.name]).sure)
    return wanted and (match.intent.flow == task.flow or not at_start)


def _answered(view: View, task: Task) -> Decision | None:
    """A value for what was asked, or for any other slot of the task."""
    flow, intent = view.flow(task), view.intent(task)
    slot = flow.slots.get(task.asked)
    if slot is None:
        return None
    free = slot.type == "text"
    if free and (_asks(view) or view.common.starts("change", view.plain)):
        return None
    chosen = ordinal(view, {name: of for name, of in task.offered.items() if name == task.asked})
    if chosen:
        return advance(view, filled(view, task, Read(chosen, {})), ("one of those named",))
    slots = [slot] if free else [flow.slots[name] for name in intent.slots]
    found = read_slots(view, slots, [task.asked])
    if not _answers(view, task, found):
        return None
    kept = filled(view, task, found)
    if task.asked in intent.offer and task.asked not in kept.slots:
        kept = _without_offer(kept, view)
    values = ", ".join(f"{name} = {one.value}" for name, one in found.sure.items())
    return advance(view, kept, (f"fits: {values or 'unsure'}",))


def _answers(view: View, task: Task, found: Read) -> bool:
    """The values found are what the words are for: not a question, not a chance likeness."""
    if not found or (_asks(view) and task.asked not in found.sure):
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


def _asks(view: View) -> bool:
    return "?" in view.text or "？" in view.text or view.common.starts("question", view.plain) > 0


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
    if detach is not None and detach < CONTINUE and task.asked != CONFIRM and not _asks(view):
        why = f"gate {detach:.2f}: meant for {task.asked}, but not understood"
        kept = replace(task, touched=view.stamp)
        dialogue = replace(view.dialogue, task=kept)
        return Decision(
            f"ask:{task.asked}", dialogue, task.name, True, task.slots, (why,),
            task=kept, slot=task.asked,
        )  # fmt: skip
    why = "no rule" if detach is None else f"gate {detach:.2f}"
    return Decision("model", view.dialogue, "", False, why=(f"{why}: the task waits",))


# While nothing is asked


def _open(view: View) -> Decision:
    for step in (_undo, _resumed, recalled, _requested, _pick, _correction, _fits_suspended):
        decision = step(view)
        if decision is not None:
            return decision
    return Decision("model", view.dialogue, why=("no flow asks for this",))


def _undo(view: View) -> Decision | None:
    last = view.dialogue.done[-1] if view.dialogue.done else None
    if _is(view, "undo") or (_is(view, "cancel") and last and last.write):
        back = Decision("rollback", view.dialogue, why=("no task has anything to undo",))
        return _undo_done(view) or back
    return None


def _undo_done(view: View) -> Decision | None:
    """The last write, taken back by its own inverse, or the word that it cannot be."""
    done = next((one for one in reversed(view.dialogue.done) if one.write), None)
    if done is None or not view.fresh(done.task):
        return None
    act = "undone" if done.inverse is not None else "cannot_undo"
    why = (f"undo {done.task.name}",)
    slots = done.task.slots
    return Decision(
        act, view.dialogue, done.task.name, False, slots, why, done.inverse, done.task, done
    )


def _resumed(view: View) -> Decision | None:
    """ "Back to the room": a suspended task, or what was done last of that flow."""
    start = view.common.starts("resume", view.plain)
    rest = view.plain[start:]
    if not start or (len(rest) if view.language == "zh" else len(rest.split())) > FEW:
        return None
    dialogue = view.dialogue
    waiting = list(reversed(dialogue.suspended))
    named = [task for task in waiting if mentioned(view, task)]
    candidates = named or ([] if _names_flow(view) else waiting)
    task = candidates[0] if candidates else None
    if task is not None:
        kept = tuple(one for one in dialogue.suspended if one is not task)
        if dialogue.task is not None:
            kept = (*kept, dialogue.task)[-MAX_SUSPENDED:]
        view = view.with_dialogue(replace(dialogue, task=None, suspended=kept))
        return advance(view, replace(task, touched=view.stamp), ("taken up again",), act="resumed")
    done = next((one for one in reversed(dialogue.done) if mentioned(view, one)), None)
    if done is None:
        return None
    # What was done is the last thing again: "make it three" then changes this one.
    others = tuple(one for one in dialogue.done if one is not done)
    again = replace(done, task=replace(done.task, touched=view.stamp))
    dialogue = replace(dialogue, done=(*others, again))
    return Decision(
        "resumed", dialogue, done.task.name, False, done.task.slots, ("it is done",),
        task=again.task, done=again,
    )  # fmt: skip


def _names_flow(view: View) -> bool:
    """The words name some flow's thing."""
    flows = view.book.flows.values()
    return any(mentioned(view, Task(flow.id, "")) for flow in flows)


def _requested(view: View) -> Decision | None:
    last = view.last()
    near = frozenset(one.task.flow for one in view.dialogue.done if view.fresh(one.task))
    found = [one for one in matches(view, near) if backed(view, one)]
    if not found:
        return None
    if not found[0].alone or _follows(view, found[0], last):
        closer = _pick(view) or _correction(view)
        if closer is not None:
            return closer
    return begin(view, found[0], (f"asks for it: {found[0].cue!r}",))


def _follows(view: View, match: Match, last: Done | None) -> bool:
    """ "What about B105?": the same query once more, with another value."""
    if last is None or match.intent.flow != last.task.flow:
        return False
    flow = view.flow(last.task)
    takes_rest = any(flow.slots[name].rest for name in match.intent.slots)
    again = flow.change.get(last.task.intent) == match.intent.name
    return again and not takes_rest and view.common.starts("followup", view.plain) > 0


def _correction(view: View) -> Decision | None:
    """ "No, make it the afternoon" after something was done."""
    last = view.last()
    if last is None:
        return None
    change = view.flow(last.task).change.get(last.task.intent)
    said = view.common.has("change", view.plain)
    if change is None:
        return None
    intent = view.flow(last.task).intents[change]
    slots = [view.flow(last.task).slots[name] for name in intent.slots]
    loose = [one.name for one in slots if said and one.type in TYPED]
    found = read_slots(view, [one for one in slots if one.type != "text"], loose)
    more = NOTHING if found else one_more(view, intent)
    found = found or more
    follows = (
        bool(more)
        or said
        or view.common.starts("followup", view.plain)
        or covered(view, found) >= MOSTLY
    )
    if not found or not follows:
        return None
    found = renewed(view, intent, until(view, last.task, found), last)
    before = {name: one for name, one in as_it_is(last).items() if name in intent.slots}
    task = Task(last.task.flow, change, frozen(before), touched=view.stamp)
    task = replace(filled(view, task, found), changed=False, earlier=())
    return advance(view, task, (f"changes {last.task.name}",), continued=True)


def _pick(view: View) -> Decision | None:
    """ "A302, please" after "A302 and B210 are free": what a result was picked for."""
    last = view.last()
    follow = view.flow(last.task).follow.get(last.task.intent) if last else None
    if last is None or follow is None:
        return None
    intent = view.flow(last.task).intents[follow]
    offered = {name: of for name, of in last.offered.items() if name in intent.required}
    found = ordinal(view, offered)
    if view.common.whole("yes", view.plain) and all(len(of) == 1 for of in offered.values()):
        found = {name: Filled(of[0], of[0], view.turn) for name, of in offered.items()}
    if not found:
        slots = [view.flow(last.task).slots[name] for name in offered]
        read = read_slots(view, slots, [slot.name for slot in slots])
        rest = len(view.plain) - sum(end - start for start, end in read.spans)
        found = dict(read.sure) if read.sure and rest <= max(16, len(view.plain) // 2) else {}
    if not found or _asks(view):
        return None
    task = Task(last.task.flow, follow, frozen({**inherited(view, intent, found), **found}))
    task = replace(task, touched=view.stamp)
    return advance(view, task, ("one of the results",), continued=True)


def _fits_suspended(view: View) -> Decision | None:
    """A bare value that a suspended task waits for (D2)."""
    for task in reversed(view.dialogue.suspended):
        slot = view.flow(task).slots.get(task.asked)
        if slot is None or slot.type in ("text", "name", "flag"):
            continue
        found = read_slots(view, [slot], [slot.name])
        if found.sure and covered(view, found) >= MOSTLY:
            kept = tuple(one for one in view.dialogue.suspended if one is not task)
            view = view.with_dialogue(replace(view.dialogue, suspended=kept))
            return advance(view, filled(view, task, found), ("fits a task that waits",))
    return None


def _trailed(view: View, decision: Decision) -> Decision:
    """ "T3:rooms.book -> rooms" (D11)."""
    if not decision.intent:
        return decision
    line = f"T{view.turn}:{decision.intent} -> {decision.intent.partition('.')[0]}"
    trail = decision.dialogue.trail
    if not trail or trail[-1] != line:
        trail = (*trail, line)[-MAX_TRAIL:]
    return replace(decision, dialogue=replace(decision.dialogue, trail=trail))
