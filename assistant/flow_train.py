"""Teaching the gate from labelled turns: a logistic regression whose weights are then plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from assistant.mind.gate import Gate, Scene, learn_topics

LEAST = 3
"""a feature that is seen less often teaches nothing"""
SMALL = 1e-3
"""a weight below this is left out"""


def train(
    turns: Iterable[tuple[Scene, bool]], *, strength: float = 1.0, threshold: float | None = None
) -> Gate:
    """Fit a gate."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    turns = list(turns)
    gate = Gate(topics=learn_topics(turns))
    vectors = DictVectorizer(dtype=np.float32)
    matrix = vectors.fit_transform([gate.seen(scene) for scene, _ in turns])
    labels = np.array([label for _, label in turns])
    often = np.asarray((matrix != 0).sum(axis=0)).ravel() >= LEAST
    model = LogisticRegression(C=strength, solver="liblinear", max_iter=200)
    model.fit(matrix[:, often], labels)
    names = vectors.get_feature_names_out()[often]
    weights = {
        str(name): round(float(weight), 4)
        for name, weight in zip(names, model.coef_[0], strict=True)
        if abs(weight) > SMALL
    }
    return replace(gate, weights=weights, bias=float(model.intercept_[0]), threshold=threshold or 0.5)
