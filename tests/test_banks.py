"""One encrypted bank for each person: ids, files, guests, what an earlier version left."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlite_utils import Database

from assistant import sealed
from assistant.config import ROOT
from assistant.errors import ConfigError, DataInUse, StorageError
from assistant.events import Failed
from assistant.memory import store as rows
from assistant.memory import writer
from assistant.memory.banks import MAX_BYTES, Banks, bank_id
from assistant.memory.db import migrations
from assistant.memory.store import Store
from assistant.sealed import SqlError, SqlIntegrityError, SqlOperationalError
from assistant.skills.office import open_office
from tests.test_store import open_session, turn

# Ids

SPELLINGS = {
    "alex": ["Alex", " alex ", "ALEX", "ａｌｅｘ", "alex!", "“Alex”", "Alex.", "alex\u200b"],
    "mary-ann": ["Mary Ann", "mary-ann", "Mary\u2011Ann", "mary  ann", "MARY - ANN"],
    "o-brien": ["O'Brien", "o’brien", "O Brien"],
    "dr-alex": ["Dr. Alex", "dr alex", "Dr.  Alex."],
    "strasse": ["Straße", "STRASSE"],
    "王小明": ["王小明", " 王小明。"],
    "阿列克斯-史密斯": ["阿列克斯·史密斯", "阿列克斯 史密斯"],
    "हिन्दी": ["हिन्दी"],
    "alex@example.com": ["Alex@Example.com", " alex@example.com"],
    "alex+home@example.com": ["alex+home@example.com"],
    "alex_k": ["alex_k", "Alex_K"],
    "tel-49171234567": [
        *("+49 171 234-567", "0049171234567", "+49 (0)171 234567", "+49-171-234567"),
        *("tel:+49171234567", "＋４９ １７１ ２３４５６７", "(0049) 171/234567", "+٤٩ ١٧١ ٢٣٤٥٦٧"),
    ],
    "tel-0171234567": ["(0171) 234567", "0171 234 567", "0171/234-567"],
    "tel-local-13800138000": ["138 0013 8000", "13800138000"],
    "4711": ["4711"],
}


@pytest.mark.parametrize(("id", "name"), [(i, n) for i, names in SPELLINGS.items() for n in names])
def test_c1_a_person_has_one_id_in_any_spelling(id: str, name: str) -> None:
    assert bank_id(name) == id


def test_c1_different_names_have_different_ids() -> None:
    names = [
        *("a b", "a@b", "a.b", "a_b", "a+b", "a/b", "a\\b", "a#b", "a&b", "a:b", "a*b", "a|b"),
        *("a", "a_", "_a", "@a", "a🎉b", "a👑b", "con", "con.a", "nul", "a/", "/a", "ab"),
        *("+49171234567", "49171234567", "049171234567", "é", "e", "e\u0301a", "ea"),
        *("x" * 300, "x" * 301, "王" * 90, "王" * 91),
    ]
    assert len({bank_id(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["!?", "", "  ", "...", "-", "@", "👑", "\u0301", "\u200b"])
def test_c1_a_name_without_a_letter_or_digit_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="give the bank a name"):
        bank_id(name)


def ids_of(name: str) -> str | None:
    try:
        return bank_id(name)
    except ConfigError:
        return None


@given(st.text(max_size=60) | st.text("conaux.1 -+@()/0_", max_size=12))
def test_c1_an_id_is_its_own_id_and_a_safe_file_name(name: str) -> None:
    found = ids_of(name)
    if found is None:
        return
    assert bank_id(found) == found
    assert bank_id(f" {name.upper().lower()} ") == bank_id(name.upper().lower())
    assert not set(found) & set('<>:"/\\|?*') and found.isprintable()
    assert found[0] not in ".- " and found[-1] not in ".- "
    assert len(found.encode()) <= MAX_BYTES
    stem = found.split(".")[0]
    assert stem not in {"con", "prn", "aux", "nul"} and not (
        stem[:3] in ("com", "lpt") and stem[3:].isdigit() and len(stem) == 4
    )


# Files


@pytest.fixture
def banks(tmp_path: Path) -> Banks:
    return Banks(tmp_path, "file")


def test_c1_each_person_has_a_file_and_sees_no_other(banks: Banks, tmp_path: Path) -> None:
    with closing(banks.connect("Alex")) as alex, closing(banks.connect("kim@home.org")) as kim:
        alex.table("meta").insert({"key": "who", "value": "Alex"})
        assert kim.table("meta").count == 0
        databases = [row[2] for row in kim.execute("PRAGMA database_list")]
    assert databases == [str(tmp_path / "banks" / "kim@home.org.db")]
    assert banks.names() == ["alex", "kim@home.org"]
    assert banks.exists("ALEX")
    assert not banks.exists("anna")
    assert not banks.path("../../etc/passwd").relative_to(tmp_path / "banks").parts[1:]


SAID = ("my sister Anna is allergic to walnuts", "我妹妹对核桃过敏")


def leaked(folder: Path, words: tuple[str, ...]) -> list[str]:
    """Files below the folder that hold one of the words readably."""
    found = []
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        for word in words:
            forms = [word.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")]
            if any(form in data for form in forms):
                found.append(f"{path.name}: {word}")
    return found


def test_m12_no_word_is_readable_in_any_file(banks: Banks, tmp_path: Path) -> None:
    words = (
        "sister",
        "walnuts",
        "妹妹对核桃过敏",
        "sessions",
        "turns",
        "SQLite format",
        "guest-list",
    )
    store = Store(banks, "alex")
    session = open_session(store)
    for number in range(1, 60):
        text = f"{SAID[number % 2]} {number}"
        store.submit(rows.keep_turn(turn(session, number, user_text=text), 1.0, note=True)).result()
    with closing(open_office(tmp_path / "office.db", banks.key)) as office:
        office.table("list_items").insert({"list": "guest-list", "item": "walnuts"})
        sizes = {path.name: path.stat().st_size for path in tmp_path.rglob("*.db*")}
        assert sizes["alex.db-wal"] > 50_000, "what is looked at is there"
        assert sizes["alex.db-shm"] and sizes["office.db-wal"]
        assert leaked(tmp_path, words) == []
    store.close()
    assert (tmp_path / "banks" / "alex.db").stat().st_size > 50_000
    assert leaked(tmp_path, words) == []
    with closing(banks.read("alex")) as db:
        assert db.table("turns").count == 59


def test_m12_a_wrong_key_is_one_clear_sentence(
    banks: Banks, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    banks.connect("alex").close()
    path = banks.path("alex")
    for key in (os.urandom(32), None):
        for read_only in (True, False):
            with pytest.raises(StorageError) as caught:
                sealed.connect(path, key, read_only=read_only)
            text = str(caught.value)
            assert text.startswith(f"{path}: the database cannot be opened with this key")
            assert "memory import" in text and "--data DIR" in text and ". " not in text
    assert capfd.readouterr() == ("", "")
    banks.connect("alex").close()


def test_m12_a_bank_that_was_changed_is_not_believed(banks: Banks) -> None:
    banks.connect("alex").close()
    data = bytearray(banks.path("alex").read_bytes())
    data[2000] ^= 1
    banks.path("alex").write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        banks.connect("alex")


def test_m12_forgetting_a_person_leaves_no_file(banks: Banks, tmp_path: Path) -> None:
    banks.connect("kim").close()
    alex = banks.connect("alex")  # as after a crash: the log is still there
    assert banks.path("alex").with_name("alex.db-wal").exists()
    banks.delete("Alex")
    assert [path.name for path in (tmp_path / "banks").glob("alex*")] == []
    assert banks.names() == ["kim"]
    alex.close()


def test_m12_what_cannot_be_deleted_is_said(banks: Banks) -> None:
    banks.connect("alex").close()
    stuck = banks.path("alex").with_name("alex.db-wal")
    stuck.mkdir()
    with pytest.raises(StorageError, match=r"alex\.db-wal: cannot be deleted"):
        banks.delete("alex")
    assert not banks.exists("alex")


def test_c1_reading_makes_nothing_and_writes_nothing(banks: Banks, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing is remembered of anna; known: nobody"):
        banks.read("Anna")
    assert list(tmp_path.iterdir()) == []
    banks.connect("alex").close()
    with closing(banks.read("alex")) as db, pytest.raises(SqlOperationalError, match="readonly"):
        db.execute("DELETE FROM turns")


def test_c1_another_process_may_read_beside_the_writer(banks: Banks, tmp_path: Path) -> None:
    store = Store(banks, "alex")
    session = open_session(store)
    store.submit(rows.keep_turn(turn(session), 1.0, note=True)).result()
    script = f"""
