"""The tables, as named migrations: a change and the record of it commit together."""

from __future__ import annotations

from pathlib import Path

from sqlite_utils import Database, Migrations

from assistant import sealed
from assistant.errors import StorageError
from assistant.sealed import SqlError

migrations = Migrations("assistant")


@migrations()
def sessions_turns_states_jobs(db: Database) -> None:
    """The first level of memory: what was said, what was understood, what is still to do."""
    db.table("sessions").create(
        {"id": str, "bank": str, "started": float, "touched": float, "ended": float},
        pk="id",
        not_null={"bank", "started", "touched"},
    )
    db.table("turns").create(
        {
            "session": str,
            "turn": int,
            "at": float,
            "user_text": str,
            "language": str,
            "raw": str,
            "reply": str,
            "heard": str,
            "interrupted": int,
            "latency_ms": str,
            "state_before": int,
            "state_after": int,
        },
        pk=("session", "turn"),
        not_null={"user_text", "reply", "state_before"},
        foreign_keys=[("session", "sessions", "id")],
    )
    db.table("states").create(
        {"session": str, "version": int, "at": float, "turn": int, "state": str},
        pk=("session", "version"),
        not_null={"state"},
        foreign_keys=[("session", "sessions", "id")],
    )
    db.table("jobs").create(
        {
            "session": str,
            "turn": int,
            "kind": str,
            "status": str,
            "attempts": int,
            "error": str,
            "changed": float,
        },
        pk=("session", "turn", "kind"),
        not_null={"status"},
        defaults={"attempts": 0},
    )
    db.table("jobs").create_index(["status", "session", "turn"])


@migrations()
def decisions_of_a_turn(db: Database) -> None:
    """Why a turn was handled as it was (D12)."""
    db.table("turns").add_column("decisions", str)


@migrations()
def facts_summaries_changes(db: Database) -> None:
    """Long-term memory: facts with validity in time, session summaries, what tidying up changed."""
    db.table("facts").create(
        {
            "id": str,
            "text": str,
            "subject": str,
            "key": str,
            "value": str,
            "language": str,
            "lasting": int,
            "single": int,
            "day": str,
            "importance": float,
            "origin": str,
            "speaker": str,
            "session": str,
            "turn": int,
            "norm": str,
            "learned": float,
            "said": float,
            "ended": float,
            "why_ended": str,
            "superseded_by": str,
            "strength": float,
            "uses": int,
            "used": float,
            "pinned": int,
            "sources": str,
            "version": int,
        },
        pk="id",
        not_null={"text", "subject", "key", "norm", "learned", "version"},
    )
    # Whoever writes at the same time: no fact is there twice.
    db.execute("create unique index facts_active on facts (norm) where ended is null")
    db.table("facts").create_index(["subject", "key"])
    db.table("facts").create_index(["session", "turn"])
    db.execute("create index facts_key on facts (key) where ended is null")
    db.table("summaries").create(
        {
            "session": str,
            "at": float,
            "language": str,
            "text": str,
            "topics": str,
            "resolved": str,
            "facts": str,
            "follow_ups": str,
        },
        pk="session",
        not_null={"at", "text"},
    )
    db.table("changes").create(
        {"number": int, "run": int, "at": float, "op": str, "fact": str, "before": str},
        pk="number",
    )
    db.table("meta").create({"key": str, "value": str}, pk="key")
    db.table("sessions").add_column("private", int)


def connect(path_or_uri: Path | str, key: bytes | None = None) -> Database:
    """Open for writing, the tables brought up to date; without a key it is plain.

    Raises StorageError.
    """
    db = sealed.connect(path_or_uri, key)
    try:
        migrations.apply(db)
    except SqlError as error:
        db.close()
        raise StorageError(
            f"{path_or_uri}: the database cannot be brought up to date ({error}); free some space "
            "if the disk is full, else restore it from a copy, or use --data DIR."
        ) from None
    return db
