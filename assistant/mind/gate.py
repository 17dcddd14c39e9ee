"""Is this still about the last thing? A learned linear score (D2).

Knows the words, what was asked and what the flows are made of; it knows no flow by heart except
through its weights, which come from labelled turns (`flow_train`), never from code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Self

from assistant.mind.flows import Flow, Words
from assistant.mind.words import stems

KEPT = 64
"""sets of flows whose words are kept ready"""
FEW = 2
"""a word that so many flows share is still theirs"""
OVER = ("more", "done")
"""after these acts nothing is open; the first that occurs counts"""
START, END, OWN, OTHER = "^", "$", "<own>", "<other>"
"""where a text begins and ends; a word of the flow under way, and of another"""
WIDE = "\u3400"
"""from here on a character is a word"""


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn as the gate sees it, before anything is decided."""

    text: str
    """what the user says now"""
    language: str
    said: str
    """the assistant's last words"""
    flow: Flow
    """of the task under way"""
    intent: str
    wanted: tuple[str, ...] = ()
    """slots that were asked for"""
    filled: Mapping[str, str] = field(default_factory=dict)
    fits: tuple[str, ...] = ()
    """slots of the flow for which the text holds a value"""
    others: tuple[Flow, ...] = ()
    acts: tuple[str, ...] = ()
    """what the assistant did with its last words: "ask", "confirm", "offer", "inform", "done" …"""


Index = Mapping[str, tuple[tuple[str, float], ...]]
"""term → (flow, weight); a term that many flows share weighs less"""
_INDEXES: dict[tuple[str, frozenset[int]], tuple[tuple[Flow, ...], Index]] = {}


def terms(text: str) -> list[str]:
    """Stems of words; of Chinese, pairs of characters as well."""
    found = ["#" if word[0].isdigit() else word for word in stems(text)]
    return found + [a + b for a, b in pairwise(found) if _wide(a) and _wide(b)]


def _wide(word: str) -> bool:
    return len(word) == 1 and word >= WIDE


def _said(words: Words, language: str) -> Iterator[str]:
    yield from words.get(language) or words.get("en", ())


def flow_texts(flow: Flow, language: str) -> Iterator[str]:
    """Everything a flow is called or made of."""
    yield flow.name.get(language, "")
    yield from _said(flow.nouns, language)
    for intent in flow.intents.values():
        yield intent.title.get(language, "")
        for words in (intent.cues, intent.phrases):
            yield from _said(words, language)
    for slot in flow.slots.values():
        if language == "en":
            yield slot.name.replace("_", " ")
        yield from _said(slot.words, language)
        for choice in slot.choices:
            yield choice.value
            yield from _said(choice.words, language)


def _index(flows: tuple[Flow, ...], language: str) -> Index:
    """The flows' words, made once for each set of flows."""
    key = (language, frozenset(map(id, flows)))  # whichever of them is under way
    if key not in _INDEXES:
        if len(_INDEXES) >= KEPT:
            _INDEXES.clear()
        _INDEXES[key] = (flows, _make_index(flows, language))  # holding them keeps the ids valid
    return _INDEXES[key][1]


def _make_index(flows: Sequence[Flow], language: str) -> Index:
    table: dict[str, dict[str, None]] = {}
    for flow in flows:
        for text in flow_texts(flow, language):
            for term in terms(text):
                table.setdefault(term, {})[flow.id] = None
    return {
        term: tuple((flow, 1.0 / len(places)) for flow in places) for term, places in table.items()
    }


Views = Sequence[tuple[tuple[str, float], ...]]
"""for each word, the flows that it speaks for"""


def kinship(scene: Scene, words: Sequence[str]) -> float:
    """How many words speak for the flow under way, less those for the best of the others."""
    return _lead(scene, words, _views(scene, words))


def _views(scene: Scene, words: Iterable[str]) -> Views:
    index = _index((scene.flow, *scene.others), scene.language)
    return [index.get(word, ()) for word in words]


def _lead(scene: Scene, words: Sequence[str], views: Views) -> float:
    sums: dict[str, float] = {}
    for view in dict(zip(words, views, strict=True)).values():
        for flow, weight in view:
            sums[flow] = sums.get(flow, 0.0) + weight
    own = sums.pop(scene.flow.id, 0.0)
    return own - max(sums.values(), default=0.0)


def _blurred(scene: Scene, words: Sequence[str], views: Views) -> list[str]:
    """The words, but those of few flows only as the flow's under way or another's.

    What is learned of them holds for flows that nobody has been taught.
    """
    own = scene.flow.id
    return [
        (OWN if any(flow == own for flow, _ in view) else OTHER) if 0 < len(view) <= FEW else word
        for word, view in zip(words, views, strict=True)
    ]