from pathlib import Path
from assistant.errors import DataInUse
from assistant.memory.banks import Banks
banks = Banks(Path({str(tmp_path)!r}), "file")
print(banks.read("alex").execute("SELECT user_text FROM turns").fetchone()[0])
try:
    banks.claim()
except DataInUse:
    print("in use")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["my name is Alex", "in use"], done.stderr
    store.close()


# A guest


def test_v3_a_guest_is_remembered_in_memory_only(banks: Banks, tmp_path: Path) -> None:
    store = Store(banks, "")
    assert store.bank == ""
    session = open_session(store, bank="")
    store.submit(rows.keep_turn(turn(session), 1.0, note=True)).result()
    with closing(store.reader()) as db:
        assert db.table("turns").count == 1
        with pytest.raises(SqlError, match="readonly"):
            db.execute("DELETE FROM turns")
    store.close()
    assert [path.name for path in tmp_path.rglob("*")] == ["lock"]
    store = Store(banks, "")
    assert store.submit(lambda db: db.table("turns").count).result() == 0
    store.close()


def test_v3_two_guests_share_nothing(banks: Banks) -> None:
    with closing(banks.guest()) as one:
        one.table("meta").insert({"key": "a", "value": "1"})
        with closing(banks.guest()) as two, closing(banks.guest_reader()) as reader:
            assert two.table("meta").count == 0
            assert reader.table("meta").count == 0


