"""A conversation → what it was about, what was done, what is still to come: by rules, at once.

Pure and quick, so that it is there the moment the next conversation begins. It says nothing that
was not said, and its dates are absolute: it is read on another day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from assistant.mind.dialogue import Done, Task
from assistant.mind.flows import Book
from assistant.mind.memories import Memory
from assistant.mind.state import State
from assistant.mind.steps import unfilled
from assistant.mind.telling import done_note, text_of
from assistant.mind.texts import prompts
from assistant.mind.topics import Said, ranked, topic_of, topics_of
from assistant.mind.view import View
from assistant.mind.wordplay import joined
from assistant.mind.words import is_cjk

__all__ = ["Said", "Summary", "rolled", "summarise"]

MOST = 6
"""topics, facts and follow-ups that are kept"""
MOST_SAID = 3
"""of each that stand in the text"""
LAST_TURNS = 30
"""turns that topics are looked for in; older ones live on as facts"""
MAX_ROLLED = 200
"""characters of the line about turns that are out of sight"""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one conversation leaves behind (V6)."""

    topics: tuple[str, ...] = ()
    """most frequent first, then most recent; the person's own words"""
    resolved: tuple[str, ...] = ()
    """sentences about what was carried out"""
    facts: tuple[str, ...] = ()
    """sentences worth remembering, most important first"""
    follow_ups: tuple[str, ...] = ()
    """what is open, and dated plans that lie ahead"""
    text: str = ""
    """up to four short sentences; "" when nothing worth it was said"""
    language: str = "en"
    """the one mostly spoken"""


def summarise(
    state: State,
    turns: Sequence[Said],
    memories: Sequence[Memory],
    today: date,
    book: Book | None = None,
) -> Summary:
    """`turns` and `memories`: those of the session; with `book` tasks are told in full."""
    language = _language(turns)
    view = _view(state, book, language, today) if book is not None else None
    done = [one for one in state.dialogue.done if one.write]
    resolved = _resolved(state, done, view)
    open_ = _open(state, view, language)
    plans = _plans(memories, today, language)
    lasting = sorted(
        (one for one in memories if one.origin != "insight" and one.ended is None),
        key=lambda one: (-one.importance, -one.said),
    )
    found = _topics(state, turns, memories, view)
    return Summary(
        topics=found,
        resolved=resolved,
        facts=tuple(one.text for one in lasting[:MOST]),
        follow_ups=(*open_, *plans)[:MOST],
        text=_text(found, resolved, open_, plans, language),
        language=language,
    )


def rolled(turns: Sequence[Said], most: int = MAX_ROLLED) -> str:
    """One line about turns that no longer stand word for word in the prompt (V9); "" for none."""
    language = _language(turns)
    names = ranked(_said(turns), MOST)
    while names:
        line: str = _wording(language)["earlier"].format(topics=joined(names, language))
        if len(line) <= most:
            return line
        names = names[:-1]
    return ""


def _wording(language: str) -> Mapping[str, str]:
    texts: Mapping[str, Mapping[str, str]] = prompts("summing")
    return texts.get(language) or texts["en"]


def _language(turns: Sequence[Said]) -> str:
    """The one mostly spoken, of those with wording."""
    spoken_in = Counter("zh" if is_cjk(one.user) else "en" for one in turns)
    return max(("en", "zh"), key=lambda code: spoken_in[code]) if spoken_in else "en"


def _view(state: State, book: Book, language: str, today: date) -> View:
    """For the wording of tasks; those of flows that are no longer there are left out."""
    now = datetime.combine(today, time())
    return View(state.dialogue, "", language, 0, now, book)


def _known(view: View, task: Task) -> bool:
    flow = view.book.flows.get(task.flow)
    return flow is not None and task.intent in flow.intents and set(task.slots) <= set(flow.slots)


def _resolved(state: State, done: Sequence[Done], view: View | None) -> tuple[str, ...]:
    if view is None:
        return tuple(dict.fromkeys(state.steps))[-MOST:]
    notes = (done_note(view, one) for one in done if _known(view, one.task))
    return tuple(dict.fromkeys(notes))[-MOST:]


def _open(state: State, view: View | None, language: str) -> tuple[str, ...]:
    """Writes that wait for something, newest first; a query leaves nothing behind (D1)."""
    texts = _wording(language)
    if view is None:
        if not state.task:
            return ()
        missing = joined([one.rstrip("?？") for one in state.pending], language)
        return (texts["missing"].format(title=state.task, what=missing) if missing else state.task,)
    tasks = [state.dialogue.task, *reversed(state.dialogue.suspended)]
    found: dict[str, None] = {}
    for task in tasks:
        if task is None or not _known(view, task) or view.intent(task).kind != "write":
            continue
        slots, intent = view.flow(task).slots, view.intent(task)
        labels = [
            next(iter(slots[name].words.get(language, ())), name) for name in unfilled(task, intent)
        ]
        title, what = text_of(intent.title, language), joined(labels, language)
        found[texts["missing"].format(title=title, what=what) if what else title] = None
    return tuple(found)


def _plans(memories: Sequence[Memory], today: date, language: str) -> tuple[str, ...]:
    """ "dentist appointment on 2026-12-01": the days that lie ahead, the next first."""
    ahead = sorted(
        (one for one in memories if one.day >= today.isoformat() and one.ended is None),
        key=lambda one: one.day,
    )
    named = ((topic_of(one.text) or one.value, one.day) for one in ahead)
    texts = _wording(language)
    lines = (texts["dated"].format(what=what, day=day) for what, day in named if what)
    return tuple(dict.fromkeys(lines))


def _said(turns: Sequence[Said]) -> list[tuple[int, str]]:
    return [(one.turn, topic) for one in turns[-LAST_TURNS:] for topic in topics_of(one)]


def _topics(
    state: State, turns: Sequence[Said], memories: Sequence[Memory], view: View | None
) -> tuple[str, ...]:
    found = _said(turns)
    seen = {one.turn for one in turns[-LAST_TURNS:]}
    found += [
        (one.turn, topic_of(one.text))
        for one in memories
        if one.turn not in seen and one.origin == "said" and one.ended is None
    ]
    if view is not None:  # queries: their results are gone, their subject was a topic
        found += [
            (max((value.turn for value in one.task.slots.values()), default=0), name)
            for one in state.dialogue.done
            if not one.write and _known(view, one.task)
            for name in [text_of(view.flow(one.task).name, view.language)]
        ]
    return ranked(found, MOST)


def _text(
    topics: Sequence[str],
    resolved: Sequence[str],
    open_: Sequence[str],
    plans: Sequence[str],
    language: str,
) -> str:
    texts = _wording(language)
    planned = " ".join(plans)
    named = [one for one in topics if one not in planned][:MOST]
    sentences = []
    if named:
        sentences.append(texts["talked"].format(topics=joined(named, language)))
    if resolved:
        sentences.append(_done(resolved[-MOST_SAID:], language))
    if open_:
        sentences.append(texts["open"].format(what=joined(open_[:MOST_SAID], language)))
    if plans:
        sentences.append(texts["ahead"].format(what=joined(plans[:MOST_SAID], language)))
    return ("" if language == "zh" else " ").join(sentences)


def _done(resolved: Sequence[str], language: str) -> str:
    """Notes are sentences already; bare titles get one."""
    if all(one.endswith((".", "。")) for one in resolved):
        return ("" if language == "zh" else " ").join(resolved)
    return _wording(language)["done"].format(what=joined(resolved, language))
