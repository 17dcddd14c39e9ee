"""Continue or detach on Schema-Guided Dialogue: turns as scenes, a gate taught, figures.

A turn detaches when its services share none with those of the user's last turn. The gate sees what
the product would know before it decides; the labels of the turn itself are not shown to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assistant.bench.sgd_data import ACTS, Exchange
from assistant.bench.sgd_slots import TYPED, Moment
from assistant.flow_train import Labelled, train
from assistant.mind.flows import Flow
from assistant.mind.gate import Gate, Scene
from assistant.mind.slots import SURE

EVERY = 3
"""of the turns after which nobody ever detached, one in so many is used for training"""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a gate said of the turns, beside the truth."""

    scores: tuple[float, ...]
    labels: tuple[bool, ...]
    threshold: float
    ms: tuple[float, ...]

    def figures(self) -> tuple[float, float]:
        """(F1, balanced accuracy) of detaching."""
        truth = self.labels
        said = [score > self.threshold for score in self.scores]
        hits = sum(s and t for s, t in zip(said, truth, strict=True))
        false = sum(said) - hits
        missed = sum(truth) - hits
        rest = len(truth) - hits - false - missed
        f1 = 2 * hits / (2 * hits + false + missed) if hits else 0.0
        balanced = (hits / max(1, hits + missed) + rest / max(1, rest + false)) / 2
        return f1, balanced


def by_family(*tables: Mapping[str, Flow]) -> dict[str, Flow]:
    """One flow of each kind, as a house has it: the last table's wins."""
    return {flow.id: flow for table in tables for flow in table.values()}


class Watcher:
    """Turns of dialogues, in order, as the gate sees them."""

    def __init__(
        self, flows: Mapping[str, Flow], book: Mapping[str, Flow], language: str = "en"
    ) -> None:
        self._language = language
        self._flows = flows
        self._book = book
        self._others: dict[str, tuple[Flow, ...]] = {}
        self._dialogue = ""
        self._filled: dict[str, dict[str, str]] = {}
        self._intents: dict[str, str] = {}

    def scene(self, turn: Exchange) -> Scene | None:
        """None for the first turn of a dialogue."""
        if turn.dialogue != self._dialogue:
            self._dialogue, self._filled, self._intents = turn.dialogue, {}, {}
        return self._scene(turn) if turn.before else None

    def note(self, turn: Exchange) -> None:
        """After the decision: what the turn was about."""
        for frame in turn.user:
            names = dict.fromkeys(frame.given, "?")
            self._filled.setdefault(frame.service, {}).update(names)
            self._intents[frame.service] = frame.intent

    def _scene(self, turn: Exchange) -> Scene:
        service = turn.before[-1]
        flow = self._flows[service]
        if flow.id not in self._others:
            rest = (one for name, one in self._book.items() if name != flow.id)
            self._others[flow.id] = tuple(rest)
        acts = [(act, slot) for frame in turn.system for act, slot, _ in frame.acts]
        wanted = tuple(slot for act, slot in acts if act == "REQUEST" and slot in flow.slots)
        return Scene(
            turn.text,
            self._language,
            turn.said,
            flow,
            self._intents.get(service, ""),
            wanted,
            self._filled.get(service, {}),
            fitting(turn.text, flow, wanted, self._language),
            self._others[flow.id],
            tuple(ACTS.get(act, act.lower()) for act, _ in acts),
        )


def fitting(text: str, flow: Flow, wanted: Sequence[str], language: str = "en") -> tuple[str, ...]:
    """Slots whose typed reader finds a value."""
    moment = Moment(text, flow.id, flow, frozenset(wanted), (), {}, frozenset(), language)
    return tuple(
        slot.name
        for slot in flow.slots.values()
        if slot.type in TYPED
        and any(one.sure >= SURE for one in moment.find(slot, wanted=slot.name in wanted))
    )


def labelled(
    turns: Iterable[Exchange],
    flows: Mapping[str, Flow],
    book: Mapping[str, Flow],
    language: str = "en",
) -> list[Labelled]:
    """Every turn but the first of its dialogue, and what opens a service, as a turn about it."""
    watcher, result = Watcher(flows, book, language), list[Labelled]()
    for turn in turns:
        scene = watcher.scene(turn)
        if scene is not None:
            result.append((scene, turn.detach))
        new = [name for name in turn.services if name not in turn.before and name in flows]
        result += [(Scene(turn.text, language, "", flows[name], ""), False) for name in new]
        watcher.note(turn)
    return result


def thinned(turns: Sequence[Labelled]) -> list[Labelled]:
    """All turns after what people detach from, some of the rest."""
    telling = {act for scene, label in turns if label for act in scene.acts}
    always = {act for scene, label in turns if not label for act in scene.acts} - telling
    kept, count = [], 0
    for scene, label in turns:
        if label or not set(scene.acts) & always:  # or it opens a service: it has no acts
            kept.append((scene, label))
            continue
        count += 1
        if count % EVERY == 0:
            kept.append((scene, label))
    return kept


def teach(turns: Sequence[Exchange], flows: Mapping[str, Flow], book: Mapping[str, Flow]) -> Gate:
    """A gate from training turns."""
    return train(thinned(labelled(turns, flows, book)))


def judge(
    gate: Gate,
    turns: Sequence[Exchange],
    flows: Mapping[str, Flow],
    book: Mapping[str, Flow],
    language: str = "en",
) -> Verdicts:
    """Decide every turn but the first ones; a decision is timed without the typed readers."""
    watcher = Watcher(flows, book, language)
    scores, labels, spent = [], [], []
    for turn in turns:
        scene = watcher.scene(turn)
        if scene is not None:
            began = time.thread_time()  # other processes do not count
            scores.append(gate.detach(scene))
            spent.append((time.thread_time() - began) * 1000)
            labels.append(turn.detach)
        watcher.note(turn)
    return Verdicts(tuple(scores), tuple(labels), gate.threshold, tuple(spent))


def unseen(train_turns: Sequence[Exchange], services: Iterable[str]) -> list[Exchange]:
    """Training dialogues in which none of these services occurs."""
    known = set(services)
    spoilt = {turn.dialogue for turn in train_turns if known & set(turn.services)}
    return [turn for turn in train_turns if turn.dialogue not in spoilt]
