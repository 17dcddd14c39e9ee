"""The hot cache: compare and set, roll-back, ten threads on one session (D7, M10, M11)."""

from __future__ import annotations

from pathlib import Path

from assistant.config import MindConfig
from assistant.memory import store as rows
from assistant.memory.cache import MAX_PAST, Conversation
from assistant.mind.merge import Update, merge
from assistant.mind.prompt import Exchange
from assistant.mind.state import Fact, State
from assistant.workers import Ticket, Worker
from tests.test_store import open_store

LIMITS = MindConfig()


def conversation(state: State | None = None, past: list[State] | None = None) -> Conversation:
    return Conversation("s", state or State(), [], 6, past=past or [])


def with_task(state: State, task: str) -> State:
    return merge(state, Update(task=task), LIMITS)


def test_m11_a_swap_on_an_old_state_is_refused() -> None:
    talk = conversation()
    old = talk.state
    assert talk.swap(old, with_task(old, "one"), lambda: True)
    assert talk.swap(old, with_task(old, "two"), lambda: True) is None
    assert talk.state.task == "one"


def test_m11_ten_threads_write_one_session_and_no_update_is_lost(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = store.submit(rows.open_session("test", 1.0, 12)).result().id
    talk = Conversation(session, State(), [], 6)
    tickets: list[Ticket[None]] = []

    def write(name: int) -> None:
        for step in range(20):
            fact = Fact(str(step), f"The user said {step} to {name}.", "en", step)

            def compute(state: State, fact: Fact = fact) -> State:
                return merge(state, Update(preference={f"{name}": fact}), LIMITS)

            def submit(before: State, after: State) -> None:
                work = rows.keep_state(session, 0, before.version, after.to_dict(), 1.0)
                tickets.append(store.submit(work))

            talk.change(compute, submit)

    workers = [Worker(f"w{n}", lambda n=n: write(n)).start() for n in range(10)]  # type: ignore[misc]
    for worker in workers:
        assert worker.join(20)
        worker.result()
    for ticket in tickets:
        ticket.result()  # StaleWrite would be raised here
    stored = State.from_dict(store.submit(rows.load_state(session)).result())
    store.close()
    assert stored.version == talk.state.version == 200
    assert {key: fact.value for key, fact in stored.preference.items()} == {
        str(n): "19" for n in range(10)
    }


def test_m10_roll_back_goes_to_any_earlier_state_one_step_each_time() -> None:
    talk = conversation()
    for task in ("one", "two", "three"):
        talk.change(lambda state, task=task: with_task(state, task), lambda old, new: None)  # type: ignore[misc]
    seen = []
    while (result := talk.roll_back(lambda before, after: after.version)) is not None:
        seen.append((result[0].task, result[1]))
    assert [task for task, _ in seen] == ["two", "one", ""]
    assert [version for _, version in seen] == [4, 5, 6]


def test_m10_after_a_change_undo_begins_anew() -> None:
    talk = conversation()
    for task in ("one", "two"):
        talk.change(lambda state, task=task: with_task(state, task), lambda old, new: None)  # type: ignore[misc]
    assert talk.roll_back(lambda before, after: None)
    talk.change(lambda state: with_task(state, "three"), lambda old, new: None)
    result = talk.roll_back(lambda before, after: None)
    assert result is not None
    assert result[0].task == "one"


def test_m10_a_queued_note_that_is_taken_back_is_not_taken_any_more() -> None:
    talk = conversation(State(version=3, task="kept"))
    talk.answered(1, Exchange("My sister is called Anna.", "Nice."), "en", queued=True)
    assert talk.known.preference
    assert talk.roll_back(lambda before, after: None)
    assert talk.queued() == []
    assert talk.known.task == "kept"
    assert not talk.known.preference


def test_m8_the_past_is_bounded() -> None:
    talk = conversation()
    for number in range(3 * MAX_PAST):
        talk.change(
            lambda state, number=number: with_task(state, str(number)),  # type: ignore[misc]
            lambda old, new: None,
        )
    steps = 0
    while talk.roll_back(lambda before, after: None) is not None:
        steps += 1
    assert steps == MAX_PAST


def test_m10_the_past_survives_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = store.submit(rows.open_session("test", 1.0, 12)).result().id
    state = State()
    for task in ("one", "two", "three"):
        after = with_task(state, task)
        store.submit(rows.keep_state(session, 0, state.version, after.to_dict(), 1.0)).result()
        state = after
    past = [State.from_dict(one) for one in store.submit(rows.load_states(session, 9)).result()]
    store.close()
    assert [one.task for one in past] == ["one", "two"]
