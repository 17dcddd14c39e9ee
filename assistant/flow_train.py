"""Teaching the gate from labelled turns: a logistic regression whose weights are then plain data.

Knows turns and labels, a site's own or those that the flows' examples make; it knows no dialogue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from assistant.errors import InputError
from assistant.mind.flows import Book, Flow, Intent, Slot, Words
from assistant.mind.gate import Gate, Scene, learn_topics
from assistant.mind.slots import SURE, read
from assistant.mind.words import is_cjk

Labelled = tuple[Scene, bool]
"""a turn, and whether it is about something else"""

LANGUAGES = ("en", "zh")
NOW = datetime(2026, 11, 30, 9)
"""any moment: what is learned does not depend on it"""
FRAMES = {
    "en": ("{}", "{}, please", "make it {}", "let's say {}"),
    "zh": ("{}", "就{}吧", "改成{}"),
}
"""how a bare value is said"""
LEAST = 3
"""a feature that is seen less often teaches nothing"""
SMALL = 1e-3
"""a weight below this is left out"""
STRENGTH = 5.0
BLIND = 6
"""one turn in so many is learned without topics, as if its flow were new"""
F1, BALANCED = 0.88, 0.97
"""what detaching is to reach; the threshold favours the one that is further from it"""
BLOCK, HELD = 50, 5
"""blocks of so many turns are judged by weights learned from the other parts"""
FEW = 10
"""so many turns of either label are needed to choose a threshold"""


def train(turns: Iterable[Labelled]) -> Gate:
    """Fit a gate: the weights on all turns, the threshold on verdicts about unseen parts.

    Turns without acts, when nothing was said before, only teach the topics.
    Raises ValueError when all turns have one label.
    """
    turns = list(turns)
    if len({label for _, label in turns}) < 2:
        raise ValueError("There must be turns that continue and turns that detach.")
    scores, labels = _unseen_scores(turns)
    threshold = 0.5
    if min(labels.count(True), labels.count(False)) >= FEW:
        threshold = best_threshold(scores, labels)
    return replace(fit(turns), threshold=threshold)


def _unseen_scores(turns: Sequence[Labelled]) -> tuple[list[float], list[bool]]:
    """Each part judged by a gate that has learned from the others."""
    scores: list[float] = []
    labels: list[bool] = []
    for part in range(HELD):
        held = [number // BLOCK % HELD == part for number in range(len(turns))]
        rest = [turn for turn, out in zip(turns, held, strict=True) if not out]
        apart = [turn for turn, out in zip(turns, held, strict=True) if out and turn[0].acts]
        if apart and len({label for _, label in rest}) == 2:
            gate = fit(rest)
            scores += [gate.detach(scene) for scene, _ in apart]
            labels += [label for _, label in apart]
    return scores, labels


def fit(turns: Sequence[Labelled]) -> Gate:
    """The weights alone."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    gate = Gate(topics=learn_topics(turns))
    turns = [turn for turn in turns if turn[0].acts]
    vectors = DictVectorizer(dtype=np.float32)
    matrix = vectors.fit_transform(
        [gate.seen(scene, topics=bool(number % BLIND)) for number, (scene, _) in enumerate(turns)]
    )
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
    """Where F1 and balanced accuracy reach most of their goals; between two scores."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    ranked, truth = np.asarray(scores)[order], np.asarray(labels)[order]
    hits, misses = np.cumsum(truth), np.cumsum(~truth)
    f1 = 2 * hits / (hits + misses + truth.sum())
    balanced = (hits / truth.sum() + 1 - misses / (~truth).sum()) / 2
    last = np.append(ranked[1:] < ranked[:-1], True)  # equal scores share a side
    best = int(np.argmax(np.where(last, np.minimum(f1 / F1, balanced / BALANCED), 0.0)))
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return round(float((ranked[best] + below) / 2), 4)


# ── turns out of the flows' own examples ──


def scenes_of(book: Book) -> list[Labelled]:
    """Every task under way, every thing asked for, against all that people say to the flows.

    Values of the flow's own slots, its own requests and answers continue; requests to other flows
    and small talk detach. In the order of their texts, so that a part held out has its own texts.
    """
    scenes = [scene for flow in book.flows.values() for scene in _scenes_of_flow(book, flow)]
    return sorted(scenes, key=lambda turn: (turn[0].language, turn[0].text))


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    wanted: str
    """the slot whose value it is; "" for what may come at any time"""
    detach: bool


def _scenes_of_flow(book: Book, flow: Flow) -> Iterator[Labelled]:
    others = tuple(one for one in book.flows.values() if one is not flow)
    for language in LANGUAGES:
        said = [*_kept(book, flow, language), *_left(book, others, language)]
        fits = {one.text: _fitting(flow, one.text, language) for one in said}
        for intent in flow.intents.values():
            for asked, question, act in _questions(flow, intent, language):
                for one in said:
                    if one.wanted and one.wanted != asked and not one.detach:
                        continue
                    yield (
                        Scene(
                            one.text,
                            language,
                            question,
                            flow,
                            intent.name,
                            (asked,) if asked in flow.slots else (),
                            {},
                            _with_wanted(flow, one.text, language, asked, fits[one.text]),
                            others,
                            (act,),
                        ),
                        one.detach,
                    )


def _questions(flow: Flow, intent: Intent, language: str) -> Iterator[tuple[str, str, str]]:
    """(slot, words, act) of what the assistant may ask while this intent is under way."""
    for name in intent.slots:
        if name in intent.required or name in intent.offer:
            yield name, flow.slots[name].ask.get(language, ""), "ask"
    if intent.confirm or intent.risk == "high":
        yield "yes", intent.confirm.get(language, ""), "confirm"


def _kept(book: Book, flow: Flow, language: str) -> Iterator[_Said]:
    """What is about this flow."""
    requests = [text for intent in flow.intents.values() for text in _of(intent.examples, language)]
    for text in requests:
        yield _Said(text, "", False)
    for name in ("yes", "no", "cancel", "change"):
        for text in _plain(_of(book.common.get(name, {}), language)):
            yield _Said(text, "" if name in ("cancel", "change") else "yes", False)
    for slot in flow.slots.values():
        for value in _values(slot, requests, language):
            for frame in FRAMES[language]:
                yield _Said(frame.format(value), slot.name, False)


def _left(book: Book, others: Sequence[Flow], language: str) -> Iterator[_Said]:
    """What is about something else."""
    for flow in others:
        for intent in flow.intents.values():
            for text in _of(intent.examples, language):
                yield _Said(text, "", True)
    for text in _plain(_of(book.common.get("smalltalk", {}), language)):
        yield _Said(text, "", True)


def _values(slot: Slot, texts: Sequence[str], language: str) -> list[str]:
    """How values of a slot are said: its choices, and what its reader finds in the examples."""
    said = [word for choice in slot.choices for word in (_of(choice.words, language) or ())]
    if slot.type not in ("text", "name", "flag"):
        said += [found.spoken for text in texts for found in read(slot, text, language, NOW)]
    return list(dict.fromkeys(word for word in said if word))


def _of(words: Words, language: str) -> tuple[str, ...]:
    return tuple(words.get(language, ()))


def _plain(words: Iterable[str]) -> Iterator[str]:
    """Without those that are patterns: nobody says them as they stand."""
    return (word for word in words if not set(word) & set("|()[]*\\"))


def _fitting(flow: Flow, text: str, language: str) -> dict[str, bool]:
    """Slots that find a value though nobody asked for them."""
    return {
        slot.name: _fits(slot, text, language, wanted=False)
        for slot in flow.slots.values()
        if slot.type != "text"
    }


def _with_wanted(
    flow: Flow, text: str, language: str, asked: str, fits: Mapping[str, bool]
) -> tuple[str, ...]:
    found = dict(fits)
    if asked in found:
        found[asked] = found[asked] or _fits(flow.slots[asked], text, language, wanted=True)
    return tuple(name for name, fit in found.items() if fit)


def _fits(slot: Slot, text: str, language: str, *, wanted: bool) -> bool:
    found = read(slot, text, language, NOW, wanted=wanted)
    return any(one.sure >= SURE for one in found)


# ── a site's labelled turns ──


def read_turns(path: Path, book: Book) -> list[Labelled]:
    """Lines of {flow, intent, wanted, said, text, detach}. Raises InputError with the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from None
    turns = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            turns.append(_labelled(json.loads(line), book))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}:{number}: not a labelled turn ({error!r}).") from None
    return turns


