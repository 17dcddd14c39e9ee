"""`run.py memory …`: see, change, keep and delete what is remembered."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from assistant.cli import main
from assistant.errors import ModelError
from assistant.memory.banks import Banks
from assistant.memory.retention import DAY
from tests.keeping import NOW, memory, session, tell

TEA = memory("The user likes green tea.", "taste tea", "green tea")
NUTS = replace(
    memory("Sister Anna is allergic to peanuts.", "allergy", "peanuts"), subject="sister anna"
)
PARIS = memory("The user lives in Paris.", "home", "Paris", single=True)
ROME = memory("The user lives in Rome.", "home", "Rome", single=True)
VISIT = memory("The user flies on 2027-03-01.", "flight", "fly", day="2027-03-01")

TODAY = datetime.fromtimestamp(NOW).date().isoformat()

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder in which Alex has told something."""
    banks = Banks(tmp_path / "data", "file")
    with closing(banks.connect("alex")) as db:
        session(db)
        tell(db, "I like green tea, Anna must not eat peanuts", TEA, NUTS, turn=1)
        tell(db, "I live in Paris", PARIS, turn=2)
        tell(db, "no, in Rome; I fly in March", ROME, VISIT, turn=3, at=NOW + 60)
        summed = {"session": "s1", "at": NOW, "language": "en", "text": "Tea and a move."}
        db.table("summaries").insert(summed)
    return tmp_path / "data"


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*args: str, bank: str = "Alex") -> tuple[int, str, str]:
        capsys.readouterr()
        settings = (f"--data={folder}", "--set=memory.key=file", f"--set=memory.bank={bank}")
        code = main([*settings, "memory", *args])
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        return code, shown.out, shown.err

    return command


@pytest.fixture
def bank(folder: Path) -> Iterator[Database]:
    """What stands in the file."""
    with closing(Banks(folder, "file").read("alex")) as db:
        yield db


def records(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def facts(run: Run) -> dict[str, str]:
    """Text → id of what is believed."""
    found = records(run("show", "--json")[1])
    return {one["text"]: one["id"] for one in found if one["event"] == "fact"}


def missing(name: str, kind: str) -> Path:
    raise ModelError(f"{name} is not here")


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda *args, **options: answer == "y")


# show


def test_c7_show_groups_what_is_known_by_whom_it_is_about(run: Run) -> None:
    code, out, _ = run("show")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "You" and lines[4] == "Sister anna"
    assert {line[10:].split("  (")[0] for line in lines[1:4]} == {TEA.text, ROME.text, VISIT.text}
    assert f"(said {TODAY}; until 2027-03-01)" in out
    assert "Tea and a move." in lines[-1] and f"{TODAY}, s1" in lines[-2]
    assert "Paris" not in out


def test_v16_show_all_tells_when_something_ceased_to_be_true(run: Run) -> None:
    out = run("show", "--all")[1]
    (line,) = (one for one in out.splitlines() if "Paris" in one)
    assert f"ended {TODAY}, superseded" in line


def test_c7_show_json_is_one_object_a_line(run: Run) -> None:
    found = records(run("show", "--json")[1])
    assert [one["event"] for one in found] == ["fact"] * 4 + ["summary"]
    assert found[0]["session"] == "s1" and found[-1]["topics"] == []


def test_c1_a_person_who_is_not_there_is_told_who_is(run: Run, folder: Path) -> None:
    for args in (["show"], ["stats", "--bank", "kim"], ["forget", "--all", "--yes"], ["purge"]):
        code, _, err = run(*args, bank="Kim")
        assert code == 2 and "no memory of kim" in err and "there are: alex." in err
    assert not Banks(folder, "file").exists("kim")


def test_c1_a_guest_has_no_memory_to_look_into(run: Run) -> None:
    code, _, err = run("show", bank="")
    assert code == 2 and "--bank NAME" in err


def test_k5_a_memory_of_an_earlier_version_is_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "assistant.db").write_bytes(b"SQLite format 3\0")
    code, _, err = run("show", f"--data={tmp_path / 'old'}")
    assert code == 2 and "earlier version" in err and "run.py chat" in err


