"""Memory around a conversation, with a parrot for a model: what is kept, forgotten, handed on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from assistant.config import Config, FlowsConfig, MemoryConfig
from assistant.events import Failed
from assistant.home import open_home
from assistant.loop import Finished, Notice, Replied, Shown, Typed
from assistant.memory.banks import Banks
from assistant.mouth import Page
from assistant.testing import FakeClock
from assistant.wiring import Engines, Line, Mind, build_mind
from assistant.workers import CancelToken, Worker
from tests.crash import Parrot, settings

HOUR = 3600.0


@dataclass
class House:
    """The real mind and memory by text."""

    mind: Mind
    clock: FakeClock
    shown: list[Shown] = field(default_factory=list)

    def say(self, *lines: str) -> str:
        """The last reply, once its notes are taken."""
        for text in lines:
            language = "en" if text.isascii() else "zh"
            self.mind.loop.tell(Typed(text, language))
            assert self.mind.loop.activity.wait_idle(20)
            assert self.mind.scribe.activity.wait_idle(20)
            self.clock.advance(1)
        self.settle()
        replies = [event.turn.reply for event in self.shown if isinstance(event, Replied)]
        return replies[-1]

    def settle(self) -> None:
        self.mind.bank.store.submit(lambda db: None).result()

    def known(self) -> set[str]:
        self.settle()
        return {one.text for one in self.mind.bank.shelf.all()}


@contextmanager
def house(
    folder: Path, bank: str = "alex", clock: FakeClock | None = None, flows: bool = True
) -> Iterator[House]:
    clock = clock or FakeClock()
    memory = MemoryConfig(bank=bank, key="file")
    config = replace(settings(folder), memory=memory, flows=FlowsConfig(enabled=flows))
    shown: list[Shown] = []
    with ExitStack() as closers:
        line = Line(shown.append)
        home = open_home(config, clock.wall(), line.tell, closers)
        engines = Engines(Parrot(), Parrot(), closers)
        mind = build_mind(config, home, engines, Page(clock, lambda text: None), clock, line)
        for turn in mind.conversation.queued():
            mind.scribe.enqueue(turn)
        loop = Worker("loop", mind.loop.run).start()
        yield House(mind, clock, shown)
        mind.loop.stop()
        mind.scribe.end()
        loop.join()
        for user in engines.users:
            user.join(0.2)


def stored(folder: Path, bank: str = "alex") -> str:
    """Everything that is in any column of a bank."""
    found = []
    with closing(Banks(folder, "file").read(bank).conn) as db:
        tables = [row[0] for row in db.execute("select name from sqlite_master where type='table'")]
        for table in tables:
            if not table.startswith("search_words"):
                found += [str(row) for row in db.execute(f"select * from {table}")]
    return "\n".join(found)


def test_c3_v4_what_was_told_is_kept_with_its_turn(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.", "I have a dentist appointment tomorrow at ten.")
        texts = home.known()
        records = [event.turn for event in home.shown if isinstance(event, Finished)]
    assert "The user's sister is called Anna." in texts
    assert any("2023-11-15" in text for text in texts), texts
    assert records[0].retained == ["add: The user's sister is called Anna."]


def test_v3_the_next_start_has_it_at_hand_before_the_first_word(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.")
    with house(tmp_path) as home:
        assert home.known() == {"The user's sister is called Anna."}


def test_c1_another_person_knows_nothing_of_it(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.")
    with house(tmp_path, "kim") as home:
        assert home.known() == set()
        assert "Anna" not in home.say("What do you know about me?")


def test_v3_a_guest_leaves_nothing_until_they_say_who_they_are(tmp_path: Path) -> None:
    with house(tmp_path, "") as home:
        home.say("I have a cat called Tom.")
        assert home.mind.bank.name == ""
        assert Banks(tmp_path, "file").names() == []
        home.say("I'm Zoe.")
        assert home.mind.bank.name == "zoe"
        home.say("My brother is called Ben.")
    with house(tmp_path, "Zoe") as home:
        assert home.known() == {
            "The user is called Zoe.",
            "The user has a cat called Tom.",
            "The user's brother is called Ben.",
        }


@pytest.mark.parametrize("queued", [False, True])
def test_m12_forget_that_leaves_no_word_of_it(tmp_path: Path, queued: bool) -> None:
    with house(tmp_path) as home:
        home.say("I like green tea.", "My brother is called Ben.")
        if queued:
            home.mind.scribe.gate.close()  # somebody speaks: the note waits
            home.mind.loop.tell(Typed("My aunt is called Ophelia.", "en"))
            home.mind.loop.activity.wait_idle(20)
            home.mind.bank.forget_last()
            home.mind.scribe.gate.open()
            home.mind.scribe.activity.wait_idle(20)
        else:
            assert "Shall I forget" in home.say("Forget that.")
            assert "forgotten" in home.say("Yes.")
        home.settle()
        assert ("Ben" in home.say("What do you know about me?")) == queued
    everything = stored(tmp_path)
    assert ("Ben" in everything) == queued
    assert "Ophelia" not in everything
    assert "green tea" in everything


def test_m12_a_private_conversation_leaves_nothing(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("I like green tea.")
    clock = FakeClock()
    clock.advance(24 * HOUR)
    with house(tmp_path, clock=clock) as home:
        home.say("My brother is called Ben.", "Don't remember this conversation.", "Yes.")
        home.say("My aunt is called Ophelia.")
        assert "Ophelia" in home.say("What do you know about me?"), "it still knows it now"
    with house(tmp_path, clock=clock) as home:
        assert home.known() == {"The user likes green tea."}
        said = home.say("What do you know about me?")
    assert "green tea" in said
    assert "Ophelia" not in said
    everything = stored(tmp_path)
    assert "Ophelia" not in everything
    assert "Ben" not in everything


def test_m12_forget_everything(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("I like green tea.", "Forget everything you know about me.", "Yes.")
        assert home.known() == set()
        assert "nothing" in home.say("What do you know about me?")
        home.say("My brother is called Ben.")
    assert "green tea" not in stored(tmp_path)
    with house(tmp_path) as home:
        assert home.known() == {"The user's brother is called Ben."}


def test_m10_undo_takes_the_memory_back_as_well(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("I live in Rome.", "I live in Oslo now.")
        assert {text for text in home.known() if "Oslo" in text}
        home.say("Undo that.")
        home.settle()
        texts = home.known()
    assert not any("Oslo" in text for text in texts)
    assert any("Rome" in text for text in texts)


def test_v6_a_conversation_left_for_long_is_over_and_its_summary_opens_the_next(
    tmp_path: Path,
) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.")
        first = home.mind.conversation.session
        home.clock.advance(13 * HOUR)
        home.say("Hello.")
        assert home.mind.conversation.session != first
        assert len(home.mind.conversation.recent()) == 1
        home.settle()
        opening = home.mind.bank.recaller.opening
        assert opening
        assert "sister" in opening[0].text
        assert home.mind.conversation.state.preference, "what is known comes along"
    assert first in stored(tmp_path)


def test_v9_what_has_left_the_prompt_is_told_in_a_line(tmp_path: Path) -> None:
    with house(tmp_path, flows=False) as home:
        home.say("What is the capital of Japan?", *["How are you?"] * 11)
        asked = home.mind.conversation.recent()
        assert all("Japan" not in one.user for one in asked)
        lines = home.mind.bank.block("Tell me more.", "en").lines
    assert any("Japan" in line for line in lines), lines


def test_c2_recall_and_retention_have_switches(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.mind.bank._config = replace(
            Config(), memory=MemoryConfig(bank="alex", recall=False, retain=False)
        )
        home.say("My sister is called Anna.")
        assert home.known() == set()
        assert home.mind.bank.block("Where is Anna?", "en").lines == ()


def test_c4_a_failing_memory_breaks_no_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("torn")

    with house(tmp_path) as home:
        monkeypatch.setattr(home.mind.bank.recaller, "for_turn", broken)
        home.mind.bank.spoken = lambda: None
        assert home.say("What is the capital of France?") == "All right."


def test_v12_the_keeper_tidies_up_and_stops_when_somebody_speaks(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.", "I like green tea.")
        keeper = home.mind.keeper
        stopped = CancelToken()
        stopped.cancel()
        keeper.tidy(stopped)
        keeper.tidy(CancelToken())
        with closing(home.mind.bank.store.reader().conn) as db:
            text = db.execute("select text from summaries").fetchone()[0]
    assert "sister" in text
    assert not [event for event in home.shown if isinstance(event, Notice)]


def test_m12_a_secret_is_answered_and_kept_nowhere(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        assert "passwords" in home.say("My password is swordfish99.")
        assert home.known() == set()
    assert "swordfish" not in stored(tmp_path)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("Forget that my brother is called Ben.", "green tea"),
        ("Forget what I told you about Ben.", "green tea"),
        ("Please forget my green tea.", "Ben"),
    ],
)
def test_m12_what_is_named_is_forgotten_and_nothing_else(
    tmp_path: Path, words: str, left: str
) -> None:
    with house(tmp_path) as home:
        home.say("I like green tea.", "My brother is called Ben.", "Hello.")
        assert "Shall I" in home.say(words)
        assert "forgotten" in home.say("Yes.")
        (kept,) = home.known()
        assert left in kept
        said = home.say("What do you know about me?")
    assert left in said
    everything = stored(tmp_path)
    assert left in everything
    assert ({"green tea", "Ben"} - {left}).pop() not in everything


def test_m12_a_fact_of_an_earlier_conversation_is_forgotten_as_well(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.")
        home.clock.advance(13 * HOUR)
        home.say("Hello.", "My sister is called Anna.", "Forget that.", "Yes.")
        assert "Anna" not in home.say("What do you know about me?")
        home.say("I like green tea.")
    assert "Anna" not in stored(tmp_path)


def test_m12_forgetting_everything_breaks_no_write_and_leaves_no_task(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("I like green tea.", "Add milk to the shopping list.")
        home.say("Forget everything you know about me.", "Yes.")
        home.say("I need to submit a taxi expense of forty five euros.")
        assert not [event for event in home.shown if isinstance(event, Failed)]
        before = home.mind.conversation.state
    with house(tmp_path) as home:
        assert home.mind.conversation.state == before
        assert before.dialogue.task is not None
    assert "milk" not in stored(tmp_path)


def test_m12_a_note_in_progress_brings_nothing_back(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.mind.scribe.gate.close()
        home.mind.loop.tell(Typed("The gate is by the shed and my aunt Ophelia painted it.", "en"))
        home.mind.loop.activity.wait_idle(20)
        home.mind.bank.forget_all()
        home.mind.scribe.gate.open()
        assert home.mind.scribe.activity.wait_idle(20)
        home.say("Hello.")
        assert home.known() == set()
    assert "Ophelia" not in stored(tmp_path)


@pytest.mark.parametrize("words", ["Call me later.", "I'm not Zoe.", "I am called a liar."])
def test_v3_a_guest_is_not_called_anything(tmp_path: Path, words: str) -> None:
    with house(tmp_path, "") as home:
        home.say(words)
        assert home.mind.bank.name == ""


def test_m12_a_private_guest_gets_no_bank(tmp_path: Path) -> None:
    with house(tmp_path, "") as home:
        home.say("Don't remember this conversation.", "Yes.", "I'm Zoe.")
    assert Banks(tmp_path, "file").names() == []


def test_what_only_the_state_knew_becomes_memories(tmp_path: Path) -> None:
    with house(tmp_path) as home:
        home.say("My sister is called Anna.", "I like green tea.")
        home.mind.bank.store.submit(lambda db: db.execute("delete from facts")).result()
    with house(tmp_path) as home:
        assert home.known() == {"The user's sister is called Anna.", "The user likes green tea."}


@pytest.mark.parametrize(
    "words",
    [
        "Off the record, my aunt is called Zelda.",
        "Don't write this down, my uncle is called Otto.",
        "Do not remember this: my boss is called Karl.",
        "别记，我老板叫卡尔。",
    ],
)
def test_m12_what_is_said_not_to_be_kept_is_not_noted(tmp_path: Path, words: str) -> None:
    with house(tmp_path) as home:
        home.say(words)
        assert home.known() == set()
        assert not home.mind.conversation.state.preference