def test_v3_nobody_reads_a_guest_who_is_not_there(banks: Banks) -> None:
    with pytest.raises(StorageError, match="no guest"):
        banks.guest_reader()


# Going over to another bank


def told_then(store: Store, bank: str) -> Callable[[Database, Database], None]:
    def carry(old: Database, new: Database) -> None:
        rows.open_session(bank, 1.0, 1)(new)
        for row in old.query("SELECT key, value FROM meta"):
            new.table("meta").insert(row)

    return carry


def test_v3_a_guest_who_says_who_they_are_keeps_what_was_said(banks: Banks) -> None:
    store = Store(banks, "")
    put = {"key": "said", "value": "before"}
    store.submit(lambda db: db.table("meta").insert(put))
    ticket = store.rebind("Alex", told_then(store, "alex"))
    more = store.submit(lambda db: db.table("meta").insert({"key": "more", "value": "after"}))
    ticket.result()
    more.result()
    assert store.bank == "alex"
    with closing(store.reader()) as db:
        assert [row["value"] for row in db.query("SELECT value FROM meta ORDER BY rowid")] == [
            *("before", "after"),
        ]
        assert db.table("sessions").count == 1
    store.close()
    with closing(banks.read("alex")) as db:
        assert db.table("meta").count == 2


def test_v3_a_change_that_fails_leaves_everything_as_it_was(banks: Banks) -> None:
    told: list[Failed] = []
    store = Store(banks, "kim", told.append)

    def half(old: Database, new: Database) -> None:
        new.table("meta").insert({"key": "half", "value": "way"})
        raise StorageError("no")

    with pytest.raises(StorageError, match="no"):
        store.rebind("alex", half).result()
    with pytest.raises(ConfigError):
        store.rebind("?!", half).result()
    banks.path("bob").write_bytes(b"no database" * 500)
    with pytest.raises(StorageError, match="cannot be opened"):
        store.rebind("bob", half).result()
    assert store.bank == "kim"
    assert store.submit(lambda db: db.table("meta").count).result() == 0
    store.close()
    with closing(banks.read("alex")) as db:
        assert db.table("meta").count == 0
    assert told == []