def test_c7_reading_works_beside_a_running_assistant(run: Run, folder: Path) -> None:
    with Banks(folder, "file").claim():
        for args in (["show"], ["stats"], ["export", "-"]):
            assert run(*args)[0] == 0
        for args in (
            ["forget", "tea", "--yes"], ["forget", "--all", "--yes"], ["purge"],
            ["edit", "abcdef", "x"], ["consolidate"],
        ):  # fmt: skip
            code, _, err = run(*args)
            assert code == 2 and "already running" in err and len(err.splitlines()) == 1


# search


def test_v17_search_finds_by_words_where_there_are_no_weights(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.weights.find", missing)
    code, out, _ = run("search", "where does the user live", "--json")
    first = records(out)[0]
    assert code == 0 and first["text"] == ROME.text and first["kind"] == "fact"
    assert first["why"]["words"] == 1 and first["why"]["meaning"] is None and first["score"] > 0
    assert PARIS.text not in out
    assert len(records(run("search", "tea", "--most", "1", "--json")[1])) == 1
    assert "green tea" in run("search", "tea")[1]
    assert run("search", "zebra")[1] == "Nothing fits.\n"


def test_bad_searches_are_said_so(run: Run) -> None:
    assert run("search", "  ")[0] == 2
    assert run("search", "tea", "--most", "0")[0] == 2


# edit


def test_c7_edit_puts_other_words_in_place(run: Run) -> None:
    key = facts(run)[TEA.text]
    code, out, _ = run("edit", key[:8], "The user likes  black tea.")
    assert code == 0 and "Now: The user likes black tea." in out
    assert "The user likes black tea." in facts(run) and TEA.text not in facts(run)


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        ("zzzz", "x", "No fact has the id 'zzzz'"),
        ("", "x", "No fact has the id ''"),
        ("zzzz", " ", "cannot be empty"),
        ("zzzz", "my password is hunter2", "Secrets are not kept (password)"),
    ],
)
def test_bad_edits_are_said_so(run: Run, key: str, text: str, fault: str) -> None:
    code, _, err = run("edit", key, text)
    assert code == 2 and fault in err and len(err.splitlines()) == 1


# forget


def test_m12_forget_by_id_and_by_words(run: Run, bank: Database) -> None:
    code, out, _ = run("forget", facts(run)[TEA.text][:8], "--yes")
    assert code == 0 and TEA.text in out
    assert run("forget", "lives", "in", "rome", "--yes")[0] == 0
    assert set(facts(run)) == {NUTS.text, VISIT.text}
    kept = [row["text"] for row in bank.query("select text from facts")]
    assert not any("Paris" in text for text in kept), "what it superseded is gone too"


def test_m12_forget_says_what_in_json(run: Run) -> None:
    key = facts(run)[NUTS.text]
    (told,) = records(run("forget", "peanuts", "--yes", "--json")[1])
    assert told["event"] == "forgotten" and told["facts"] == [key] and ["s1", 1] in told["turns"]


def test_m12_words_that_fit_nothing_name_the_nearest_and_delete_nothing(run: Run) -> None:
    before = facts(run)
    code, _, err = run("forget", "green elephants", "--yes")
    assert code == 2 and "'green elephants'" in err and TEA.text in err
    code, _, err = run("forget", "elephants", "--yes")
    assert code == 2 and "No fact has the id 'elephants'" in err
    assert facts(run) == before


def test_m12_several_facts_that_begin_alike_are_not_guessed_between(run: Run, folder: Path) -> None:
    with closing(Banks(folder, "file").connect("alex")) as db:
        for number, text in enumerate((TEA.text, ROME.text)):
            db.execute("update facts set id = ? where text = ?", [f"abcd{number}00", text])
    code, _, err = run("forget", "abcd", "--yes")
    assert code == 2
    assert "2 facts begin with 'abcd'" in err or "abcd000, abcd100" in err