def _labelled(data: Mapping[str, Any], book: Book) -> Labelled:
    flow, text = book.flows[data["flow"]], str(data["text"])
    language = "zh" if is_cjk(text) else "en"
    wanted = tuple(str(name) for name in data.get("wanted", ()))
    if not isinstance(data["detach"], bool) or unknown(flow, data["intent"], wanted):
        raise ValueError("detach is true or false; intent and wanted are of the flow")
    fits = _fitting(flow, text, language)
    for name in wanted:
        fits[name] = fits.get(name, False) or _fits(flow.slots[name], text, language, wanted=True)
    scene = Scene(
        text,
        language,
        str(data.get("said", "")),
        flow,
        str(data["intent"]),
        wanted,
        {},
        tuple(name for name, fit in fits.items() if fit),
        tuple(one for one in book.flows.values() if one is not flow),
        ("ask",) if wanted else ("confirm",),
    )
    return scene, data["detach"]


def unknown(flow: Flow, intent: str, wanted: Iterable[str]) -> bool:
    """An intent or a slot that the flow does not have."""
    return intent not in flow.intents or not set(wanted) <= set(flow.slots)


OWN = 20
"""a site's turn counts as much as so many that were made from examples"""


def run(book: Book, turns_file: Path | None, output: Path, emit: Callable[..., None]) -> None:
    """The command: train on the flows' examples and a site's turns, write the weights as JSON."""
    own = read_turns(turns_file, book) if turns_file is not None else []
    turns = [*scenes_of(book), *(turn for turn in own for _ in range(OWN))]
    gate = train(turns)
    wrong = sum((gate.detach(scene) > gate.threshold) != label for scene, label in own)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(gate.to_dict(), ensure_ascii=False), encoding="utf-8")
    result = {
        "turns": len(turns),
        "own_turns": len(own),
        "own_wrong": wrong,
        "features": len(gate.weights),
        "threshold": gate.threshold,
        "file": str(output),
    }
    emit(result, "\n".join(f"{key}: {value}" for key, value in result.items()))
