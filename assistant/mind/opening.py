"""What the words are for while nothing is asked: undo, resume, a request, a change, a pick."""

from __future__ import annotations

import re
from dataclasses import replace

from assistant.mind.carrying import as_it_is, inherited, ordinal, renewed, until
from assistant.mind.cues import hits
from assistant.mind.dialogue import Done, Filled, Task, frozen
from assistant.mind.filling import NOTHING, begun, covered, filled, mentioned, one_more, read_slots
from assistant.mind.intents import Match, matches, named_flows
from assistant.mind.recall import last_deed, recalled
from assistant.mind.steps import advance, backed, begin
from assistant.mind.view import MAX_SUSPENDED, Decision, View

_TELLS = re.compile(r"(?:my|our|his|her|their|someone|somebody|it|he|she|they)\b|我的|我们的|他|她")
"""begins a statement, not a choice"""
NEARLY_ALL = 0.75
"""share of the words that a noun and values make up, from which nothing else is said"""
HOURS = ("date", "time", "time_range")
TYPED = ("time_range", "date", "time", "money", "duration", "quantity", "number")
"""types of values that a change may name without any word for them: "make it three" """
FEW = 6
"""words (characters in Chinese) that name what is to be taken up again; more are a sentence"""
MOSTLY = 0.55
"""share of the words that are values, from which they are nothing but values"""


def is_command(view: View, name: str) -> bool:
    """The words are that command, "no, …" before it or not."""
    words, text = view.common, view.plain
    no = words.starts("no", text)
    return words.whole(name, text) or bool(no and words.whole(name, text[no:]))


def asks(view: View) -> bool:
    return "?" in view.text or "？" in view.text or view.common.starts("question", view.plain) > 0


def opened(view: View) -> Decision:
    steps = (_undo, resumed, recalled, _requested, last_deed, _pick, _correction)
    for step in (*steps, _fits_suspended, _elliptical):
        decision = step(view)
        if decision is not None:
            return decision
    return Decision("model", view.dialogue, why=("no flow asks for this",))


def _undo(view: View) -> Decision | None:
    if is_command(view, "undo") or (is_command(view, "cancel") and _cancels_done(view)):
        back = Decision("rollback", view.dialogue, why=("no task has anything to undo",))
        return undo_done(view) or back
    return None


def _cancels_done(view: View) -> bool:
    """ "Forget that" means the write just carried out; later on it may mean something told."""
    last = view.dialogue.done[-1] if view.dialogue.done else None
    if last is None or not last.write:
        return False
    asks_for = any(backed(view, one) for one in matches(view))
    return bool(last.inverse and _just_done(view)) or not asks_for


def _just_done(view: View) -> bool:
    """The turn before this one carried something out."""
    return any(one.startswith(f"T{view.turn - 1}:") for one in view.dialogue.trail[-1:])


def undo_done(view: View) -> Decision | None:
    """The last write, taken back by its own inverse, or the word that it cannot be."""
    done = next((one for one in reversed(view.dialogue.done) if one.write), None)
    if done is None or not view.fresh(done.task):
        return None
    if done.inverse is None and not _just_done(view):
        return None  # something told since may be meant
    act = "undone" if done.inverse is not None else "cannot_undo"
    why = (f"undo {done.task.name}",)
    slots = done.task.slots
    return Decision(
        act, view.dialogue, done.task.name, False, slots, why, done.inverse, done.task, done
    )


def resumed(view: View) -> Decision | None:
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
        or (intent.kind == "read" and covered(view, found) >= MOSTLY)
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
        times = [one for one in view.flow(last.task).slots.values() if one.type in HOURS]
        if set(read_slots(view, times).spans) and covered(view, read) < MOSTLY:
            return None  # "tomorrow at ten" is no B210
        rest = len(view.plain) - sum(end - start for start, end in read.spans)
        found = dict(read.sure) if read.sure and rest <= max(16, len(view.plain) // 2) else {}
    if not found or asks(view) or _TELLS.match(view.plain):
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


def _elliptical(view: View) -> Decision | None:
    """ "Meeting room tomorrow ten to twelve", "A302 tomorrow at ten": a query without a verb."""
    named = named_flows(view)
    for flow in view.book.flows.values():
        if flow.id not in named and not re.search(r"\d", view.text):
            continue
        nouns = hits(tuple(flow.nouns.get(view.language, ())), view.plain, view.language)
        for intent in flow.intents.values():
            if intent.kind != "read" or not intent.required:
                continue
            read = begun(view, intent, "", left=False)
            words = sum(hit.end - hit.start for hit in nouns[:1]) / max(1, len(view.plain))
            known = nouns or any(flow.slots[name].source for name in read.sure)
            if known and len(read.sure) > 1 and covered(view, read) + words >= NEARLY_ALL:
                match = Match(intent, "", 0, 0, True)
                return begin(view, match, ("a query without a verb",))
            break
    return None
