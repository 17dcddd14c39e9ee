"""The slots of a dialogue followed turn by turn, without a model: what was said, what was taken.

Which service a frame is about is given, as in the data set's own evaluation; its intent, acts and
values are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from assistant.bench.sgd_data import Exchange
from assistant.bench.sgd_rank import Ranker, moment_of
from assistant.bench.sgd_slots import (
    Candidate,
    Memory,
    Moment,
    accept_features,
    candidates,
    informable,
)
from assistant.mind.dialogue import Filled, Task, fill
from assistant.mind.flows import Flow, Slot

TAKE = -1.0
"""score from which a candidate is a value"""
OVERWRITE = 0.5
"""the same where the slot has a value already"""
UNSURE = -3.0
"""from here to TAKE the model is asked, if there is one"""


class Asking(Protocol):
    """Further values from a model; it is told what the rules found and what they nearly found."""

    def __call__(
        self,
        turn: Exchange,
        moment: Moment,
        values: Mapping[str, Filled],
        unsure: Mapping[str, float],
    ) -> dict[str, Filled]: ...


PLACE = re.compile(r"\b(?:city|town|area|location)\b", re.I)
"""a slot whose description says this can be "there" """
NOT_THERE = re.compile(r"\b(?:origin\w*|leav\w+|from|pick ?up)\b", re.I)
"""unless it is where one comes from"""
THERE = re.compile(
    r"\b(?:there|nearby|around|near|that (?:area|city|town|place)|the area|same)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Skills:
    """What was learned from the training turns."""

    values: Ranker
    taken: Ranker


@dataclass(slots=True)
class Tracker:
    """One dialogue's tasks, a task for each service."""

    flows: Mapping[str, Flow]
    skills: Skills
    memory: Memory = field(default_factory=Memory)
    tasks: dict[str, Task] = field(default_factory=dict)
    turn: int = 0

    def hear(self, turn: Exchange) -> None:
        """Before the user speaks: what the assistant said is known."""
        self.turn += 1
        self.memory.hear(turn.system)

    def moment(self, turn: Exchange, service: str) -> Moment:
        flow = self.flows[service]
        return moment_of(turn, service, flow, self.memory, self.skills.values.common)

    def decide(self, moment: Moment) -> tuple[dict[str, Filled], dict[str, float]]:
        """New values, and slots whose best candidate was nearly one, with its score."""
        offered = self._taken(moment)
        said, unsure = self._said(moment)
        return {**self._there(moment), **offered, **said}, unsure

    def _said(self, moment: Moment) -> tuple[dict[str, Filled], dict[str, float]]:
        ranked: list[tuple[float, str, Candidate]] = []
        for name in informable(moment.flow):
            for found in candidates(moment, name):
                ranked.append((self.skills.values.score(found.features), name, found))
        ranked.sort(key=lambda item: -item[0])
        values: dict[str, Filled] = {}
        unsure: dict[str, float] = {}
        used: set[str] = set()
        for score, name, found in ranked:
            flag = moment.flow.slots[name].type == "flag"
            if name in values or (found.spoken in used and not flag):
                continue
            if score > (OVERWRITE if name in moment.filled else TAKE):
                values[name] = Filled(found.value, found.spoken, self.turn)
                used.add(found.spoken)
            elif score > UNSURE or name in moment.wanted:
                unsure.setdefault(name, score)
        return values, unsure

    def _there(self, moment: Moment) -> dict[str, Filled]:
        """ "Find a hotel there": a task that begins takes the place of the last one."""
        if moment.service in self.tasks or not THERE.search(moment.text):
            return {}
        open_ = [name for name in informable(moment.flow) if _is_place(moment.flow.slots[name])]
        for service in reversed(self.tasks):
            flow = self.flows[service]
            for name, value in self.tasks[service].slots.items():
                if PLACE.search(_meaning(flow.slots[name])) and open_:
                    return dict.fromkeys(open_, replace(value, turn=self.turn))
        return {}

    def _taken(self, moment: Moment) -> dict[str, Filled]:
        """What the assistant offered or read back, if the user takes it."""
        offers = self.memory.offers.get(moment.service, {})
        useful = _bookable(moment.flow)
        known = {
            name: value
            for name, (act, value) in offers.items()
            if name in informable(moment.flow) and (act != "OFFER" or name in useful)
        }
        if not known or not moment.acts:
            return {}
        if self.skills.taken.score(accept_features(moment)) <= 0:
            return {}
        self.memory.offers[moment.service] = {}
        return {name: Filled(value, value, self.turn) for name, value in known.items()}

    def slots(self, service: str) -> Mapping[str, Filled]:
        """What the state holds."""
        return self.tasks[service].slots if service in self.tasks else {}

    def keep(self, service: str, values: Mapping[str, Filled]) -> None:
        """Into the task, key by key, as the product does it (M2)."""
        task = self.tasks.pop(service, None) or Task(self.flows[service].id, "")
        self.tasks[service] = fill(task, values)
        table = self.memory.filled.setdefault(service, {})
        table.update({name: value.spoken for name, value in values.items()})


def _meaning(slot: Slot) -> str:
    return " ".join(slot.words.get("en", ())) if slot.type == "name" else ""


def _is_place(slot: Slot) -> bool:
    meaning = _meaning(slot)
    return bool(PLACE.search(meaning)) and not NOT_THERE.search(meaning)


def _bookable(flow: Flow) -> set[str]:
    """Slots of an offer that a later write needs; a flow without writes takes all."""
    writes = [intent for intent in flow.intents.values() if intent.kind == "write"]
    return {name for intent in writes for name in intent.required} or set(informable(flow))