def test_v3_a_change_that_the_disk_refuses_is_tried_again(
    banks: Banks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)
    told: list[Failed] = []
    store = Store(banks, "", told.append)
    refusals = iter([True, False])

    def carry(old: Database, new: Database) -> None:
        new.table("meta").insert({"key": "one", "value": "1"})
        if next(refusals):
            raise sqlite3.OperationalError("database or disk is full")

    store.rebind("alex", carry).result()
    assert [event.stage for event in told] == ["memory"]
    assert store.submit(lambda db: db.table("meta").count).result() == 1
    store.close()


def test_v3_the_bank_that_is_open_is_not_opened_again(banks: Banks) -> None:
    store = Store(banks, "alex")
    called: list[Any] = []
    store.rebind(" ALEX ", lambda old, new: called.append(1)).result()
    assert called == []
    store.close()


# What an earlier version left

BANKS_THEN = {"alex": "alex", "strasse": "strasse", "alex-example-com": "alex@example.com"}


def plain_memory(folder: Path, turns: int = 3, banks: Sequence[str] = (*BANKS_THEN,)) -> None:
    """assistant.db as version 0.2 wrote it: every bank in one readable file."""
    connection = sqlite3.connect(folder / "assistant.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    db = Database(connection)
    migrations.apply(db, stop_before="facts_summaries_changes")
    for bank in banks:
        for name in (f"{bank}-1", f"{bank}-2"):
            db.table("sessions").insert({"id": name, "bank": bank, "started": 1.0, "touched": 2.0})
            for number in range(1, turns + 1):
                said = {"session": name, "turn": number, "reply": "ok", "state_before": number}
                db.table("turns").insert({**said, "user_text": f"{SAID[1]} {name} {number}"})
                state = {"session": name, "version": number, "state": '{"task": "x"}'}
                db.table("states").insert(state)
            job = {"session": name, "turn": turns, "kind": "notes", "status": "queued"}
            db.table("jobs").insert(job)
    connection.close()


def plain_office(folder: Path) -> None:
    with closing(open_office(folder / "office.db")) as db:
        db.table("list_items").insert({"list": "shopping", "item": "walnuts"})


def content(banks: Banks) -> dict[str, Any]:
    """What is in all banks and in the office."""
    found: dict[str, Any] = {}
    for name in banks.names():
        with closing(banks.read(name)) as db:
            for table in ("sessions", "turns", "states", "jobs"):
                found[f"{name}.{table}"] = sorted(map(str, db.query(f"SELECT * FROM {table}")))
    with closing(open_office(banks.home / "office.db", banks.key)) as db:
        for table in db.table_names():
            found[table] = list(db.query(f"SELECT * FROM {table}"))
        found["version"] = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def test_m12_a_plain_memory_is_taken_over_and_removed(banks: Banks, tmp_path: Path) -> None:
    plain_memory(tmp_path)
    plain_office(tmp_path)
    with closing(open_office(tmp_path / "office.db")) as db:
        office = {table: list(db.query(f"SELECT * FROM {table}")) for table in db.table_names()}
    Store(banks, "Alex@Example.com").close()
    assert banks.names() == sorted(BANKS_THEN.values())
    found = content(banks)
    for bank in BANKS_THEN.values():
        assert len(found[f"{bank}.sessions"]) == 2
        assert all(f"'bank': '{bank}'" in row for row in found[f"{bank}.sessions"])
        assert len(found[f"{bank}.turns"]) == 6
        assert len(found[f"{bank}.states"]) == 6
        assert len(found[f"{bank}.jobs"]) == 2
    assert SAID[1] in found["alex.turns"][0]
    assert {table: found[table] for table in office} == office
    assert found["version"] == 1
    assert not list(tmp_path.glob("assistant.db*"))
    assert leaked(tmp_path, ("walnuts", SAID[1], "shopping")) == []


def test_m12_a_log_that_a_crash_left_is_taken_over_too(banks: Banks, tmp_path: Path) -> None:
    plain_memory(tmp_path)
    with closing(sqlite3.connect(tmp_path / "assistant.db")) as db:
        db.execute("UPDATE turns SET reply = 'only in the log'")
        db.commit()
        names = ("assistant.db", "assistant.db-wal", "assistant.db-shm")
        copies = {name: (tmp_path / name).read_bytes() for name in names}
    for name, data in copies.items():
        (tmp_path / name).write_bytes(data)
    banks.take_over()
    with closing(banks.read("alex")) as bank:
        assert {row["reply"] for row in bank.query("SELECT reply FROM turns")} == {
            "only in the log"
        }


class Stopped(Exception):
    """The test's crash."""


STEPS = ("COMMIT", "ATTACH", "DETACH", "SELECT sqlcipher_export", "PRAGMA journal_mode")
"""statements around which the files change"""


def count_down(steps: int, stop: Callable[[], None], patches: pytest.MonkeyPatch) -> None:
    """Call `stop` instead of the next step after so many: statements and changes of files."""
    left = iter(range(steps))

    def hook(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def step(*arguments: Any, **options: Any) -> Any:
            small = name == "execute" and not arguments[1].startswith(STEPS)
            if not small and next(left, None) is None:
                stop()
            return real(*arguments, **options)

        patches.setattr(owner, name, step)

    for owner, name in (
        (sealed.Connection, "execute"),
        (sealed.Connection, "executemany"),
        (Path, "unlink"),
        (Path, "replace"),
        (os, "fsync"),
    ):
        hook(owner, name)


def raised(folder: Path, steps: int) -> bool:
    """Take over; True when it came to its end before so many steps."""

    def stop() -> None:
        raise Stopped

    with pytest.MonkeyPatch.context() as patches:
        count_down(steps, stop, patches)
        try:
            Banks(folder, "file").take_over("Alex@Example.com")
        except Stopped:
            return False
        return True


def killed(folder: Path, steps: int) -> bool:
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as patches:
            count_down(steps, lambda: os._exit(9), patches)
            try:
                Banks(folder, "file").take_over("Alex@Example.com")
                os._exit(0)
            finally:
                os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 0


WAYS = [raised, *([killed] if hasattr(os, "fork") else [])]


@pytest.mark.parametrize("end", WAYS)
def test_m12_a_take_over_cut_off_anywhere_is_finished_by_the_next_start(
    tmp_path: Path, end: Callable[[Path, int], bool]
) -> None:
    first = tmp_path / "first"
    first.mkdir()
    plain_memory(first, 1, ["alex", "alex-example-com"])
    plain_office(first)

    def fresh(name: str) -> Path:
        return Path(shutil.copytree(first, tmp_path / name))

    whole = fresh("whole")
    Banks(whole, "file").take_over("Alex@Example.com")
    expected = content(Banks(whole, "file"))
    finished = False
    steps = 0
    while not finished:
        folder = fresh(str(steps))
        finished = end(folder, steps)
        Banks(folder, "file").take_over("Alex@Example.com")
        assert content(Banks(folder, "file")) == expected, f"cut off at step {steps}"
        assert not list(folder.glob("assistant.db*"))
        assert leaked(folder, ("walnuts", SAID[1], "shopping")) == []
        steps += 1
    assert steps > 30, "there was something to cut off"


def test_m12_a_bank_that_has_gone_on_is_not_set_back_by_an_old_file(
    banks: Banks, tmp_path: Path
) -> None:
    plain_memory(tmp_path)
    backup = (tmp_path / "assistant.db").read_bytes()
    banks.take_over()
    with closing(banks.connect("alex")) as db:
        db.execute("UPDATE sessions SET touched = 99")
        db.execute("DELETE FROM turns WHERE session = 'alex-1'")
    (tmp_path / "assistant.db").write_bytes(backup)
    banks.take_over()
    with closing(banks.read("alex")) as db:
        assert {row[0] for row in db.execute("SELECT touched FROM sessions")} == {99.0}
        assert db.execute("SELECT count(*) FROM turns WHERE session = 'alex-1'").fetchone() == (0,)
    assert not (tmp_path / "assistant.db").exists()


def test_m12_a_copy_that_is_not_whole_removes_nothing(
    banks: Banks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_memory(tmp_path)
    real = sealed.Connection.executemany

    def loses_rows(self: Any, sql: str, values: Iterator[Any]) -> Any:
        return real(self, sql, list(values)[:1])

    with monkeypatch.context() as broken:
        broken.setattr(sealed.Connection, "executemany", loses_rows)
        with pytest.raises(StorageError, match=r"not be copied whole.*nothing was removed"):
            Store(banks, "alex")
    assert (tmp_path / "assistant.db").exists()
    Store(banks, "alex").close()
    assert not (tmp_path / "assistant.db").exists()


def test_m12_a_plain_file_that_another_program_holds_is_said(
    banks: Banks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_memory(tmp_path)
    monkeypatch.setattr(sealed.connect, "__kwdefaults__", {"read_only": False, "busy": 0.01})
    script = f"""
import sqlite3
db = sqlite3.connect({str(tmp_path / "assistant.db")!r}, isolation_level=None)
db.execute("BEGIN IMMEDIATE")
input(print("held", flush=True) or "")
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"held"
        with pytest.raises(StorageError, match=r"nothing was lost.*end other programs"):
            Store(banks, "alex")
        other.communicate(b"\n")
    Store(banks, "alex").close()
    with closing(banks.read("alex")) as db:
        assert db.table("turns").count == 6


def test_several_stores_one_after_another(banks: Banks) -> None:
    for bank in ("alex", "", "kim", "alex"):
        store = Store(banks, bank)
        with pytest.raises(DataInUse):
            Store(Banks(banks.home, "file"), "anna")
        store.close()
    assert banks.names() == ["alex", "kim"]


# sqlite-utils, which knows sqlite3's errors only


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with ExitStack() as closers:
        db = sealed.connect(tmp_path / "odd name #1%?.db", b"k" * 32)
        closers.callback(db.close)
        db.table("facts").insert_all(
            [{"id": 1, "text": "tea"}, {"id": 2, "text": "walnuts"}], pk="id"
        )
        yield db


def test_the_settings_of_a_connection(db: Database, tmp_path: Path) -> None:
    wanted = {
        **{"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "secure_delete": 1},
        **{"temp_store": 2, "busy_timeout": 5000},
    }
    assert {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted} == wanted
    assert (tmp_path / "odd name #1%?.db").exists()


def test_sqlite_utils_adds_columns_returns_rows_and_transforms(db: Database) -> None:
    facts = db.table("facts")
    facts.insert({"id": 3, "text": "chess", "language": "en"}, alter=True)
    facts.update(1, {"said": 4.5}, alter=True)
    facts.upsert({"id": 2, "text": "nuts"}, pk="id")
    facts.insert({"id": 2, "text": "ignored"}, pk="id", ignore=True)
    assert list(db.query("INSERT INTO facts (id, text) VALUES (4, 'go') RETURNING id")) == [
        {"id": 4}
    ]
    assert not db.conn.in_transaction
    facts.transform(rename={"text": "words"}, drop={"said"})
    assert [row["words"] for row in facts.rows] == ["tea", "nuts", "chess", "go"]
    facts.create_index(["words"], find_unique_name=True)
    facts.create_index(["words"], find_unique_name=True)
    assert len(facts.indexes) == 2


def test_errors_are_of_both_drivers_and_undo_their_transaction(db: Database) -> None:
    for kind, sql in (
        (SqlIntegrityError, "INSERT INTO facts (id) VALUES (7), (7)"),
        (sqlite3.IntegrityError, "INSERT INTO facts (id) VALUES (7), (7)"),
        (SqlOperationalError, "SELECT * FROM nothing"),
        (sqlite3.OperationalError, "SELECT * FROM nothing"),
    ):
        with pytest.raises(kind), db.atomic():
            db.execute("DELETE FROM facts")
            db.execute(sql)
    assert db.table("facts").count == 2


def test_full_text_search_works_on_an_encrypted_file(db: Database) -> None:
    db.table("facts").enable_fts(["text"], create_triggers=True, tokenize="porter")
    db.table("facts").insert({"id": 3, "text": "she likes walking"})
    assert [row["id"] for row in db.table("facts").search("walk")] == [3]
