"""The dialogue policy on other people's dialogues: schemas as flows, values found, figures."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from assistant.bench import multiwoz, sgd
from assistant.bench.sgd_data import Exchange, flow_of, read_dialogues, read_train, slot_type
from assistant.bench.sgd_gate import Verdicts, fitting
from assistant.bench.sgd_model import accepted, messages, open_slots
from assistant.bench.sgd_rank import Ranker, common_words, learn
from assistant.bench.sgd_score import Tally, same
from assistant.bench.sgd_slots import Candidate, Moment, candidates, chunks
from assistant.bench.sgd_track import Skills, Tracker
from assistant.config import Config
from assistant.errors import InputError
from assistant.mind.dialogue import Filled
from assistant.mind.flows import Choice, Slot

DATA = Path(os.environ.get("ASSISTANT_TESTDATA", Path(__file__).parents[2] / "shared/testdata"))
FERRY: dict[str, Any] = {
    "service_name": "Ferries_7",
    "description": "Tickets for ferries",
    "slots": [
        {"name": n, "description": d, "is_categorical": bool(v), "possible_values": v}
        for n, d, v in (
            ("harbour", "Town from which the ferry leaves", []),
            ("sailing_date", "Date of sailing", []),
            ("number_of_cabins", "Number of cabins", ["1", "2", "3"]),
            ("deck", "Deck of the cabin", ["Upper", "Lower"]),
            ("has_window", "Whether the cabin has a window", ["True", "False"]),
            ("fare", "Price of the ticket", []),
        )
    ],
    "intents": [
        {"name": "FindFerry", "description": "Find a ferry", "is_transactional": False,
         "required_slots": ["harbour", "sailing_date"], "optional_slots": {"deck": "dontcare"}},
        {"name": "BookFerry", "description": "Book a ferry", "is_transactional": True,
         "required_slots": ["harbour", "number_of_cabins"], "optional_slots": {"has_window": ""}},
    ],
}  # fmt: skip
FLOW = flow_of(FERRY)


def user(text: str, state: dict[str, list[str]], *acts: tuple[str, str, list[str]]) -> Any:
    return {
        "speaker": "USER",
        "utterance": text,
        "frames": [
            {"service": "Ferries_7", "slots": [], "actions": _acts(acts),
             "state": {"active_intent": "FindFerry", "requested_slots": [], "slot_values": state}}
        ],
    }  # fmt: skip


def system(text: str, *acts: tuple[str, str, list[str]]) -> Any:
    frames = [{"service": "Ferries_7", "slots": [], "actions": _acts(acts)}]
    return {"speaker": "SYSTEM", "utterance": text, "frames": frames}


def _acts(acts: Any) -> list[dict[str, Any]]:
    return [
        {"act": act, "slot": slot, "values": values, "canonical_values": values}
        for act, slot, values in acts
    ]


def moment(text: str, *wanted: str) -> Moment:
    return Moment(
        text, "Ferries_7", FLOW, frozenset(wanted), ("REQUEST",), {}, frozenset(["i", "a"])
    )


def test_d8_a_schema_becomes_a_flow_with_types_and_risks() -> None:
    kinds = {name: slot.type for name, slot in FLOW.slots.items()}
    assert kinds == {
        "harbour": "name", "sailing_date": "date", "number_of_cabins": "number",
        "deck": "choice", "has_window": "flag", "fare": "money",
    }  # fmt: skip
    assert FLOW.id == "Ferries"
    assert (FLOW.intents["BookFerry"].kind, FLOW.intents["BookFerry"].risk) == ("write", "high")
    assert FLOW.intents["FindFerry"].required == ("harbour", "sailing_date")


def test_d8_a_slot_without_a_schema_gets_its_type_from_its_name() -> None:
    assert slot_type("pickup_time") == "time"
    assert slot_type("pets_allowed") == "flag"
    assert slot_type("area") == "name"
    assert slot_type("transfer_time", "Number of days for the transfer") == "number"


def test_d1_given_slots_and_detaching_are_read_from_the_states(tmp_path: Path) -> None:
    path = tmp_path / "dialogues.json"
    other = user("And a hotel.", {})
    other["frames"][0]["service"] = "Hotels_1"
    turns = [
        user("From Kiel.", {"harbour": ["Kiel"]}),
        system("When?", ("REQUEST", "sailing_date", [])),
        user("Tomorrow.", {"harbour": ["Kiel"], "sailing_date": ["tomorrow"]}),
        system("Anything else?", ("REQ_MORE", "", [])),
        other,
    ]
    path.write_text(json.dumps([{"dialogue_id": "1", "services": [], "turns": turns}]), "utf-8")
    first, second, third = read_dialogues(path)
    assert [one.user[0].given for one in (first, second, third)] == [
        ("harbour",), ("sailing_date",), (),
    ]  # fmt: skip
    assert [one.detach for one in (first, second, third)] == [False, False, True]


def test_d1_training_turns_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "train_turns.jsonl.gz"
    lines = [
        {"d": "1", "i": 0, "who": "USER", "text": "From Kiel.",
         "frames": [{"service": "A", "intent": "Go", "requested": [], "given": ["harbour"]}]},
        {"d": "1", "i": 1, "who": "SYSTEM", "text": "When?",
         "frames": [{"service": "A", "acts": ["REQUEST:date"]}]},
        {"d": "1", "i": 2, "who": "USER", "text": "A hotel.",
         "frames": [{"service": "B", "intent": "Stay", "requested": [], "given": []}]},
    ]  # fmt: skip
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(json.dumps(line) for line in lines))
    first, second = read_train(path)
    assert first.user[0].given == ("harbour",) and not first.detach
    assert second.detach and second.system[0].acts == (("REQUEST", "date", ()),)


def test_d2_names_are_sought_where_capitals_and_rare_words_stand() -> None:
    common = frozenset(["i", "want", "to", "go", "from", "the", "on", "please", "with"])
    text = "I want to go from Port of Ness with caledonian ferries"
    found = {text[start:end] for start, end in chunks(text, common)}
    assert {"Port of Ness", "caledonian ferries"} <= found
    assert not any("want" in name for name in found)


def test_d2_a_candidate_carries_its_place_and_whether_it_was_asked_for() -> None:
    asked = candidates(moment("To Kiel please", "harbour"), "harbour")
    spoken = [one.spoken for one in asked]
    assert any("Kiel" in one for one in spoken)
    assert any(mark.startswith("wanted new name") for mark in asked[0].features)
    unasked = candidates(moment("two cabins"), "number_of_cabins")
    assert [one.value for one in unasked] == ["2"]


def test_d2_the_gate_is_told_which_slots_fit() -> None:
    assert "sailing_date" in fitting("tomorrow", FLOW, ("sailing_date",))
    assert fitting("no idea", FLOW, ()) == ()


@pytest.mark.training
def test_d8_the_ranker_learns_which_words_announce_a_slot_without_being_told_the_value() -> None:
    pytest.importorskip("sklearn")

    def bag(left: str, other: str, given: bool) -> tuple[list[Candidate], bool]:
        return [
            Candidate(left, left, (f"l {left}",)),
            Candidate(other, other, (f"l {other}",)),
        ], given

    bags = [bag("from", other, True) for other in ("with", "for", "by")] * 8
    bags += [bag("with", "for", False), bag("by", "for", False)] * 8
    ranker = learn(bags, frozenset())
    assert ranker.score(("l from",)) > max(ranker.score((f"l {w}",)) for w in ("with", "for", "by"))


def test_d8_common_words_are_frequent_and_small() -> None:
    texts = ["go to Oslo now", "go to Rome now", "go to Oslo again"] * 3
    common = common_words(texts)
    assert {"go", "to", "now"} <= common
    assert "oslo" not in common


def rules(weight: float) -> Tracker:
    """A tracker that takes whatever was asked for, and offers when they are affirmed."""
    values = Ranker({"wanted new name": weight}, -2.0)
    taken = Ranker({"w yes": 5.0}, -1.0)
    return Tracker({"Ferries_7": FLOW}, Skills(values, taken))


def turn_of(text: str, *acts: tuple[str, str, list[str]], tmp: Path) -> Any:
    path = tmp / "one.json"
    turns = [user("Hello.", {}), system("So?", *acts), user(text, {})]
    path.write_text(json.dumps([{"dialogue_id": "1", "services": [], "turns": turns}]), "utf-8")
    return read_dialogues(path)[1]


def test_m4_an_offer_is_taken_only_when_it_is_affirmed(tmp_path: Path) -> None:
    for text, taken in (("Yes, that one.", True), ("No, another one.", False)):
        tracker = rules(5.0)
        turn = turn_of(text, ("OFFER", "harbour", ["Kiel"]), tmp=tmp_path)
        tracker.hear(turn)
        values, _ = tracker.decide(tracker.moment(turn, "Ferries_7"))
        assert ("harbour" in values) is taken


def test_m2_what_was_filled_stays_when_nothing_new_is_said(tmp_path: Path) -> None:
    tracker = rules(5.0)
    tracker.keep("Ferries_7", {"harbour": Filled("Kiel", "Kiel", 1)})
    turn = turn_of("hm", ("REQ_MORE", "", []), tmp=tmp_path)
    tracker.hear(turn)
    values, _ = tracker.decide(tracker.moment(turn, "Ferries_7"))
    tracker.keep("Ferries_7", values)
    assert tracker.slots("Ferries_7")["harbour"].value == "Kiel"


def test_d12_values_are_right_by_meaning_or_by_letters() -> None:
    date = FLOW.slots["sailing_date"]
    assert same(date, Filled("2019-03-02", "tomorrow", 1), ["March 2nd"])
    assert not same(date, Filled("2019-03-02", "tomorrow", 1), ["March 3rd"])
    assert same(FLOW.slots["has_window"], Filled("yes", "yes", 1), ["True"])
    assert not same(FLOW.slots["has_window"], Filled("no", "no", 1), ["True"])
    assert same(FLOW.slots["harbour"], Filled("Kiel", "Kiel", 1), ["kiel"])
    assert not same(FLOW.slots["harbour"], Filled("Oslo", "Oslo", 1), ["kiel"])


def test_d12_the_tally_counts_right_wrong_missed_and_lost(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    turns = [
        user("Kiel, upper.", {"harbour": ["Kiel"], "deck": ["Upper"]}),
        system("Well?"),
        user("Hm.", {"harbour": ["Kiel"], "deck": ["Upper"]}),
    ]
    path.write_text(json.dumps([{"dialogue_id": "1", "services": [], "turns": turns}]), "utf-8")
    first, second = read_dialogues(path)
    tally = Tally()
    kiel, oslo = Filled("Kiel", "Kiel", 1), Filled("Oslo", "Oslo", 2)
    tally.count(FLOW, first.user[0], {}, {"harbour": kiel})
    assert (tally.right, tally.wrong, tally.missed) == (1, 0, 1)
    tally.count(FLOW, second.user[0], {"harbour": kiel}, {"harbour": oslo})
    assert (tally.wrong, tally.kept, tally.lost) == (1, 0, 1)
    assert tally.figures()["retention"] == 0.0


def test_m4_a_given_slot_that_the_state_lost_counts_as_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    turns = [user("Kiel.", {"harbour": ["Kiel"]}), system("?"), user("Hm.", {"harbour": ["Kiel"]})]
    path.write_text(json.dumps([{"dialogue_id": "1", "services": [], "turns": turns}]), "utf-8")
    first, second = read_dialogues(path)
    kiel = {"harbour": Filled("Kiel", "Kiel", 1)}
    kept, lost = Tally(), Tally()
    for tally, after in ((kept, kiel), (lost, {})):
        tally.count(FLOW, first.user[0], {}, kiel)
        tally.count(FLOW, second.user[0], kiel, after)
    assert (kept.figures()["reask_rate"], lost.figures()["reask_rate"]) == (0.0, 1.0)


def test_d12_figures_of_a_gate_are_f1_and_balanced_accuracy() -> None:
    verdicts = Verdicts((0.9, 0.8, 0.1, 0.2), (True, False, False, True), 0.5, (0.1,) * 4)
    assert verdicts.figures() == (0.5, 0.5)
    assert Verdicts((0.9, 0.1), (True, False), 0.5, (0.1,) * 2).figures() == (1.0, 1.0)


def test_m5_a_value_the_model_invents_is_refused() -> None:
    slots = [FLOW.slots[name] for name in ("harbour", "deck", "sailing_date", "has_window")]
    text = "I'd sail from Kiel, somewhere up high"
    answer = "harbour = Kiel\ndeck = Upper\nsailing date = tomorrow\nhas window: maybe\nnonsense"
    found = accepted(answer, slots, text, [])
    assert {name: one.value for name, one in found.items()} == {"harbour": "Kiel", "deck": "Upper"}
    assert accepted("harbour = Oslo", slots, text, []) == {}
    assert accepted("harbour = Kiel", slots, text, ["Kiel"]) == {}


def test_m4_the_model_is_asked_only_for_open_slots() -> None:
    one = moment("somewhere up high", "deck")
    one.filled["harbour"] = "Kiel"
    assert open_slots(one, {}, {"deck": -1.5, "harbour": -1.2}) == ["deck"]
    assert open_slots(one, {}, {}) == []
    prompt = messages([FLOW.slots["deck"]], "Which deck?", "up high")
    assert prompt[:-1] == messages([FLOW.slots["harbour"]], "x", "y")[:-1]
    assert "Upper, Lower" in prompt[-1]["content"]


def test_d8_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dialogues\.json"):
        sgd.material(tmp_path, None, None)
    (tmp_path / "dialogues.json").write_text("[]", "utf-8")
    with pytest.raises(InputError, match="--train"):
        sgd.material(tmp_path, None, None)


def test_d8_chinese_domains_become_flows_with_the_values_seen() -> None:
    slot = multiwoz._slot("区域", ["北方", "中心"])
    assert slot.type == "choice" and "北部" in slot.choices[0].words["zh"]
    assert multiwoz._slot("到达时间", ["10:00"]).type == "time"
    assert multiwoz._slot("停车处", ["有"]).type == "flag"
    assert multiwoz._slot("人数", ["3", "4"]).type == "number"


def test_d2_from_and_to_tell_two_places_apart() -> None:
    places = tuple(Choice(name, {"zh": (name,)}) for name in ("北城", "南城"))
    slots = {
        name: Slot(name, "choice", {"zh": (name,)}, choices=places) for name in ("出发地", "目的地")
    }
    flow = multiwoz._flow("列车", {})
    flow = type(flow)(flow.id, flow.name, flow.nouns, slots, flow.intents)
    turn = Exchange("1", "", (), "我要从南城到北城的火车", (), ())
    found = multiwoz.said_slots(turn, flow, "列车", 1)
    assert {name: one.value for name, one in found.items()} == {"出发地": "南城", "目的地": "北城"}


@pytest.mark.skipif(not (DATA / "sgd").is_dir(), reason=f"no dialogues under {DATA}")
@pytest.mark.training
def test_d2_on_real_dialogues_the_figures_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    full = read_train
    monkeypatch.setattr(sgd, "read_train", lambda path: full(path)[:4000])
    monkeypatch.setattr(sgd, "RANKED", 60)
    told: list[dict[str, Any]] = []
    sgd.report(
        DATA / "sgd", DATA / "sgd", Config(), lambda result, _: told.append(result),
        model=False, limit=25, as_json=True,
    )  # fmt: skip
    result = told[-1]
    assert {"detach_f1", "balanced_accuracy", "slot_f1", "slot_f1_rules", "retention",
            "reask_rate", "decision_ms_p99", "gate_ms", "turns", "services",
            "seconds"} <= result.keys()  # fmt: skip
    assert result["reask_rate"] == 0.0
    assert result["retention"] > 0.9
    assert result["slot_f1"] > 0.4
    assert result["balanced_accuracy"] > 0.6


@pytest.mark.skipif(not (DATA / "multiwoz_zh").is_dir(), reason=f"no dialogues under {DATA}")
@pytest.mark.training
def test_d2_on_chinese_dialogues_the_figures_are_all_there() -> None:
    pytest.importorskip("sklearn")
    told: list[dict[str, Any]] = []
    multiwoz.report(
        DATA / "multiwoz_zh", Config(), lambda result, _: told.append(result),
        limit=24, as_json=True,
    )  # fmt: skip
    assert told[-1]["reask_rate"] == 0.0
    assert told[-1]["slot_f1"] > 0.3
    assert told[-1]["detach_f1"] > 0.3