@pytest.mark.parametrize("args", [[], ["tea", "--session", "s1"], ["--all", "tea"], [" "]])
def test_bad_forgets_are_said_so(run: Run, args: list[str]) -> None:
    code, _, err = run("forget", *args, "--yes")
    assert code == 2 and len(err.splitlines()) == 1
    assert len(facts(run)) == 4


def test_m12_nothing_is_deleted_without_a_yes(
    run: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    for args in (["tea"], ["--session", "s1"], ["--all"]):
        code, _, err = run("forget", *args)
        assert code == 2 and "--yes" in err
    answering(monkeypatch, "n")
    assert run("forget", "tea")[0] == 0
    assert run("forget", "--all")[0] == 0
    assert len(facts(run)) == 4
    answering(monkeypatch, "y")
    assert run("forget", "tea")[0] == 0
    assert TEA.text not in facts(run)


def test_m12_forget_a_conversation(run: Run, bank: Database) -> None:
    assert run("forget", "--session", "s", "--yes")[0] == 0
    assert facts(run) == {}
    assert bank.execute("select private from sessions").fetchall() == [(1,)]
    code, _, err = run("forget", "--session", "zz", "--yes")
    assert code == 2 and "No conversation begins with 'zz'" in err


def test_c1_forget_me_deletes_the_file(run: Run, folder: Path) -> None:
    banks = Banks(folder, "file")
    banks.connect("kim").close()
    code, out, _ = run("forget", "--all", "--yes")
    assert code == 0 and "Nothing is remembered of alex" in out
    assert banks.names() == ["kim"]
    assert not list(folder.rglob("alex*"))


def test_m12_a_log_with_content_is_pointed_out(run: Run) -> None:
    assert "assistant.log" in run("forget", "tea", "--yes", "--set=log.content=true")[2]
    assert "assistant.log" not in run("forget", "rome", "--yes")[2]


# export and import


def test_m12_a_backup_goes_round(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "alex.jsonl"
    code, out, _ = run("export", str(file))
    assert code == 0 and "not encrypted" in out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 or os.name != "posix"
    assert run("import", str(file), "--bank", "new")[0] == 0
    again = run("export", "-", "--bank", "new")[1].splitlines()
    assert again[1:] == file.read_text("utf-8").splitlines()[1:]
    (told,) = records(run("import", str(file), "--json")[1])
    assert told["known"]["facts"] == 5 and not told["added"]["facts"]


def test_m12_a_backup_never_replaces_a_file_unasked(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("precious")
    code, _, err = run("export", str(file))
    assert code == 2 and "--force" in err and file.read_text() == "precious"
    assert run("export", str(file), "--force")[0] == 0 and "keepsake" in file.read_text()


def test_m12_a_backup_that_cannot_be_finished_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "out"
    target.mkdir()
    code, _, err = run("export", str(target / "no" / "such.jsonl"))
    assert code == 2 and "cannot be written (No such file or directory)" in err
    monkeypatch.setattr("os.fsync", full)
    code, _, err = run("export", str(target / "a.jsonl"))
    assert code == 2 and "cannot be written (No space left on device)" in err
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"\xff\xfe\x00", "is no text in UTF-8"),
        (b"", "the file is empty"),
        (b"{}\n", "line 1: is not the first line of a backup"),
    ],
)
def test_bad_imports_are_said_so_and_make_no_bank(
    run: Run, tmp_path: Path, folder: Path, content: bytes | None, fault: str
) -> None:
    file = tmp_path / "bad.jsonl"
    if content is not None:
        file.write_bytes(content)
    code, _, err = run("import", str(file), "--bank", "new")
    assert code == 2 and fault in err and len(err.splitlines()) == 1
    assert Banks(folder, "file").names() == ["alex"]


# a bank that refuses


def refusing(monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Database], None]) -> None:
    real = Banks.connect

    def connect(self: Banks, name: str) -> Database:
        db = real(self, name)
        prepare(db)
        return db

    monkeypatch.setattr(Banks, "connect", connect)


