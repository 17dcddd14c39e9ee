"""Do the words stop where a person would? Words alone, English and Chinese."""

from __future__ import annotations

from datetime import datetime

import pytest

from assistant.mind.dialogue import CONFIRM, Dialogue, Task, frozen
from assistant.mind.finished import Wanted, sounds_finished, wanted
from assistant.mind.flows import Book, Choice, Flow, Intent, Slot

NOW = datetime(2026, 11, 30, 9, 0)


def asked(kind: str, pattern: str = "") -> Wanted:
    return Wanted(Slot("it", kind, pattern=pattern), NOW)


OPEN = [
    "What's the",
    "set a timer for",
    "Turn off all the...",
    "add milk and",
    "add milk, eggs, butter",
    "I want to",
    "can you please",
    "turn the lights",
    "And then",
    "um",
    "My number is zero one seven",
    "zero one seven",
    "if it rains tomorrow",
    "a room in",
    "book the room tomorrow from ten to",
    "Unless a system is established.",
    "MFA is like",
    "In this regard,",
]
OPEN_ZH = [
    "然后",
    "打开客厅的",
    "提醒我",
    "因为",
    "我想要苹果和",
    "如果明天下雨",
    "我的电话是零一七",
    "从十点到",
]


@pytest.mark.parametrize("text", OPEN)
def test_v1_nobody_stops_there(text: str) -> None:
    assert sounds_finished(text, "en").state == "open"


@pytest.mark.parametrize("text", OPEN_ZH)
def test_v1_nobody_stops_there_in_chinese(text: str) -> None:
    assert sounds_finished(text, "zh").state == "open"


FORMS = [
    ("Turn it off.", "form"),
    ("Book room number 302.", "form"),
    ("Cancel timer", "form"),
    ("Can you please turn off all of the lights in the office?", "form"),
    ("Who is it for?", "form"),
    ("Do you know what time it is?", "form"),
    ("add milk, eggs and butter", "form"),
    ("If it rains, remind me to take an umbrella.", "form"),
    ("I'd like a table for two please.", "wish"),
    ("He stopped and looked around.", "mark"),
    ("I think so.", "mark"),
    ("Never mind.", "flow"),
    ("Stop!", "flow"),
]
FORMS_ZH = [
    ("打开客厅的灯", "form"),
    ("明天提醒我开会", "form"),
    ("今天天气怎么样？", "form"),
    ("取消", "flow"),
]


@pytest.mark.parametrize(("text", "by"), FORMS)
def test_v1_commands_questions_and_sentences_are_whole(text: str, by: str) -> None:
    found = sounds_finished(text, "en")
    assert (found.state, found.by) == ("finished", by), found.why


@pytest.mark.parametrize(("text", "by"), FORMS_ZH)
def test_v1_chinese_commands_and_questions_are_whole(text: str, by: str) -> None:
    found = sounds_finished(text, "zh")
    assert (found.state, found.by) == ("finished", by), found.why


@pytest.mark.parametrize("text", ["set a timer", "Book a meeting room.", "isolated tornadoes"])
def test_v1_what_often_goes_on_is_neither(text: str) -> None:
    assert sounds_finished(text, "en").state == "unknown"


@pytest.mark.parametrize(
    ("kind", "text", "language"),
    [
        ("date", "tomorrow", "en"),
        ("time", "At ten.", "en"),
        ("time_range", "from ten to twelve", "en"),
        ("time_range", "the afternoon", "en"),
        ("number", "Six people.", "en"),
        ("money", "500 euros", "en"),
        ("duration", "half an hour", "en"),
        ("date", "明天", "zh"),
        ("money", "五百块", "zh"),
        ("time_range", "十点到十二点", "zh"),
    ],
)
def test_d2_a_bare_value_of_what_was_asked_for_is_complete(
    kind: str, text: str, language: str
) -> None:
    found = sounds_finished(text, language, asked(kind))
    assert (found.state, found.by) == ("finished", "flow"), found.why
    assert sounds_finished(text, language).by != "flow", "nobody asked"


@pytest.mark.parametrize(
    ("kind", "text", "pattern", "state"),
    [
        ("time_range", "from ten", "", "open"),
        ("time_range", "ten to", "", "open"),
        ("time_range", "ten", "", "unknown"),
        ("code", "zero one seven", "[0-9]{6}", "open"),
        ("code", "AP 10", "AP-[0-9]{4}", "open"),
        ("code", "AP 1001", "AP-[0-9]{4}", "finished"),
        ("code", "012345", "[0-9]{6}", "finished"),
        ("money", "500", "", "unknown"),
        ("date", "next", "", "open"),
        ("duration", "3 hours and", "", "open"),
    ],
)
def test_d2_a_value_that_goes_on_is_open(kind: str, text: str, pattern: str, state: str) -> None:
    assert sounds_finished(text, "en", asked(kind, pattern)).state == state


def test_d2_another_subject_is_no_answer() -> None:
    found = sounds_finished("What is the weather in Paris?", "en", asked("number"))
    assert (found.state, found.by) == ("finished", "form")


@pytest.mark.parametrize(
    ("text", "language", "state"),
    [
        ("Yes.", "en", "finished"),
        ("Yes please, go ahead", "en", "finished"),
        ("no", "en", "finished"),
        ("No, but", "en", "open"),
        ("好的", "zh", "finished"),
        ("可以", "zh", "finished"),
    ],
)
def test_d2_yes_and_no_answer_a_confirmation(text: str, language: str, state: str) -> None:
    assert sounds_finished(text, language, Wanted(None, NOW)).state == state


@pytest.mark.parametrize(("text", "language"), [("", "en"), ("...", "en"), ("Guten Tag.", "de")])
def test_nothing_is_claimed_without_words(text: str, language: str) -> None:
    assert sounds_finished(text, language).state == "unknown"


def test_what_is_wanted_is_read_from_the_dialogue() -> None:
    slot = Slot("room", "choice", source="rooms.room")
    intent = Intent("rooms", "book", "write", "low", "rooms.book", {})
    book = Book({"rooms": Flow("rooms", {}, {}, {"room": slot}, {"book": intent})}, {})
    known = {"rooms.room": (Choice("A302"),)}

    def of(task: Task | None) -> Wanted | None:
        return wanted(Dialogue(task), book, known, NOW)

    offered = frozen({"room": ("B105",)})
    found = of(Task("rooms", "book", asked="room", offered=offered))
    assert found == Wanted(slot, NOW, (Choice("A302"), Choice("B105")))
    assert sounds_finished("B105", "en", found).by == "flow"
    assert of(Task("rooms", "book", asked=CONFIRM)) == Wanted(None, NOW)
    assert of(Task("rooms", "book")) is None
    assert of(Task("rooms", "book", asked="gone")) is None
    assert of(None) is None
