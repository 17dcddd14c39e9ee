"""What has expired goes, what is still needed stays."""

from __future__ import annotations

from pathlib import Path

from sqlite_utils import Database

from assistant.memory import db as tables
from assistant.memory.access import Direct
from assistant.memory.retention import DAY, Purged, checkpoint, compact, purge
from assistant.memory.rows import Row, Rows
from tests.keeping import NOW, empty_bank, ids, memory, newest, session, tell, where

TEA = memory("The user likes green tea.", "taste tea", "green tea")
LATER = NOW + 200 * DAY


def two_sessions() -> Database:
    db = empty_bank()
    session(db, "old", NOW)
    tell(db, "the secret garden", in_session="old", turn=1, at=NOW)
    session(db, "new", LATER)
    tell(db, "hello again", in_session="new", turn=1, at=LATER)
    return db


def test_m12_old_words_go_with_their_session_and_new_ones_stay() -> None:
    db = two_sessions()
    summed = {"session": "old", "at": NOW, "text": "A secret garden."}
    db.table("summaries").insert(summed)
    Rows(db).write(Row("summary:old", "A secret garden.", NOW))
    gone = purge(LATER + 1, 180, 0)(db)
    assert gone == Purged(turns=1, states=1, summaries=1, sessions=1, jobs=1)
    assert where(db, "garden", "old") == []
    assert [row["id"] for row in db.query("select id from sessions")] == ["new"]
    assert newest(db, "new").version == 1
    assert not purge(LATER + 1, 180, 0)(db), "nothing is left to do"


def test_m12_zero_days_keep_for_ever() -> None:
    db = two_sessions()
    gone = purge(LATER * 2, 0, 0)(db)
    assert not gone.turns and not gone.states and not gone.sessions and not gone.facts
    assert where(db, "garden")


def test_m12_what_is_younger_stays_to_the_second() -> None:
    db = two_sessions()
    assert not purge(NOW + 180 * DAY, 180, 0)(db).turns
    assert purge(NOW + 180 * DAY + 1, 180, 0)(db).turns == 1


def test_v4_a_turn_whose_note_is_still_to_be_taken_never_expires() -> None:
    db = two_sessions()
    db.execute("update jobs set status = 'queued' where session = 'old'")
    assert purge(LATER + 1, 180, 0)(db) == Purged()
    assert newest(db, "old").version == 1, "the note will be merged into this"


def test_m11_the_newest_state_of_the_newest_session_stays_however_old() -> None:
    db = empty_bank()
    session(db, "only", NOW)
    tell(db, "tea", TEA, in_session="only", turn=1, at=NOW)
    tell(db, "more tea", in_session="only", turn=2, at=NOW + 1)
    gone = purge(LATER * 2, 1, 0)(db)
    assert (gone.turns, gone.states, gone.sessions) == (2, 1, 0)
    assert newest(db, "only").preference["taste tea"].value == "green tea"


def test_m12_a_private_session_is_not_the_newest_one() -> None:
    db = empty_bank()
    session(db, "open", NOW)
    tell(db, "tea", TEA, in_session="open", at=NOW)
    db.table("sessions").insert(
        {"id": "shut", "bank": "alex", "started": NOW + 9, "touched": NOW + 9, "private": 1}
    )
    assert purge(LATER, 100, 0)(db).sessions == 1
    assert newest(db, "open").preference


def test_v16_facts_that_ended_long_ago_go_and_believed_ones_never() -> None:
    db = empty_bank()
    session(db)
    old, young, believed = ids(
        tell(db, "x", TEA, memory("The user lives in Rome.", "home", "Rome"),
             memory("The user is tall.", "size", "tall"))
    )  # fmt: skip
    db.execute("update facts set ended = ? where id = ?", [NOW, old])
    db.execute("update facts set ended = ? where id = ?", [NOW + 300 * DAY, young])
    for at in (NOW, NOW + 300 * DAY):
        db.table("changes").insert({"run": 1, "at": at, "op": "fade", "fact": "f", "before": "{}"})
    gone = purge(NOW + 366 * DAY, 0, 365)(db)
    assert (gone.facts, gone.changes, gone.turns) == (1, 1, 0)
    assert {row["id"] for row in db.query("select id from facts")} == {young, believed}
    assert db.execute(
        "select count(*) from search_texts where id = ?", [f"fact:{old}"]
    ).fetchone() == (0,)


def test_m12_records_of_notes_that_were_taken_go_after_a_month() -> None:
    db = empty_bank()
    session(db)
    tell(db, "tea")
    assert purge(NOW + 29 * DAY, 0, 0)(db).jobs == 0
    assert purge(NOW + 31 * DAY, 0, 0)(db).jobs == 1


def test_m12_neither_file_nor_log_holds_what_has_expired(tmp_path: Path) -> None:
    db = tables.connect(tmp_path / "bank.db")
    session(db, "old", NOW)
    tell(db, "the secret garden", in_session="old", at=NOW)
    session(db, "new", LATER)
    assert checkpoint(db) and b"garden" in (tmp_path / "bank.db").read_bytes()
    with db.atomic():
        purge(LATER, 180, 0)(db)
    assert compact(Direct(db)), "as the first statement of the writer's transaction"
    assert not any(b"garden" in one.read_bytes() for one in tmp_path.iterdir())
    db.close()


def test_m12_a_log_that_cannot_be_folded_in_now_is_said_so(tmp_path: Path) -> None:
    db = tables.connect(tmp_path / "bank.db")
    with db.atomic():
        session(db)
        assert not checkpoint(db), "a transaction that has written cannot"
    db.close()