def test_m11_a_full_disk_changes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "other.jsonl"
    run("export", str(file))
    text = file.read_text("utf-8")
    file.write_text(text.replace('"s1"', '"s2"').replace("no, in Rome", "x" * 400_000))
    before = run("export", "-")[1].splitlines()[1:]

    def full(db: Database) -> None:
        pages = db.execute("pragma page_count").fetchone()[0]
        db.execute(f"pragma max_page_count = {pages + 2}")

    refusing(monkeypatch, full)
    code, _, err = run("import", str(file))
    assert code == 2 and "is full" in err and "nothing was changed" in err
    assert len(err.splitlines()) == 1
    assert run("export", "-")[1].splitlines()[1:] == before


def test_m11_an_interrupted_command_leaves_nothing_half_done(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "other.jsonl"
    run("export", str(file))
    file.write_text(file.read_text("utf-8").replace('"s1"', '"s2"'))
    before = run("export", "-")[1].splitlines()[1:]

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("assistant.memory.transfer._Loader.finish", interrupted)
    monkeypatch.setattr("assistant.memory.scrub.squeeze", interrupted)
    assert run("import", str(file))[0] == 130
    assert run("forget", "tea", "--yes")[0] == 130
    assert run("export", "-")[1].splitlines()[1:] == before


def test_m11_a_locked_database_is_said_so(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(db: Database) -> None:
        db.execute("pragma busy_timeout = 0")

    with closing(Banks(folder, "file").connect("alex")) as other:
        refusing(monkeypatch, impatient)
        other.execute("begin immediate")
        for args in (["forget", "tea", "--yes"], ["purge"]):
            code, _, err = run(*args)
            assert code == 2 and "locked" in err and len(err.splitlines()) == 1
        other.execute("rollback")
    assert len(facts(run)) == 4


# purge, stats, consolidate


def test_m12_purge_deletes_what_has_expired(
    run: Run, bank: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: NOW + 100 * DAY)
    assert "turns" not in run("purge", "--turns-days", "0", "--ended-days", "0")[1]
    (told,) = records(run("purge", "--turns-days", "50", "--ended-days", "50", "--json")[1])
    assert told["turns"] == 3 and told["facts"] == 1
    assert bank.execute("select count(*) from turns").fetchone() == (0,)
    assert len(facts(run)) == 4
    assert run("purge", "--turns-days", "-1")[0] == 2


def test_m12_stats_counts_every_bank(run: Run, folder: Path) -> None:
    banks = Banks(folder, "file")
    banks.connect("kim").close()
    alex, kim = records(run("stats", "--json")[1])
    assert (alex["bank"], alex["facts"], alex["ended"], alex["turns"]) == ("alex", 4, 1, 3)
    assert alex["sessions"] == 1 and alex["queued"] == 0 and alex["vectors"] == 0
    assert (alex["first"], alex["last"]) == (NOW, NOW + 60) and alex["origins"] == {"said": 5}
    assert alex["bytes"] >= banks.path("alex").stat().st_size
    assert alex["key"] == str(banks.folder / "key")
    assert kim["facts"] == 0 and kim["first"] is None
    assert len(records(run("stats", "--json", "--bank", "kim")[1])) == 1
    out = run("stats")[1]
    assert "alex" in out and TODAY in out and "The key is kept in" in out


def test_m12_stats_of_an_empty_folder(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("stats", f"--data={tmp_path / 'none'}")
    assert code == 0 and "Nobody is remembered yet." in out
    assert not (tmp_path / "none").exists(), "looking makes nothing"


def test_v12_consolidate_tidies_up_now(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.weights.find", missing)
    code, out, _ = run("consolidate", "--json")
    (told,) = records(out)
    assert code == 0 and told["event"] == "consolidated" and told["seen"] == 4


@pytest.mark.parametrize(
    "name",
    ["show", "search", "edit", "forget", "export", "import", "purge", "consolidate", "stats"],
)
def test_every_command_has_help(run: Run, name: str) -> None:
    code, out, _ = run(name, "--help")
    assert code == 0 and len(out.splitlines()) > 4
