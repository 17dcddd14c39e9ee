"""The one writer: what was answered survives, a stale write is refused, one instance a folder."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.config import Config, DataConfig
from assistant.errors import DataInUse, StaleWrite, StorageError
from assistant.events import Failed, Turn
from assistant.home import open_home
from assistant.memory import store as rows
from assistant.memory import writer
from assistant.memory.banks import Banks
from assistant.memory.store import Store
from assistant.testing import wait_for
from assistant.workers import CancelToken, Worker


def turn(session: str, number: int = 1, **changes: object) -> Turn:
    values: dict[str, object] = {
        "session": session,
        "turn": number,
        "user_text": "my name is Alex",
        "language": "en",
        "state_before": {"version": 0},
        "raw": "Hello Alex.",
        "reply": "Hello Alex.",
        "heard": "Hello Alex.",
        **changes,
    }
    return Turn(**values)  # type: ignore[arg-type]


def open_store(
    folder: Path, tell: Callable[[Failed], None] = lambda event: None, bank: str = "alex"
) -> Store:
    return Store(Banks(folder, "file"), bank, tell)


def open_session(store: Store, bank: str = "alex", now: float = 100.0, hours: float = 1) -> str:
    return store.submit(rows.open_session(bank, now, hours)).result().id


def test_m11_a_session_is_resumed_until_it_expires(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first = open_session(store, now=0.0, hours=1)
    store.close()
    store = open_store(tmp_path)
    assert open_session(store, now=3600.0, hours=1) == first
    assert open_session(store, now=3601.0, hours=1) != first
    store.close()


def test_m11_a_session_with_notes_still_to_take_is_not_over(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first = open_session(store, now=0.0, hours=1)
    store.submit(rows.keep_turn(turn(first), 1.0, note=True)).result()
    assert open_session(store, now=90_000.0, hours=1) == first
    store.submit(rows.end_job(first, 1, "done", 90_000.0)).result()
    assert open_session(store, now=90_000.0, hours=1) != first
    store.close()


def test_c1_banks_do_not_share_a_session(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert open_session(store, "alex") != open_session(store, "kim")
    store.close()


def test_m11_state_and_turns_survive_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = open_session(store)
    store.submit(rows.keep_turn(turn(session), 1.0, note=True))
    store.submit(rows.commit_state(session, 1, 0, {"version": 1, "task": "x"}, 2.0))
    store.close()
    store = open_store(tmp_path)
    assert store.submit(rows.load_state(session)).result() == {"version": 1, "task": "x"}
    (row,) = store.submit(rows.load_turns(session, 6)).result()
    assert (row["user_text"], row["state_after"], row["queued"]) == ("my name is Alex", 1, 0)
    store.close()


def test_m11_a_stale_write_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = open_session(store)
    store.submit(rows.keep_turn(turn(session), 1.0, note=True))
    store.submit(rows.commit_state(session, 1, 0, {"version": 1}, 2.0)).result()
    late = store.submit(rows.commit_state(session, 1, 0, {"version": 1, "task": "late"}, 3.0))
    with pytest.raises(StaleWrite):
        late.result()
    assert store.submit(rows.load_state(session)).result() == {"version": 1}
    store.close()


def test_m11_ten_writers_lose_no_update(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = open_session(store)
    store.submit(rows.keep_turn(turn(session), 1.0, note=True))

    def add_one(_: int) -> None:
        while True:
            state = store.submit(rows.load_state(session)).result()
            version = state.get("version", 0)
            after = {"version": version + 1}
            try:
                store.submit(rows.commit_state(session, 1, version, after, 2.0)).result()
                return
            except StaleWrite:
                continue

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(add_one, range(50)))
    assert store.submit(rows.load_state(session)).result() == {"version": 50}
    store.close()


def test_a_turn_and_its_job_are_kept_once_however_often_they_are_written(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = open_session(store)
    for reply in ("Hello", "Hello Alex."):
        store.submit(rows.keep_turn(turn(session, reply=reply), 1.0, note=True))
    found = store.submit(rows.load_turns(session, 6)).result()
    assert [(row["reply"], row["queued"]) for row in found] == [("Hello Alex.", 1)]
    store.close()


def test_a_turn_whose_update_is_queued_is_loaded_however_old(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    session = open_session(store)
    for number in range(1, 11):
        store.submit(rows.keep_turn(turn(session, number), 1.0, note=True))
        if number != 2:
            store.submit(rows.end_job(session, number, "done", 1.0))
    found = store.submit(rows.load_turns(session, 3)).result()
    assert [row["turn"] for row in found] == [2, 8, 9, 10]
    store.close()


def test_a_second_instance_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(DataInUse, match=r"already running.*--data"):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_m12_the_data_folder_is_private(tmp_path: Path) -> None:
    store = open_store(tmp_path / "data")
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    store.close()


@pytest.mark.parametrize("name", ["assistant.db", "banks/alex.db"])
def test_a_database_that_is_none_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "banks").mkdir()
    Banks(tmp_path, "file").connect("kim").close()
    (tmp_path / name).write_bytes(b"this is not a database, and long enough" * 50)
    with pytest.raises(StorageError, match="cannot be opened"):
        open_store(tmp_path)
    (tmp_path / name).unlink()
    open_store(tmp_path).close()  # the failed opening let go of the folder


def test_a_refused_write_is_told_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)
    told: list[Failed] = []
    store = open_store(tmp_path, told.append)
    refusals = iter([True, True, False])

    def full_disk_then_room(_: object) -> str:
        if next(refusals):
            raise sqlite3.OperationalError("database or disk is full")
        return "written"

    assert store.submit(full_disk_then_room).result() == "written"
    assert [event.stage for event in told] == ["memory"]
    store.close()


def test_m11_kill_minus_9_loses_nothing_that_was_written(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.test_store import open_session, open_store, rows, turn
store = open_store(Path({str(tmp_path)!r}))
session = open_session(store)
for number in range(1, 6):
    store.submit(rows.keep_turn(turn(session, number), 1.0, note=True)).result()
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", script], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    store = open_store(tmp_path)
    found = store.submit(rows.load_turns(open_session(store), 6)).result()
    assert [row["turn"] for row in found] == [1, 2, 3, 4, 5]
    store.close()


def test_v1_a_disk_that_stays_full_stops_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "QUEUE", 3)
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)
    told: list[Failed] = []
    store = open_store(tmp_path, told.append)
    full = CancelToken()

    def refused(_: object) -> None:
        if not full.cancelled:
            raise sqlite3.OperationalError("database or disk is full")

    with Worker("answers", lambda: [store.submit(refused) for _ in range(9)].clear()) as worker:
        assert worker.join(2.0), "whoever answers waits for the disk"
    wait_for(lambda: len(told) == 2)
    assert sum("not kept" in str(event.error) for event in told) == 1
    full.cancel()
    store.close()


def test_a_write_that_fails_for_good_is_told(tmp_path: Path) -> None:
    told: list[Failed] = []
    store = open_store(tmp_path, told.append)

    def malformed(_: object) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    store.submit(malformed)
    wait_for(lambda: len(told) == 1)
    assert isinstance(told[0].error, StorageError)
    assert "malformed" in str(told[0].error)
    store.close()


def test_a_stored_state_that_cannot_be_read_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    config = replace(Config(), data=DataConfig(str(tmp_path)))
    told: list[Failed] = []
    with ExitStack() as closers:
        home = open_home(config, 100.0, told.append, closers)
        session = home.conversation.session
        row = {"session": session, "version": 7, "at": 1.0, "turn": 1, "state": "{half"}
        home.store.submit(lambda db: db.table("states").insert(row)).result()
    with ExitStack() as closers:
        home = open_home(config, 100.0, told.append, closers)
        assert home.conversation.state.version == 7
    assert len(told) == 1
    assert "cannot be read" in str(told[0].error)
