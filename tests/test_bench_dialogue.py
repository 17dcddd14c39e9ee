"""bench dialogue notices everything that is not as a script expects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from assistant.bench import dialogue as bench
from assistant.bench.dialogue import Played, Script, figures, play, run_conversation, scripts
from assistant.config import Config
from assistant.dialogues import Handled
from assistant.mind.dialogue import CONFIRM, Dialogue, Done, Filled, Task, frozen
from assistant.mind.flows import TYPES
from assistant.mind.view import Decision

ASKS = Task("rooms", "book", frozen({"date": Filled("2026-12-01", "tomorrow", 1)}), "room")
CONFIRMS = replace(ASKS, asked=CONFIRM)
SCRIPT: Script = {"id": "one", "language": "en"}


def decided(act: str, task: Task | None = ASKS, *, continued: bool = True) -> Decision:
    name = task.name if task else ""
    return Decision(act, Dialogue(task=task), name, continued, task.slots if task else frozen())


class Said:
    """A driver with its answers written down."""

    def __init__(self, *answers: Handled | Exception) -> None:
        self.answers = iter(answers)
        self.heard: list[tuple[Any, ...]] = []

    def handle(
        self, dialogue: Dialogue, text: str, language: str, turn: int, now: datetime, said: str = ""
    ) -> Handled:
        self.heard.append((dialogue, text, language, turn, now, said))
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def handled(*decisions: Decision, reply: str = "Which room?") -> Handled:
    return Handled(decisions[-1].dialogue, (reply,) if reply else (), decisions)


def faults(turn: dict[str, Any], answer: Handled | Exception) -> list[str]:
    office = Database(memory=True)
    office.table("bookings").insert({"room": "A302"})
    script = {**SCRIPT, "turns": [{"user": "Book a room", **turn}]}
    return run_conversation(script, lambda _: (Said(answer), office))


ASKED = handled(decided("ask:room"))
RIGHT = {
    "act": "ask:room",
    "intent": "rooms.book",
    "continued": True,
    "slots": {"date": "2026-12-01"},
    "asked": "room",
    "active": "rooms.book",
    "suspended": [],
    "says": [["room", "place"]],
    "says_not": ["booked"],
    "office": [["select count(*) from bookings", 1]],
}


def test_a_turn_as_expected_has_no_fault() -> None:
    assert faults(RIGHT, ASKED) == []


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("act", "run", "act is 'ask:room', not 'run'"),
        ("act", ["ask:room", "run"], "act is ['ask:room'], not"),
        ("intent", "rooms.find", "intent is 'rooms.book'"),
        ("continued", False, "continued is True"),
        ("slots", {"date": "2026-12-02"}, "date is '2026-12-01', not '2026-12-02'"),
        ("slots", {"time": "10:00-12:00"}, "time is None"),
        ("asked", "", "asked is 'room'"),
        ("active", None, "active is 'rooms.book'"),
        ("suspended", ["stock.order"], "suspended is []"),
        ("says", [["chair", "table"]], "does not say chair or table"),
        ("says_not", ["ROOM"], "says ROOM"),
        ("office", [["select count(*) from bookings", 0]], "is 1, not 0"),
        ("office", [["select room from bookings where 0", "A302"]], "is None, not 'A302'"),
    ],
)
def test_d12_each_expectation_is_checked(key: str, value: Any, fault: str) -> None:
    (found,) = faults({**RIGHT, key: value}, ASKED)
    assert found.startswith("one, turn 1, 'Book a room': ")
    assert fault in found


def test_slots_of_what_was_just_done_are_seen() -> None:
    done = Dialogue(done=(Done(ASKS, "ok"),))
    ran = Decision("run", done, ASKS.name)
    assert faults({"act": "run", "slots": {"date": "2026-12-01"}}, handled(ran)) == []


def test_d1_a_question_for_what_is_known_is_a_fault() -> None:
    (known,) = faults({}, handled(decided("ask:date", replace(ASKS, asked="date"))))
    assert "asks for date again, which is '2026-12-01'" in known


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        (Task("rooms", "book", asked="date"), "has lost date ('2026-12-01')"),
        (replace(ASKS, asked="projector"), "offers projector again"),
    ],
)
def test_d1_a_value_lost_on_the_way_is_a_fault(second: Task, fault: str) -> None:
    first = replace(ASKS, declined=("projector",))
    script = {**SCRIPT, "turns": [{"user": "one"}, {"user": "two"}]}
    answers = (handled(decided("ask:room", first)), handled(decided("ask:x", second)))
    played = play(script, lambda _: (Said(*answers), Database(memory=True)))
    assert played.re_asks == 1
    assert fault in played.mismatches[0]
    started_anew = handled(decided("restarted", second))
    again = play(script, lambda _: (Said(answers[0], started_anew), Database(memory=True)))
    assert again.re_asks == 0


@pytest.mark.parametrize("reply", ["", "{room} is booked.", "Booked[ for {people}]."])
def test_a_rule_says_something_whole(reply: str) -> None:
    assert faults({}, handled(decided("ask:room"), reply=reply))


def test_the_model_answers_alone() -> None:
    model = decided("model", None)
    assert faults({"act": "model"}, handled(model, reply="")) == []
    assert faults({"act": "model"}, handled(model, reply="Which room?"))


def test_a_model_call_in_place_of_a_rule_is_counted() -> None:
    model = handled(decided("model", None), reply="")
    turns = [{"user": "yes", "act": "run"}, {"user": "hm"}, {"user": "hello", "act": "model"}]
    script = {**SCRIPT, "turns": turns}
    played = play(script, lambda _: (Said(model, model, model), Database(memory=True)))
    assert (played.model_calls, played.wrong, played.turns) == (1, 1, 3)


def test_m5_an_exception_ends_the_conversation_and_counts() -> None:
    script = {**SCRIPT, "turns": [{"user": "one"}, {"user": "two"}, {"user": "three"}]}
    driver = Said(ASKED, ValueError("no"))
    played = play(script, lambda _: (driver, Database(memory=True)))
    assert (played.turns, played.wrong) == (3, 2)
    assert "raised ValueError('no')" in played.mismatches[0]


def test_d6_a_restart_goes_through_json_and_time_goes_on() -> None:
    turns = [{"user": "one"}, {"restart": True}, {"user": "two", "wait_minutes": 45}]
    driver = Said(ASKED, ASKED)
    play({**SCRIPT, "now": "2026-12-01T10:00", "turns": turns}, lambda _: (driver, memory()))
    first, second = driver.heard
    assert second[0] == ASKED.dialogue and second[0] is not ASKED.dialogue
    assert (first[3], second[3], second[5]) == (1, 2, "Which room?")
    assert 45 <= (second[4] - first[4]).total_seconds() / 60 < 46
    assert first[4].isoformat()[:16] == "2026-12-01T10:00"


def memory() -> Database:
    return Database(memory=True)


def test_figures_add_up() -> None:
    spent = [float(one) for one in range(1, 101)]
    both = [Played("a", 100, 2, ["x", "y"], spent, 1, 1), Played("b", 1)]
    result = figures(both)
    assert (result["conversations"], result["turns"], result["right"]) == (2, 101, 99)
    assert (result["wrong"], result["wrong_conversations"]) == (2, 1)
    assert (result["model_calls"], result["re_asks"]) == (1, 1)
    assert (result["decision_ms_p50"], result["decision_ms_p99"]) == (50.0, 99.0)


@pytest.mark.parametrize(
    ("changed", "code"),
    [({}, 0), ({"wrong": 1}, 1), ({"re_asks": 1}, 1), ({"model_calls": 1}, 1)],
)
def test_report_is_a_failure_when_anything_is_wrong(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], code: int
) -> None:
    played = replace(Played("a", 1, milliseconds=[1.0], mismatches=["x"]), **changed)
    monkeypatch.setattr(bench, "run", lambda _: iter([played]))
    said: list[dict[str, Any]] = []
    assert bench.report(Config(), lambda value, _: said.append(value), as_json=True) == code
    assert said[0] == {"id": "a", "fault": "x"}
    assert said[-1]["turns"] == 1


def test_d12_a_slow_decision_fails_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "run", lambda _: iter([Played("a", 1, milliseconds=[6.0])]))
    assert bench.report(Config(), lambda *_: None, as_json=True) == 1


KEYS = {
    *("user", "wait_minutes", "act", "intent", "continued", "slots", "asked", "active"),
    *("suspended", "says", "says_not", "office"),
}


def turns(language: str) -> Iterator[dict[str, Any]]:
    for script in scripts(language):
        yield from (turn for turn in script["turns"] if not turn.get("restart"))


@pytest.mark.parametrize(("language", "least"), [("en", 65), ("zh", 45)])
def test_scripts_are_whole(language: str, least: int) -> None:
    found = scripts(language)
    assert sum(len(script["turns"]) > 1 for script in found) >= least
    assert len({script["id"] for script in found}) == len(found)
    for turn in turns(language):
        assert not turn.keys() - KEYS, turn
        assert "act" in turn or turn.keys() & {"active", "office", "says", "slots"}, turn
        for sql, _ in turn.get("office", ()):
            assert sql.lower().startswith("select ")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_d5_scripts_cover_every_intent_and_slot_type(language: str, shipped: Any) -> None:
    seen = list(turns(language))
    named = {turn.get("intent", "") for turn in seen}
    for flow in shipped.flows.values():
        for intent in flow.intents.values():
            assert intent.full in named, f"no {language} conversation about {intent.full}"
    kinds = {
        shipped.flows[turn["intent"].partition(".")[0]].slots[name].type
        for turn in seen
        for name in turn.get("slots", ())
        if turn.get("intent")
    }
    used = {slot.type for flow in shipped.flows.values() for slot in flow.slots.values()}
    assert kinds == used and used <= set(TYPES)


@pytest.fixture(scope="module")
def shipped() -> Any:
    from assistant.flowbook import load_book

    return load_book()


def test_makers_give_each_conversation_an_office_of_its_own(tmp_path: Path) -> None:
    make = bench.makers(Config(), tmp_path)
    (_, first), (_, second) = make({"denied": ["stock.order"]}), make({})
    for office in (first, second):
        assert office.execute("select count(*) from rooms").fetchone()[0] >= 5
    first.execute("delete from rooms")
    assert second.execute("select count(*) from rooms").fetchone()[0] >= 5
    first.conn.close()
    second.conn.close()
