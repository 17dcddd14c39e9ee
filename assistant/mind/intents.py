"""Which intent do these words ask for, if any? Rules on the flows' own cues (D2, D9)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assistant.mind.cues import Hit, heads, hits, of, units
from assistant.mind.flows import Book, Flow, Intent
from assistant.mind.slots import SURE
from assistant.mind.view import View

_STATEMENT = re.compile(
    r"\b(?:i|we|he|she|they|it|my|our|his|her|their|the|yesterday|ago|last|always|never|usually|"
    r"don't|do not|didn't|did not|won't|not|already)\b"
)
_STATEMENT_ZH = re.compile(
    r"昨天|昨晚|已经|刚才|上周|以前|经常|从来|总是|别|不要|不用|没有|我(?:妈|爸|老板|同事|朋友)"
)
"""Before a cue these make it a statement, not a request."""
_ASKED = re.compile(
    r"(?:and |but |so )?(?:did|do|does|have|has|had|was|were|is|are|when|why|how|what|who|which)\b"
)
"""A question that begins so asks about a deed, it does not ask for one."""
_THEN_ASKED = re.compile(r"\s*(?:(?:what|when|which|who|whom|whose|where|why)\b|什么|几|哪|谁)")
""" "Remind me what …": so does one that goes on so."""
_ASKED_ZH = re.compile(r"怎么|如何|为什么|老板让|谁|本来|差点")
_PAST_ZH = re.compile(r"^(?:了|过)")
MAX_TABLES = 8
"""books and languages whose tables are kept"""
PHRASE = 3
OPENS = 4
"""what a cue is worth more that the request begins with"""
NOUN = 2


@dataclass(frozen=True, slots=True)
class Match:
    """An intent that the words ask for."""

    intent: Intent
    cue: str
    """the pattern that recognised it"""
    start: int
    """where it stands in the plain text"""
    score: int
    alone: bool
    """needs no task under way to be understood: a noun, a known value or a whole phrase"""


def matches(view: View, near: frozenset[str] = frozenset()) -> list[Match]:
    """All intents asked for, the likeliest first. `near`: the flows that are being talked of."""
    key = (view.text, near)
    if key not in view.memo:
        view.memo[key] = _matches(view, near)
    return list(view.memo[key])


def _matches(view: View, near: frozenset[str]) -> list[Match]:
    said = units(view.plain, view.language)
    found = [
        match
        for entry in _table(view.book, view.language)
        if entry.heads is None or not entry.heads.isdisjoint(said)
        if (match := _match(view, entry, near))
    ]
    return sorted(found, key=lambda match: (-match.score, match.start))


@dataclass(frozen=True, slots=True)
class _Entry:
    """An intent with what it is looked for by, in one language."""

    flow: Flow
    intent: Intent
    nouns: tuple[str, ...]
    phrases: tuple[str, ...]
    cues: tuple[str, ...]
    heads: frozenset[str] | None
    """words one of which a text has to hold; None: any text may ask for it"""


_TABLES: dict[tuple[int, str], tuple[Book, tuple[_Entry, ...]]] = {}


def _table(book: Book, language: str) -> tuple[_Entry, ...]:
    """All intents of a book, made once."""
    key = (id(book), language)
    if key not in _TABLES:
        if len(_TABLES) >= MAX_TABLES:
            _TABLES.clear()
        entries = tuple(
            _entry(flow, intent, language)
            for flow in book.flows.values()
            for intent in flow.intents.values()
        )
        _TABLES[key] = (book, entries)  # holding the book keeps its id its own
    return _TABLES[key][1]


def _entry(flow: Flow, intent: Intent, language: str) -> _Entry:
    nouns, phrases, cues = (
        of(words, language) for words in (flow.nouns, intent.phrases, intent.cues)
    )
    first = [heads(group, language, nouns) for group in (phrases, cues) if group]
    every = None if None in first else frozenset().union(*(one for one in first if one))
    return _Entry(flow, intent, nouns, phrases, cues, every)


def _match(view: View, entry: _Entry, near: frozenset[str]) -> Match | None:
    flow, intent = entry.flow, entry.intent
    best: Match | None = None
    named = flow.id in named_flows(view)
    write = intent.kind != "read"
    for pattern, place, weight in _places(entry.phrases, entry.nouns, view, write):
        if "{noun}" in pattern and not named:
            continue
        best = _better(best, Match(intent, pattern, place, weight + PHRASE, True))
    known: bool | None = None
    for pattern, place, weight in _places(entry.cues, entry.nouns, view, write):
        if "{noun}" in pattern and not named:
            continue
        if known is None:
            known = not named and _knows(view, flow, intent)
        if named or known or flow.id in near:
            score = weight + (NOUN if named else 1 if known else 0)
            best = _better(best, Match(intent, pattern, place, score, named or known))
    return best


def named_flows(view: View) -> frozenset[str]:
    """Flows whose noun stands in the text, and not only inside a longer one of another flow:
    a "kitchen list" is no "list"."""
    key = ("nouns", view.text)
    if key not in view.memo:
        found = {
            flow.id: [
                (hit.start, hit.end)
                for hit in hits(of(flow.nouns, view.language), view.plain, view.language)
            ]
            for flow in view.book.flows.values()
        }
        # "hotel room", "room for improvement": nobody's business
        found[""] = [(hit.start, hit.end) for hit in view.common.places("foreign", view.plain)]
        view.memo[key] = frozenset(
            name
            for name, spans in found.items()
            if name and any(not _inside(span, name, found) for span in spans)
        )
    names: frozenset[str] = view.memo[key]
    return names


def _inside(span: tuple[int, int], name: str, found: dict[str, list[tuple[int, int]]]) -> bool:
    start, end = span
    return any(
        other[0] <= start and end <= other[1] and (other != span or not flow)
        for flow, spans in found.items()
        if flow != name
        for other in spans
    )


def _better(one: Match | None, other: Match) -> Match:
    return other if one is None or other.score > one.score else one


def _places(
    patterns: tuple[str, ...], nouns: tuple[str, ...], view: View, write: bool
) -> list[tuple[str, int, int]]:
    return [
        (hit.pattern, hit.start, hit.weight + OPENS * (hit.start <= view.opening + 1))
        for hit in hits(patterns, view.plain, view.language, nouns)
        if _requested(view, hit.start, hit.end) and not (write and _asked_about(view, hit))
    ]


def _asked_about(view: View, hit: Hit) -> bool:
    """ "Did you order toner?", "remind me what you said": a question about it."""
    recall = view.common.places("recall", view.plain)
    if view.language == "zh" and _ASKED_ZH.search(view.plain[view.clause(hit.start) : hit.start]):
        return True
    if _THEN_ASKED.match(view.plain[hit.end :]):
        return True
    return _ASKED.match(view.plain[view.clause(hit.start) : hit.start]) is not None or any(
        one.start <= hit.start and hit.end < one.end for one in recall
    )


def _requested(view: View, start: int, end: int) -> bool:
    """The words of its clause before a cue leave it a request: "can you …", "tomorrow at ten …"."""
    before = view.plain[view.clause(start) : start]
    if view.language == "zh":
        if before.endswith("的") or _PAST_ZH.match(view.plain[end:]):
            return False  # "A302的预订", "订了": a thing or a deed, not a request
        return not _STATEMENT_ZH.search(before.replace("我要", "").replace("我想", ""))
    return not before or not _STATEMENT.search(view.common.without("opener", before))


def _knows(view: View, flow: Flow, intent: Intent) -> bool:
    """A value that only this flow knows stands in the text: "book A302", "order 20 toner"."""
    slots = (flow.slots[name] for name in intent.slots)
    telling = (slot for slot in slots if slot.source or slot.pattern)
    return any(found.sure >= SURE for slot in telling for found in view.values(slot))
