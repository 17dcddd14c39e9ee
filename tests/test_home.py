"""What a start finds: the session where it was left, or a new one that knows what was known."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from assistant.config import Config, DataConfig, MemoryConfig
from assistant.events import Failed
from assistant.home import open_home
from assistant.memory import store as rows
from assistant.memory.store import keep_turn
from assistant.mind.merge import Update, merge
from assistant.mind.state import Fact, State
from tests.test_store import turn


def settings(folder: Path, bank: str = "alex") -> Config:
    return replace(
        Config(), data=DataConfig(str(folder)), memory=MemoryConfig(bank, "file", session_hours=1.0)
    )


def told_name_and_appointment(folder: Path, now: float) -> str:
    """A session that knows two things; returns its id."""
    facts = {"dentist": Fact("at ten", "The user has a dentist appointment at ten.", "en", 1)}
    name = {"name": Fact("Alex", "The user is called Alex.", "en", 1)}
    config = settings(folder)
    with ExitStack() as closers:
        home = open_home(config, now, lambda event: None, closers)
        session = home.conversation.session
        state = merge(State(), Update(facts=facts, preference=name), config.mind)
        home.store.submit(keep_turn(turn(session), now, note=True))
        home.store.submit(rows.commit_state(session, 1, 0, state.to_dict(), now)).result()
        return session


def test_m11_within_the_hour_it_goes_on_where_it_was(tmp_path: Path) -> None:
    session = told_name_and_appointment(tmp_path, now=0.0)
    with ExitStack() as closers:
        home = open_home(settings(tmp_path), 3000.0, lambda event: None, closers)
    assert home.conversation.session == session
    assert list(home.conversation.state.facts) == ["dentist"]
    assert len(home.conversation.recent()) == 1


def test_m9_a_new_session_keeps_preferences_and_folds_facts_into_the_summary(
    tmp_path: Path,
) -> None:
    session = told_name_and_appointment(tmp_path, now=0.0)
    for _ in range(2):  # and it is still so when that session is resumed
        with ExitStack() as closers:
            home = open_home(settings(tmp_path), 9000.0, lambda event: None, closers)
        state = home.conversation.state
        assert home.conversation.session != session
        assert state.preference["name"].value == "Alex"
        assert not state.facts
        assert "dentist appointment at ten" in state.history_summary
        assert home.conversation.recent() == []


def test_c1_another_person_begins_with_nothing(tmp_path: Path) -> None:
    told_name_and_appointment(tmp_path, now=0.0)
    with ExitStack() as closers:
        home = open_home(settings(tmp_path, "kim"), 9000.0, lambda event: None, closers)
    assert home.conversation.state == State()


def test_a_damaged_last_state_is_no_reason_not_to_start(tmp_path: Path) -> None:
    session = told_name_and_appointment(tmp_path, now=0.0)
    told: list[Failed] = []
    with ExitStack() as closers:
        home = open_home(settings(tmp_path), 1.0, told.append, closers)
        home.store.submit(
            lambda db: db.execute("update states set state = '{' where session = ?", [session])
        ).result()
    with ExitStack() as closers:
        home = open_home(settings(tmp_path), 9000.0, told.append, closers)
    assert home.conversation.state == State()
