"""What there is to tidy up among the memories: pure plans, nothing is written here.

Duplicates become one, of a contradiction the newest stays, what was never used again fades. Each
step says which rows it was planned on, so that it can be left out when one has changed meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import combinations

from assistant.memory.alike import Sense, comparable, opposed, sense_of
from assistant.memory.facts import retention
from assistant.mind.memories import Memory

MAX_STRENGTH = 365.0
FADED = 0.05
"""R = exp(-days / (5 S)) below which a passing memory fades: with S = 7 after 105 days"""
FADED_PAST = 0.37
"""the same for an event whose day is long past: 35 days"""
LONG_PAST = 14
"""days after its day that an event is long past"""
LASTING = 0.5
"""importance from which what is lasting never fades"""
CROWD = 64
"""sentences of one skeleton ("the user has a …") that are compared pair by pair"""

Look = Callable[[Memory, Memory], bool]
"""do two sentences that differ in one word mean the same?"""
Tick = Callable[[], None]
"""raises Cancelled when somebody speaks"""


@dataclass(frozen=True, slots=True)
class Step:
    """What changes together or not at all."""

    op: str
    """merged, superseded, faded, insight, outdated"""
    changes: tuple[tuple[Memory, Memory], ...] = ()
    """before, after"""
    unchanged: tuple[Memory, ...] = ()
    """rows it depends on"""
    new: Memory | None = None

    @property
    def ended(self) -> int:
        """How many memories it ends."""
        return sum(after.ended is not None for _, after in self.changes)


def merges(memories: Sequence[Memory], now: float, look: Look | None, tick: Tick) -> Iterator[Step]:
    """Duplicates: the same by words; with `look` also by meaning."""
    groups: dict[Sense, list[Memory]] = defaultdict(list)
    for one in memories:
        tick()
        sense = sense_of(one)
        if sense.content or sense.exact:
            groups[sense].append(one)
    heads = {sense: max(group, key=_worth) for sense, group in groups.items()}
    joined: dict[Sense, Sense] = {}
    for first, second in _near(heads, look, tick):
        if first not in joined and second not in joined:
            better = max((first, second), key=lambda sense: _worth(heads[sense]))
            joined[second if better is first else first] = better
    for sense, better in joined.items():
        if better in joined:  # only what is like the one that stays goes with it
            continue
        groups[better] += groups.pop(sense)
    for group in groups.values():
        tick()
        if len(group) > 1:
            yield _merged(group, now)


def _near(
    heads: dict[Sense, Memory], look: Look | None, tick: Tick
) -> Iterator[tuple[Sense, Sense]]:
    """Pairs that differ in one word and mean the same."""
    if look is None:
        return
    seen: set[frozenset[Sense]] = set()
    for crowd in _skeletons(heads, tick):
        for first, second in combinations(crowd, 2):
            tick()
            pair = frozenset((first, second))
            if pair in seen or not comparable(first, second):
                continue
            seen.add(pair)
            if look(heads[first], heads[second]):
                yield first, second


def _skeletons(senses: Iterable[Sense], tick: Tick) -> Iterator[list[Sense]]:
    """Senses that are equal but for a word at the same place, put in or another."""
    found: dict[tuple[object, ...], list[Sense]] = defaultdict(list)
    for sense in senses:
        tick()
        words = sense.content
        for place in range(len(words) + 1):
            found[sense.frame, words[:place], words[place:]].append(sense)
            if place < len(words):
                found[sense.frame, words[:place], words[place + 1 :]].append(sense)
    return (crowd for crowd in found.values() if 1 < len(crowd) <= CROWD)


def _worth(memory: Memory) -> tuple[bool, bool, int, float, str]:
    """Which wording stays: what the person chose, then the richest, then the newest."""
    chosen = memory.origin in ("edited", "confirmed")
    return memory.pinned, chosen, len(sense_of(memory).content), memory.said, memory.id


def _merged(group: Sequence[Memory], now: float) -> Step:
    kept = max(group, key=_worth)
    last = max(group, key=lambda one: (one.said, one.id))
    better = replace(
        kept,
        strength=min(MAX_STRENGTH, sum(one.strength for one in group)),
        uses=sum(one.uses for one in group),
        used=max(one.used for one in group),
        said=last.said,
        session=last.session,
        turn=last.turn,
        learned=min(one.learned for one in group),
        importance=max(one.importance for one in group),
        lasting=any(one.lasting for one in group),
        pinned=any(one.pinned for one in group),
        version=kept.version + 1,
    )
    ended = [(one, _ended(one, now, "merged", kept.id)) for one in group if one is not kept]
    return Step("merged", ((kept, better), *ended))


def contradictions(memories: Sequence[Memory], now: float, tick: Tick) -> Iterator[Step]:
    """Of what cannot be true together the newest stays, by when it was said (V16)."""
    slots: dict[tuple[str, str], list[Memory]] = defaultdict(list)
    for one in memories:
        if one.single:
            slots[one.subject.lower(), one.key].append(one)
    gone: set[str] = set()
    for group in slots.values():
        tick()
        if len(group) > 1:
            yield _newest_wins(group, now, gone)
    about: dict[tuple[object, ...], list[Memory]] = defaultdict(list)
    for one in memories:
        tick()
        sense = sense_of(one)
        if one.id not in gone and sense.content:
            about[sense.frame, sense.content].append(one)
    for group in about.values():
        newest = max(group, key=_lately)
        against = [one for one in group if opposed(sense_of(one), sense_of(newest))]
        if against:
            yield _newest_wins([newest, *against], now, gone)


def _lately(memory: Memory) -> tuple[float, float, str]:
    return memory.said, memory.learned, memory.id


def _newest_wins(group: Iterable[Memory], now: float, gone: set[str]) -> Step:
    *others, newest = sorted(group, key=_lately)
    gone.update(one.id for one in others)
    ended = tuple((one, _ended(one, now, "superseded", newest.id)) for one in others)
    return Step("superseded", ended, (newest,))


def fading(memories: Sequence[Memory], now: float, most: int, tick: Tick) -> Iterator[Step]:
    """At most so many passing memories that nobody came back to, past events first."""
    today = date.fromtimestamp(now)
    found: list[tuple[bool, float, str, Memory]] = []
    for one in memories:
        tick()
        if one.pinned or one.origin == "edited" or one.day >= today.isoformat():
            continue
        if one.lasting and one.importance >= LASTING:
            continue
        past = bool(one.day) and one.day < (today - timedelta(LONG_PAST)).isoformat()
        left = retention(one, now)
        if left < (FADED_PAST if past else FADED):
            found.append((not past, left, one.id, one))
    for *_, one in sorted(found, key=lambda entry: entry[:3])[:most]:
        yield Step("faded", ((one, _ended(one, now, "faded", "")),))


def _ended(memory: Memory, now: float, why: str, by: str) -> Memory:
    return replace(memory, ended=now, why_ended=why, superseded_by=by, version=memory.version + 1)
