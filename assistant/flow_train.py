"""Teaching the gate from labelled turns: a logistic regression whose weights are then plain data.

Knows turns and labels, a site's own or those that the flows' examples make; it knows no dialogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from assistant.mind.gate import Gate, Scene, learn_topics

Labelled = tuple[Scene, bool]
"""a turn, and whether it is about something else"""

LEAST = 3
"""a feature that is seen less often teaches nothing"""
SMALL = 1e-3
"""a weight below this is left out"""
STRENGTH = 10.0
BLOCK, HELD = 50, 5
"""of every HELD blocks of so many turns one chooses the threshold"""
FEW = 10
"""so many turns of either label are needed to choose a threshold"""


def train(turns: Iterable[Labelled]) -> Gate:
    """Fit a gate: the threshold on a part held out, the weights on all. ValueError: one label only."""
    turns = list(turns)
    if len({label for _, label in turns}) < 2:
        raise ValueError("There must be turns that continue and turns that detach.")
    held = [number // BLOCK % HELD == HELD - 1 for number in range(len(turns))]
    apart = [turn for turn, out in zip(turns, held, strict=True) if out]
    threshold = 0.5
    if min(sum(label for _, label in apart), sum(not label for _, label in apart)) >= FEW:
        first = fit([turn for turn, out in zip(turns, held, strict=True) if not out])
        threshold = best_threshold(
            [first.detach(scene) for scene, _ in apart], [label for _, label in apart]
        )
    return replace(fit(turns), threshold=threshold)


def fit(turns: Sequence[Labelled]) -> Gate:
    """The weights alone."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    gate = Gate(topics=learn_topics(turns))
    vectors = DictVectorizer(dtype=np.float32)
    matrix = vectors.fit_transform([gate.seen(scene) for scene, _ in turns])
    labels = np.array([label for _, label in turns])
    often = np.asarray((matrix != 0).sum(axis=0)).ravel() >= LEAST
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", solver="liblinear")
    model.fit(matrix[:, often], labels)
    names = vectors.get_feature_names_out()[often]
    weights = {
        str(name): round(float(weight), 4)
        for name, weight in zip(names, model.coef_[0], strict=True)
        if abs(weight) > SMALL
    }
    return replace(gate, weights=weights, bias=round(float(model.intercept_[0]), 4))


def best_threshold(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Where F1 and balanced accuracy together are best; between two scores."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    ranked, truth = np.asarray(scores)[order], np.asarray(labels)[order]
    hits, misses = np.cumsum(truth), np.cumsum(~truth)
    f1 = 2 * hits / (hits + misses + truth.sum())
    balanced = (hits / truth.sum() + 1 - misses / (~truth).sum()) / 2
    best = int(np.argmax(f1 + balanced))
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return round(float((ranked[best] + below) / 2), 4)