def features(scene: Scene, words: Sequence[str]) -> dict[str, float]:
    """Name → value, about 1 for each family of features; `words`: the terms of the text."""
    acts = sorted(set(scene.acts))
    views = _views(scene, words)
    found = _even(_grams("u", words, 2))
    over = next((act for act in OVER if act in acts), "")
    if over:  # the same words mean something else when nothing is open any more
        blurred = _blurred(scene, words, views)
        found |= _even(_grams(f"{over} u", words, 2)) | _even(_grams(f"{over} b", blurred, 2))
    found["acts " + " ".join(acts)] = 1.0
    found |= dict.fromkeys((f"act {act}" for act in acts), 1.0)
    found |= dict.fromkeys(_shape(scene), 1.0)
    lead = _bound(_lead(scene, words, views), 2.0)
    return found | {f"lead {act}": lead for act in ("any", *acts)}


def _bound(value: float, most: float) -> float:
    return max(-most, min(most, value))


def _even(names: Iterable[str]) -> dict[str, float]:
    """Each name once, all together of length 1."""
    found = dict.fromkeys(names, 0.0)
    return dict.fromkeys(found, 1.0 / math.sqrt(len(found))) if found else found


def _grams(mark: str, words: Sequence[str], most: int) -> Iterator[str]:
    """Runs of words; where the text begins and ends counts beside a word only."""
    for word in words:
        yield f"{mark} {word}"
    marked = [START, *words, END]
    for size in range(2, most + 1):
        for start in range(len(marked) - size + 1):
            yield f"{mark} " + " ".join(marked[start : start + size])


def _shape(scene: Scene) -> Iterator[str]:
    """What does not depend on single words: is it a question, which slots fit."""
    if scene.text.rstrip().endswith(("?", "？", "吗", "呢")):
        yield "question"
    if not scene.wanted:
        yield "nothing wanted"
    else:
        yield "wanted fits" if set(scene.wanted) & set(scene.fits) else "wanted missing"
    fresh = [name for name in scene.fits if name not in scene.filled]
    yield f"fresh {min(len(fresh), 2)}"


@dataclass(frozen=True, slots=True)
class Gate:
    """Weights of the features; above `threshold` the turn is about something else."""

    weights: Mapping[str, float] = field(default_factory=dict)
    bias: float = 0.0
    threshold: float = 0.5
    topics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """term → flow → log of how much likelier the term is when this flow is under way"""
    known: frozenset[str] = field(init=False, default=frozenset())
    """flows that have topics"""

    def __post_init__(self) -> None:
        known = frozenset(flow for flows in self.topics.values() for flow in flows)
        object.__setattr__(self, "known", known)

    def detach(self, scene: Scene) -> float:
        """How likely the user has turned to something else, 0 to 1."""
        weights = self.weights
        total = self.bias
        for name, value in self.seen(scene).items():
            total += weights.get(name, 0.0) * value
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))

    def seen(self, scene: Scene, *, topics: bool = True) -> dict[str, float]:
        """The features, those of the learned topics among them if the flow has any."""
        words = terms(scene.text)
        found = features(scene, words)
        if topics and scene.flow.id in self.known:
            found |= topic_features(scene, words, self.topics)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` reads them back."""
        return {
            "weights": dict(self.weights),
            "bias": self.bias,
            "threshold": self.threshold,
            "topics": {term: dict(flows) for term, flows in self.topics.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what to_dict wrote. ValueError when it is damaged."""
        try:
            return cls(
                weights=_numbers(data["weights"]),
                bias=float(data["bias"]),
                threshold=float(data["threshold"]),
                topics=MappingProxyType(
                    {str(term): _numbers(flows) for term, flows in data["topics"].items()}
                ),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the gate's weights are damaged ({error!r})") from None


def _numbers(data: Mapping[str, Any]) -> Mapping[str, float]:
    return MappingProxyType({str(key): float(value) for key, value in data.items()})


def topic_features(
    scene: Scene, words: Iterable[str], topics: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """How much likelier the words are under this flow than under the best other one."""
    sums: dict[str, float] = {}
    for term in set(words):
        for flow, weight in topics.get(term, {}).items():
            sums[flow] = sums.get(flow, 0.0) + weight
    own = sums.get(scene.flow.id, 0.0)
    other = max((sums.get(flow.id, 0.0) for flow in scene.others), default=0.0)
    lead = _bound((own - other) / 2, 2.5)
    return {f"topic {act}": lead for act in ("any", *scene.acts)}


def learn_topics(
    turns: Iterable[tuple[Scene, bool]], *, least: int = 5
) -> Mapping[str, Mapping[str, float]]:
    """Which words go with which flow, from turns that stayed with theirs."""
    counts: dict[str, dict[str, int]] = {}
    sizes: dict[str, int] = {}
    for scene, detach in turns:
        if detach:
            continue
        sizes[scene.flow.id] = sizes.get(scene.flow.id, 0) + 1
        for term in set(terms(scene.text)):
            row = counts.setdefault(term, {})
            row[scene.flow.id] = row.get(scene.flow.id, 0) + 1
    whole = sum(sizes.values())
    topics = {}
    for term, row in counts.items():
        if term == "#" or sum(row.values()) < least:
            continue
        base = sum(row.values()) / whole
        strong = {
            flow: round(lift, 3)
            for flow, count in row.items()
            if (lift := math.log((count + base) / (sizes[flow] + 1.0) / base)) > math.log(2.0)
        }
        if strong:
            topics[term] = strong
    return topics
