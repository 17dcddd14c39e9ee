"""Is a slot's value right? Counting over dialogues: F1, retention, re-asks, time.

Free values are compared as in the data set's evaluation (token sort ratio), but a value counts as
right only from MATCH up, never in part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from assistant.bench.sgd_data import Exchange, Frame
from assistant.bench.sgd_slots import NOW, TYPED
from assistant.mind.dialogue import Filled
from assistant.mind.flows import Flow, Slot
from assistant.mind.slots import read
from assistant.mind.words import is_cjk

MATCH = 80
"""of 100"""
YES = ("yes", "true", "有")


def same(slot: Slot, value: Filled, accepted: Iterable[str]) -> bool:
    """A flag by its meaning, a typed value by what it resolves to, the rest by its letters."""
    accepted = [text.lower() for text in accepted]
    if slot.type == "flag":
        return (value.value.lower() in YES) in [text in YES for text in accepted]
    said = {value.value.lower(), value.spoken.lower()}
    if any(_alike(one, other) for one in said for other in accepted):
        return True
    return slot.type in TYPED and any(value.value == resolved(slot.type, text) for text in accepted)


def _alike(one: str, other: str) -> bool:
    from rapidfuzz.fuzz import token_sort_ratio

    return bool(token_sort_ratio(one, other) >= MATCH)


@lru_cache(maxsize=4096)
def resolved(kind: str, text: str) -> str:
    """What the typed reader makes of an accepted spelling."""
    language = "zh" if is_cjk(text) else "en"
    found = read(Slot("", kind), text, language, NOW, wanted=True)
    return found[0].value if found else text


def origins(turns: Iterable[Exchange]) -> Counter[str]:
    """Where the values that are newly given come from, by the annotation."""
    found: Counter[str] = Counter()
    dialogue, named = "", set[tuple[str, str]]()
    for turn in turns:
        if turn.dialogue != dialogue:
            dialogue, named = turn.dialogue, set()
        named |= {
            (frame.service, value)
            for frame in turn.system
            for _, _, values in frame.acts
            for value in values
        }
        for frame in turn.user:
            for name in frame.given:
                informed = _source(frame, name) == "said"
                offered = any((frame.service, value) in named for value in frame.state[name])
                found["said" if informed else "offered" if offered else "carried"] += 1
    return found


@dataclass(slots=True)
class Tally:
    """Counts over all dialogues."""

    right: int = 0
    wrong: int = 0
    """a value where none or another is accepted"""
    missed: int = 0
    kept: int = 0
    lost: int = 0
    """of values that were right and that the user did not change"""
    asked: int = 0
    asked_again: int = 0
    """of required slots that the user had given and the state had held: still listed as pending"""
    sources: Counter[str] = field(default_factory=Counter)
    ms: list[float] = field(default_factory=list)
    held: dict[tuple[str, str], str] = field(default_factory=dict)
    """(service, slot) of this dialogue that were right → accepted value then"""

    def begin(self) -> None:
        """A new dialogue."""
        self.held = {}

    def count(
        self,
        flow: Flow,
        frame: Frame,
        before: Mapping[str, Filled],
        after: Mapping[str, Filled],
    ) -> None:
        """One frame: what the state held before and holds now, against what is accepted now."""
        for name, value in after.items():
            new = name not in before or before[name].value != value.value
            right = name in frame.state and same(flow.slots[name], value, frame.state[name])
            if new and not right:
                self.wrong += 1
            if right and name in frame.given:
                self.right += 1
                self.sources[_source(frame, name)] += 1
        for name in frame.given:
            if name not in after or not same(flow.slots[name], after[name], frame.state[name]):
                self.missed += 1
        self._hold(flow, frame, after)

    def _hold(self, flow: Flow, frame: Frame, after: Mapping[str, Filled]) -> None:
        intent = flow.intents.get(frame.intent)
        pending = [name for name in intent.required if name not in after] if intent else []
        for name, accepted in frame.state.items():
            key = (frame.service, name)
            right = name in after and same(flow.slots[name], after[name], accepted)
            if key in self.held and name not in frame.given:
                self.kept += right
                self.lost += not right
            if key in self.held:
                self.asked += 1
                self.asked_again += name in pending
            if right:
                self.held[key] = accepted[0]
            else:
                self.held.pop(key, None)

    def figures(self) -> dict[str, float]:
        """precision, recall, F1, retention, re-ask rate, and time of a whole decision."""
        precision = self.right / max(1, self.right + self.wrong)
        recall = self.right / max(1, self.right + self.missed)
        spent = sorted(self.ms) or [0.0]
        return {
            "slot_precision": round(precision, 4),
            "slot_recall": round(recall, 4),
            "slot_f1": round(2 * precision * recall / max(1e-9, precision + recall), 4),
            "retention": round(self.kept / max(1, self.kept + self.lost), 4),
            "reask_rate": round(self.asked_again / max(1, self.asked), 4),
            "decision_ms_p50": round(spent[len(spent) // 2], 2),
            "decision_ms_p99": round(spent[int(0.99 * (len(spent) - 1))], 2),
        }


def _source(frame: Frame, name: str) -> str:
    """Did the user say it in this turn, or was it taken from elsewhere?"""
    informed = any(act == "INFORM" and slot == name for act, slot, _ in frame.acts)
    return "said" if informed else "taken"
