"""A linear ranker of slot values, learned from turns that name the slots given but not the values.

Multiple instances: a slot that was given is right for at least one of its candidates. The best one
under the last round's weights counts as the positive example of the next round.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from assistant.bench.sgd_data import Exchange
from assistant.bench.sgd_slots import (
    Candidate,
    Memory,
    Moment,
    accept_features,
    candidates,
    informable,
)
from assistant.mind.flows import Flow

ROUNDS = 3
COMMON = 0.004
"""share of turns in which a word that is never a name occurs"""


@dataclass(frozen=True, slots=True)
class Ranker:
    """Weights of candidate features."""

    weights: Mapping[str, float]
    bias: float
    common: frozenset[str] = field(default_factory=frozenset)

    def score(self, features: Sequence[str]) -> float:
        weights = self.weights
        return self.bias + sum(weights.get(name, 0.0) for name in features)


def common_words(texts: Sequence[str]) -> frozenset[str]:
    """Frequent words that are mostly written small."""
    small: Counter[str] = Counter()
    large: Counter[str] = Counter()
    for text in texts:
        words = re.findall(r"[^\W_]+(?:['’&./-][^\W_]+)*", text)
        small.update({word for word in words if word[0].islower()})
        small.update({words[0].lower()} if words else ())
        large.update({word.lower() for word in words[1:] if word[0].isupper()})
    least = max(3.0, COMMON * len(texts))
    return frozenset(
        word for word, count in small.items() if count >= least and count > large[word]
    )


Bag = tuple[list[Candidate], bool]
"""candidates of one slot in one turn, and whether the slot was given"""


def bags_of(
    turns: Sequence[Exchange], flows: Mapping[str, Flow], common: frozenset[str]
) -> Iterator[Bag]:
    """Of training turns: their values are unknown, so the memory holds names only."""
    memory, dialogue = Memory(), ""
    for turn in turns:
        if turn.dialogue != dialogue:
            memory, dialogue = Memory(), turn.dialogue
        for frame in turn.user:
            moment = moment_of(turn, frame.service, flows[frame.service], memory, common)
            for name in informable(moment.flow):
                found = candidates(moment, name)
                if found:
                    yield found, name in frame.given
        for frame in turn.user:
            memory.filled.setdefault(frame.service, {}).update(dict.fromkeys(frame.given, ""))


def moment_of(
    turn: Exchange, service: str, flow: Flow, memory: Memory, common: frozenset[str]
) -> Moment:
    """The turn as one service sees it."""
    acts = [(act, slot) for frame in turn.system for act, slot, _ in frame.acts]
    own = [frame for frame in turn.system if frame.service == service]
    wanted = frozenset(slot for f in own for act, slot, _ in f.acts if act == "REQUEST")
    names = tuple(sorted({act for act, _ in acts}))
    return Moment(turn.text, service, flow, wanted, names, memory.filled.get(service, {}), common)


def learn(bags: Sequence[Bag], common: frozenset[str]) -> Ranker:
    """Fit in rounds."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = [candidate for found, _ in bags for candidate in found]
    sizes = [len(found) for found, _ in bags]
    starts = np.cumsum([0, *sizes])
    vectors = DictVectorizer(dtype=np.float32)
    matrix = vectors.fit_transform([dict.fromkeys(row.features, 1.0) for row in rows])
    often = np.asarray((matrix != 0).sum(axis=0)).ravel() >= 3
    matrix = matrix[:, often]
    scores = np.array([_first_guess(row) for row in rows])
    model: Any = None
    for _ in range(ROUNDS):
        labels = np.zeros(len(rows), dtype=bool)
        weights = np.ones(len(rows))
        for (_, given), start, end in zip(bags, starts[:-1], starts[1:], strict=True):
            if given:
                best = start + int(np.argmax(scores[start:end]))
                weights[start:end] = 0.3
                labels[best], weights[best] = True, 1.0
        model = LogisticRegression(C=0.5, solver="liblinear")
        model.fit(matrix, labels, sample_weight=weights)
        scores = model.decision_function(matrix)
    names = vectors.get_feature_names_out()[often]
    table = {
        str(name): float(weight)
        for name, weight in zip(names, model.coef_[0], strict=True)
        if abs(weight) > 1e-3
    }
    return Ranker(table, float(model.intercept_[0]), common)


def _first_guess(row: Candidate) -> float:
    """Before anything is learned: the longer span."""
    return 0.1 * len(row.spoken.split())


TAKEN = frozenset(("OFFER_INTENT", "REQ_MORE", "CONFIRM", "REQUEST", "NOTIFY_SUCCESS", "GOODBYE"))
"""after these the user had taken the offer"""


def acceptances(
    turns: Sequence[Exchange], flows: Mapping[str, Flow], common: frozenset[str]
) -> list[tuple[tuple[str, ...], bool]]:
    """Turns after an offer or a read-back; what the assistant did next tells if it was taken."""
    rows = []
    for turn, following in pairwise(turns):
        acts = {act for frame in turn.system for act, _, _ in frame.acts}
        if following.dialogue != turn.dialogue or not acts & {"OFFER", "CONFIRM", "INFORM"}:
            continue
        then = {act for frame in following.system for act, _, _ in frame.acts}
        service = turn.system[0].service
        moment = moment_of(turn, service, flows[service], Memory(), common)
        again = "CONFIRM" if "CONFIRM" in acts else "OFFER"
        rows.append((accept_features(moment), bool(then & TAKEN) and again not in then))
    return rows


def learn_acceptance(rows: Sequence[tuple[tuple[str, ...], bool]]) -> Ranker:
    """Fit the second, smaller question."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    vectors = DictVectorizer(dtype=np.float32)
    matrix = vectors.fit_transform([dict.fromkeys(row, 1.0) for row, _ in rows])
    often = np.asarray((matrix != 0).sum(axis=0)).ravel() >= 3
    model = LogisticRegression(C=0.3, solver="liblinear")
    model.fit(matrix[:, often], [label for _, label in rows])
    names = vectors.get_feature_names_out()[often]
    table = {str(n): float(w) for n, w in zip(names, model.coef_[0], strict=True)}
    return Ranker(table, float(model.intercept_[0]))
