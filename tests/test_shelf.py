"""The hot copy of the memories: what is preloaded, what words call up, and that nobody waits."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assistant.memory import shelf as shelves
from assistant.memory.shelf import Shelf, rank
from assistant.memory.topics import refers, strong, topics
from assistant.mind.memories import Memory
from assistant.workers import CancelToken, Worker

YEAR = 365 * 86_400.0


def fact(text: str, subject: str = "user", **more: object) -> Memory:
    language = "zh" if "用户" in text else "en"
    made = Memory(text=text, subject=subject, key=text, id=text[:60], language=language)
    return replace(made, **more)  # type: ignore[arg-type]


TOLD = [
    fact("The user's sister Anna lives in Bristol.", "sister anna"),
    fact("The user's sister Anna is allergic to nuts.", "sister anna"),
    fact("The user's dog Rex is afraid of thunder.", "dog rex"),
    fact("The user has a dentist appointment on 2026-12-01 at ten.", day="2026-12-01"),
    fact("The user is called Alex.", importance=0.9),
    fact("The user is learning to play the cello."),
    fact("用户对花生过敏。"),
    fact("用户的女儿小雨在学钢琴。", "女儿小雨"),
    fact("用户的猫叫团团。", "猫团团"),
]


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf(pause=lambda: None)
    made.put(TOLD)
    return made


def texts(found: list[Memory]) -> list[str]:
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("words", "language", "expected"),
    [
        ("Where does my sister live?", "en", "Anna lives in Bristol"),
        ("Can Anna eat nuts?", "en", "allergic to nuts"),
        ("When do I see the dentist?", "en", "dentist appointment"),
        ("Who am I?", "en", "called Alex"),
        ("我能吃花生吗？", "zh", "花生过敏"),
        ("小雨在学什么？", "zh", "学钢琴"),
        ("我妹妹住在哪里？", "zh", "Anna lives in Bristol"),  # told in English
        ("Which instrument does my daughter play?", "en", "学钢琴"),  # told in Chinese
        ("我的宠物叫什么？", "zh", "猫叫团团"),
    ],
)
def test_v1_words_call_up_what_they_are_about(
    shelf: Shelf, words: str, language: str, expected: str
) -> None:
    assert expected in shelf.find(words, language, 2)[0].text


@pytest.mark.parametrize("words", ["", "And when is it?", "那是几点？", "Tell me a joke.", "?!"])
def test_v11_nothing_is_called_up_by_words_about_nothing(shelf: Shelf, words: str) -> None:
    assert shelf.find(words, "en", 5) == []


def test_v15_a_name_in_the_subject_counts_twice(shelf: Shelf) -> None:
    shelf.put([fact("The user met a friend of Rex in the park.", "friend")])
    assert shelf.find("Tell me about Rex", "en", 1)[0].subject == "dog rex"


def test_v15_a_word_that_everything_holds_finds_nothing() -> None:
    shelf = Shelf(pause=lambda: None)
    shelf.put(fact(f"The user bought lamp number {n * 1000}.") for n in range(50))
    assert shelf.find("Which lamp is nice?", "en", 5) == []
    assert texts(shelf.find("lamp 7000", "en", 5)) == ["The user bought lamp number 7000."]


def test_v16_what_has_ended_is_no_longer_there(shelf: Shelf) -> None:
    shelf.put([replace(TOLD[4], ended=1.0)])
    assert shelf.find("Who am I?", "en", 1) == []
    assert len(shelf) == len(TOLD) - 1 == len(shelf.all())


def test_v16_a_changed_memory_is_found_by_its_new_words_only(shelf: Shelf) -> None:
    shelf.put([replace(TOLD[2], text="The user's dog Rex likes the garden.")])
    assert shelf.find("thunder", "en", 1) == []
    assert len(shelf.find("garden", "en", 5)) == 1
    assert len(shelf) == len(TOLD)


def test_forgotten_memories_leave_no_word_behind(shelf: Shelf) -> None:
    shelf.drop([one.id for one in TOLD] + ["unknown"])
    assert len(shelf) == 0 and shelf.all() == [] and shelf.profile(5) == []
    assert shelf._postings == {} and shelf._numbers == {}
    shelf.put(TOLD)
    shelf.clear()
    assert shelf.find("Anna", "en", 1) == [] and shelf.get(TOLD[0].id) is None


def test_v3_the_profile_is_pinned_then_important_lasting_and_recent() -> None:
    shelf = Shelf(pause=lambda: None)
    old, new = 1e9, 1e9 + 4 * YEAR
    shelf.put(
        [
            fact("old and important", importance=0.9, said=old),
            fact("new and important", importance=0.9, said=new),
            fact("of a task", importance=0.9, said=new, lasting=False),
            fact("new and small", importance=0.5, said=new),
            fact("pinned", importance=0.1, said=old, pinned=True),
        ]
    )
    order = ["pinned", "new and important", "new and small", "of a task", "old and important"]
    assert texts(shelf.profile(10)) == order
    assert texts(shelf.profile(2)) == order[:2]


def test_v16_a_past_event_is_found_but_not_preloaded(shelf: Shelf) -> None:
    assert any("dentist" in one.text for one in shelf.profile(20, "2026-12-01"))
    assert not any("dentist" in one.text for one in shelf.profile(20, "2026-12-02"))
    assert "dentist" in shelf.find("When was I at the dentist?", "en", 1)[0].text


def test_touching_a_memory_keeps_it_findable_and_moves_it_in_the_profile(shelf: Shelf) -> None:
    shelf.put([replace(TOLD[5], importance=1.0, uses=3)])
    assert shelf.profile(1)[0].uses == 3
    assert shelf.find("cello", "en", 1)[0].uses == 3


def test_v15_a_full_shelf_keeps_the_most_important() -> None:
    shelf = Shelf(most=64, pause=lambda: None)
    shelf.put(fact(f"memory {n}", importance=n / 1000) for n in range(200))
    assert 60 <= len(shelf) <= 64
    assert shelf.get("memory 199") is not None and shelf.get("memory 3") is None


def test_the_profile_is_filled_up_again_when_its_best_are_forgotten() -> None:
    shelf = Shelf(pause=lambda: None)
    every = [fact(f"memory {n}", importance=(n + 1) / 1000) for n in range(500)]
    shelf.put(every)
    best = sorted(every, key=rank, reverse=True)
    shelf.drop(one.id for one in best[:100])
    assert texts(shelf.profile(24)) == texts(best[100:124])
    assert texts(shelf.profile(400)) == texts(best[100:])


def test_m10_what_was_said_in_a_turn_can_be_named(shelf: Shelf) -> None:
    shelf.put([fact("one", session="s", turn=1), fact("two", session="s", turn=2)])
    assert texts(shelf.of_session("s")) == ["one", "two"]
    assert texts(shelf.of_turn("s", 2)) == ["two"]
    shelf.put([fact("one", session="t", turn=9)])  # said again
    assert texts(shelf.of_session("s")) == ["two"] and texts(shelf.of_session("t")) == ["one"]


def test_v1_readers_see_whole_memories_while_others_are_put() -> None:
    shelf, stop = Shelf(), CancelToken()

    def write() -> None:
        for n in range(300):
            shelf.put([fact(f"The user's sister Anna has lamp {n % 40}.", "sister anna", uses=n)])
            shelf.drop([fact(f"The user's sister Anna has lamp {(n + 20) % 40}.").id])
        stop.cancel()

    with Worker("writer", write) as worker:
        while not stop.cancelled:
            assert all("Anna" in one.text for one in shelf.find("Anna's lamp", "en", 5))
            assert all(one.subject for one in shelf.profile(5))
            assert len(shelf.all()) <= 40
    worker.result()


def test_v1_the_collector_passes_over_what_is_held() -> None:
    shelf = Shelf(pause=lambda: None)
    shelf.put(TOLD)
    gc.collect()
    assert not any(gc.is_tracked(row) for row in shelf._rows.values())


def test_others_get_their_turn_while_many_are_put() -> None:
    paused: list[int] = []
    slow = Shelf(pause=lambda: paused.append(len(slow)))
    slow.put(fact(f"memory {n}") for n in range(100))
    assert paused == [*range(shelves.STEP, 100, shelves.STEP), 100]


@pytest.fixture
def asked() -> Iterator[None]:
    topics.cache_clear()
    yield
    topics.cache_clear()


@pytest.mark.parametrize(
    "words", ["And when is it?", "How long does it take?", "那在哪里", "然后呢", "Don't you know?"]
)
def test_v11_a_follow_up_has_no_topic_of_its_own(asked: None, words: str) -> None:
    assert strong(words) == frozenset()


def test_v11_topics_meet_across_languages_and_word_forms(asked: None) -> None:
    assert strong("My sister is visiting") & strong("妹妹要来看我")
    assert strong("She was painting") & strong("a painted lamp")
    assert not strong("My sister is visiting") & strong("我要去看牙医")
    assert refers("Does she like it?") and refers("她喜欢什么") and not refers("The sheep is here")
