"""Is this still about the last thing? The gate and its teaching (D2, D8)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.errors import InputError
from assistant.flow_train import best_threshold, fit, read_turns, run, scenes_of, train
from assistant.flowbook import load_book
from assistant.mind.flows import Book, Choice, Flow, Intent, Slot
from assistant.mind.gate import Gate, Scene, features, kinship, learn_topics, terms


def flow(name: str, nouns: tuple[str, ...], *slots: Slot, zh: tuple[str, ...] = ()) -> Flow:
    required = tuple(slot.name for slot in slots)
    intent = Intent(
        name, "do", "write", "low", f"{name}.do", {"en": f"use the {nouns[0]}"}, required,
        examples={"en": tuple(f"I want a {noun}" for noun in nouns)},
    )  # fmt: skip
    return Flow(
        name,
        {"en": nouns[0]},
        {"en": nouns, "zh": zh},
        {slot.name: slot for slot in slots},
        {"do": intent},
    )


def colour(*values: str) -> Slot:
    return Slot("colour", "choice", {"en": ("colour",)}, {"en": "Which colour?"},
                tuple(Choice(value, {"en": (value,)}) for value in values))  # fmt: skip


BOATS = flow("boats", ("boat", "sailing boat", "canoe"), colour("red", "blue"), zh=("船", "帆船"))
CAKES = flow("cakes", ("cake", "apple pie", "muffin"), Slot("pieces", "number"), zh=("蛋糕",))
BOOK = Book(
    {"boats": BOATS, "cakes": CAKES},
    {"yes": {"en": ("yes",)}, "smalltalk": {"en": ("how are you", "tell me a joke")}},
)


def scene(text: str, **more: object) -> Scene:
    fields: dict[str, object] = {
        "language": "en", "said": "Which colour?", "flow": BOATS, "intent": "do",
        "wanted": ("colour",), "others": (CAKES,), "acts": ("ask",),
    }  # fmt: skip
    return Scene(text, **(fields | more))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def gate() -> Gate:
    pytest.importorskip("sklearn")
    return fit(scenes_of(BOOK))


def test_d2_words_of_the_flow_under_way_weigh_against_those_of_others() -> None:
    assert kinship(scene("the sailing boat"), terms("the sailing boat")) > 0
    assert kinship(scene("an apple pie"), terms("an apple pie")) < 0
    assert kinship(scene("hello there"), terms("hello there")) == 0


def test_d2_a_word_that_flows_share_weighs_less() -> None:
    other = flow("trips", ("boat",))
    alone = kinship(scene("boat", others=(CAKES,)), terms("boat"))
    shared = kinship(scene("boat", others=(other,)), terms("boat"))
    assert shared < alone


def test_d2_a_fitting_wanted_slot_is_a_feature() -> None:
    assert "wanted fits" in features(scene("red", fits=("colour",)), ["red"])
    assert "wanted missing" in features(scene("red", fits=()), ["red"])
    assert "nothing wanted" in features(scene("red", wanted=()), ["red"])


def test_d8_chinese_is_seen_in_pairs_of_characters() -> None:
    assert "帆船" in terms("我要帆船")
    one = scene("我要帆船", language="zh")
    assert kinship(one, terms(one.text)) > 0


def test_d2_taught_from_examples_it_continues_values_and_detaches_requests(gate: Gate) -> None:
    assert gate.detach(scene("blue, please", fits=("colour",))) < 0.5
    assert gate.detach(scene("I want a muffin")) > 0.5
    assert gate.detach(scene("tell me a joke")) > 0.5


def test_d8_it_judges_words_that_stand_in_no_example_by_what_flows_are_made_of(gate: Gate) -> None:
    lead = gate.detach(scene("how about the canoe")) - gate.detach(scene("how about the muffin"))
    assert lead < 0


def test_d8_weights_survive_json(gate: Gate) -> None:
    back = Gate.from_dict(json.loads(json.dumps(gate.to_dict())))
    one = scene("an apple pie for two")
    assert back.detach(one) == gate.detach(one)
    assert back.threshold == gate.threshold


@pytest.mark.parametrize("data", [{}, {"weights": 3}, {"weights": {}, "bias": "x"}])
def test_d8_damaged_weights_are_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"damaged|could not convert"):
        Gate.from_dict(data)


def test_d2_when_nothing_is_open_words_of_other_flows_count_without_their_names() -> None:
    done = {"acts": ("done",), "wanted": ()}
    cake, trip = (
        features(scene(text, others=(CAKES, flow("trips", ("voyage",))), **done), terms(text))
        for text in ("find me a muffin", "find me a voyage")
    )
    shared = {name for name in cake.keys() & trip.keys() if "<other>" in name}
    assert shared == {"done b <other>", "done b <other> $", "done b a <other>"}
    asked = features(scene("find me a muffin"), terms("find me a muffin"))
    assert not any(name.startswith("done") for name in asked)


def test_d8_where_a_text_begins_and_ends_is_seen() -> None:
    first, last = (
        features(scene("no boat"), terms("no boat")),
        features(scene("boat no"), terms("boat no")),
    )
    assert "u ^ no" in first and "u no $" in last
    assert "u ^ no" not in last and "u ^" not in first


def test_d8_topics_are_silent_for_a_flow_that_was_not_taught() -> None:
    gate = Gate(topics={"flour": {"cakes": 2.0}})
    assert "topic any" in gate.seen(scene("more flour", flow=CAKES, others=(BOATS,)))
    assert "topic any" not in gate.seen(scene("more flour"))


def test_d8_a_turn_without_acts_teaches_topics_only() -> None:
    pytest.importorskip("sklearn")
    opening = Scene("drop anchor", "en", "", flow("trips", ("voyage",)), "do")
    taught = fit([*scenes_of(BOOK), *[(opening, False)] * 6])
    assert taught.topics["anchor"].keys() == {"trips"}
    assert "u anchor" not in taught.weights
    asked = fit([*scenes_of(BOOK), *[(replace(opening, acts=("ask",)), False)] * 6])
    assert "u anchor" in asked.weights


@pytest.mark.parametrize(("false", "low", "high"), [(2, 0.1, 0.5), (6, 0.5, 0.9)])
def test_d2_the_threshold_weighs_f1_against_balanced_accuracy(
    false: int, low: float, high: float
) -> None:
    """The tenth turn is worth two false alarms, which F1 alone denies, but not six."""
    scores = [0.9] * 9 + [0.5] * (1 + false) + [0.1] * 400
    labels = [True] * 10 + [False] * (400 + false)
    assert low < best_threshold(scores, labels) < high


def test_d8_topics_are_words_that_go_with_one_flow() -> None:
    turns = [(scene("red wind"), False)] * 6 + [(scene("red flour", flow=CAKES), False)] * 12
    topics = learn_topics(turns)
    assert topics["wind"].keys() == {"boats"}
    assert "red" not in topics


def test_d2_the_threshold_lies_between_the_two_kinds() -> None:
    scores, labels = [0.1, 0.2, 0.3, 0.7, 0.9], [False, False, False, True, True]
    assert 0.3 <= best_threshold(scores, labels) < 0.7


def test_d8_teaching_needs_both_kinds_of_turns() -> None:
    with pytest.raises(ValueError, match="continue"):
        train([(scene("red"), False)])


def test_d8_a_sites_turns_change_the_verdict(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    line = {"flow": "boats", "intent": "do", "wanted": ["colour"], "said": "Which colour?"}
    own = tmp_path / "turns.jsonl"
    own.write_text(
        "\n".join(
            json.dumps(line | {"text": text, "detach": True})
            for text in ("the harbour is closed", "is the harbour closed", "the harbour")
        ),
        encoding="utf-8",
    )
    told: list[dict[str, object]] = []
    for name, turns in (("plain", None), ("taught", own)):
        run(BOOK, turns, tmp_path / f"{name}.json", lambda result, _: told.append(result))
    plain, taught = (
        Gate.from_dict(json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")))
        for name in ("plain", "taught")
    )
    one = scene("the harbour, is it closed")
    assert taught.detach(one) > plain.detach(one)
    assert told[1]["own_turns"] == 3 and told[1]["own_wrong"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        '{"flow": "planes", "intent": "do", "text": "x", "detach": true}',
        '{"flow": "boats", "intent": "sink", "text": "x", "detach": true}',
        '{"flow": "boats", "intent": "do", "wanted": ["mast"], "text": "x", "detach": true}',
        '{"flow": "boats", "intent": "do", "text": "x", "detach": "maybe"}',
    ],
)
def test_d8_a_bad_labelled_turn_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(InputError, match=r"turns\.jsonl:2"):
        read_turns(path, BOOK)


@pytest.mark.training
def test_d2_the_shipped_flows_teach_a_gate_that_holds_on_texts_it_has_not_seen() -> None:
    pytest.importorskip("sklearn")
    book = load_book()
    some = Book(
        {name: book.flows[name] for name in ("rooms", "expenses", "lists", "stock")}, book.common
    )
    turns = scenes_of(some)
    texts = sorted({one.text for one, _ in turns})
    held = set(texts[::7])
    seen = [turn for turn in turns if turn[0].text not in held]
    apart = [turn for turn in turns if turn[0].text in held]
    taught = fit(seen[::4])
    right = sum((taught.detach(one) > 0.5) == label for one, label in apart)
    assert right / len(apart) > 0.8
