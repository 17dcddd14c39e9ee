"""A bank as lines of JSON and back: backups, moving to another machine, adopting a guest.

The first line says what it is, every other holds one row. No vectors: they are made anew. A file is
checked as a whole before anything of it is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlite_utils import Database

from assistant.errors import InputError
from assistant.memory.checked import JSON, OWN, TABLES, columns, row_fault
from assistant.memory.facts import Op, memory_of, norm, remember, search_row
from assistant.memory.rows import Row, Rows
from assistant.redact import redact

FORMAT = "keepsake-memory"
VERSION = 1

_SECRET = {
    "turns": ("user_text", "raw", "decisions"),
    "states": ("state",),
    "summaries": ("text", "topics", "resolved", "facts", "follow_ups"),
    "facts": ("text", "value"),
}
"""columns out of which secrets are taken, whoever wrote the file (M12)"""
_WHERE = {"jobs": "where status = 'queued'"}
SUMMARY_IMPORTANCE = 0.6
"""as memory/summary.py gives it"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One checked row of a file."""

    table: str
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows by table."""

    added: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    """were there already"""


def export(db: Database, bank: str, now: float) -> Iterator[dict[str, Any]]:
    """The bank as JSON objects, one a line, from one moment even while others write."""
    own = not db.conn.in_transaction
    if own:
        db.conn.execute("begin")
    try:
        counts = {
            table: db.execute(f"select count(*) from {table} {_WHERE.get(table, '')}").fetchone()[0]
            for table in TABLES
        }
        yield {"format": FORMAT, "version": VERSION, "bank": bank, "at": now, "rows": counts}
        for table in TABLES:
            keys = ", ".join(db.table(table).pks)
            where = _WHERE.get(table, "")
            for row in db.query(f"select * from {table} {where} order by {keys}"):
                yield {"table": table, "row": _told(table, row)}
    finally:
        if own:
            db.conn.execute("rollback")


def check(lines: Iterable[str], name: str) -> list[Entry]:
    """Read what `export` wrote. `name`: of the file, for the message.

    Raises InputError with the number of the first line that is wrong.
    """
    reader = _Reader()
    number = 0
    for number, line in enumerate(lines, 1):
        if fault := reader.take(line):
            raise InputError(f"{name}, line {number}: {fault}.")
    if fault := reader.missing():
        raise InputError(f"{name}, line {number}: {fault}.")
    return reader.entries


def load(entries: Iterable[Entry], bank: str) -> Callable[[Database], Counts]:
    """Put checked rows into a bank, in one transaction. What is there already stays as it is.

    Nothing goes into a conversation that this bank is not to remember.
    """

    def work(db: Database) -> Counts:
        writer = _Loader(db, bank)
        for entry in entries:
            writer.put(entry.table, entry.row)
        writer.finish()
        return Counts(writer.added, writer.known)

    return work


def carry(guest: Database, bank: str, now: float) -> Callable[[Database], Counts]:
    """What a guest told, into the bank of the person: adopting. Twice does no more than once.

    Conversations keep their ids; what is believed is told anew to the bank, so that nothing is
    doubled and the newer ends the older. `guest` is only read.
    """

    def work(db: Database) -> Counts:
        writer = _Loader(db, bank)
        for table in TABLES:
            rows = list(guest.query(f"select * from {table}"))
            for row in rows if table != "facts" else ():
                writer.put(table, {key: row[key] for key in columns(table)})
        facts = list(guest.query("select * from facts order by said"))
        believed = [memory_of(row) for row in facts if row["ended"] is None]
        for one, op in zip(believed, remember(believed, now)(db), strict=True):
            writer.told(one.id, op)
        known = {norm for (norm,) in db.execute("select norm from facts").fetchall()}
        for row in facts:
            if row["ended"] is not None and row["norm"] not in known:
                writer.put("facts", row)
        writer.finish()
        return Counts(writer.added, writer.known)

    return work


class _Reader:
    """Line by line: header, then rows."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._promised: dict[str, int] | None = None
        self._sessions: set[str] = set()

    def take(self, line: str) -> str:
        """What is wrong with the line, "" when nothing is."""
        if not line.strip():
            return ""
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            return "is no JSON object; the file is damaged or was cut off"
        if not isinstance(data, dict):
            return "is no JSON object"
        return self._header(data) if self._promised is None else self._row(data)

    def missing(self) -> str:
        """What the header promised and did not come."""
        if self._promised is None:
            return "the file is empty; it is no backup of a memory"
        found = dict.fromkeys(TABLES, 0)
        for entry in self.entries:
            found[entry.table] += 1
        short = [t for t in TABLES if found[t] != self._promised.get(t, 0)]
        return f"rows of {', '.join(short)} are missing; the file was cut off" if short else ""

    def _header(self, data: dict[str, Any]) -> str:
        if data.get("format") != FORMAT:
            return 'is not the first line of a backup ("format": "keepsake-memory")'
        if data.get("version") != VERSION:
            return f"is of version {data.get('version')!r}; this program reads version {VERSION}"
        rows = data.get("rows")
        if not isinstance(rows, dict) or not all(isinstance(n, int) for n in rows.values()):
            return '"rows" does not say how many rows follow'
        self._promised = rows
        return ""

    def _row(self, data: dict[str, Any]) -> str:
        table, row = data.get("table"), data.get("row")
        if table not in TABLES or not isinstance(row, dict):
            return f"is no row of {', '.join(TABLES)}"
        row = {key: _flat(table, key, value) for key, value in row.items()}
        if fault := row_fault(table, row) or self._context_fault(table, row):
            return f"{table}: {fault}"
        self.entries.append(Entry(table, row))
        return ""

    def _context_fault(self, table: str, row: Mapping[str, Any]) -> str:
        if table == "sessions":
            self._sessions.add(row["id"])
        elif table in ("turns", "jobs", "states") and row["session"] not in self._sessions:
            return f"session {row['session']!r} does not stand before it"
        return ""


class _Loader:
    """Writes rows that are not there yet, and what makes them findable."""

    def __init__(self, db: Database, bank: str) -> None:
        self._db = db
        self._bank = bank
        self._rows = Rows(db)
        self._same: dict[str, str] = {}
        """id of a fact that is there under another → that one"""
        self._facts: list[str] = []
        self.added = dict.fromkeys(TABLES, 0)
        self.known = dict.fromkeys(TABLES, 0)
        self._private = {
            one for (one,) in db.execute("select id from sessions where private").fetchall()
        }

    def put(self, table: str, row: Mapping[str, Any]) -> None:
        values = {**row, **({"bank": self._bank} if table == "sessions" else {})}
        for name in set(_SECRET.get(table, ())) & values.keys():
            values[name] = _without_secrets(values[name])
        if table == "facts" and values.get("text") != row.get("text"):
            values["value"] = ""  # alone it may not look like the secret that it is
        if table == "facts":  # equal for equal meaning by today's rules, whoever wrote the file
            values["norm"] = norm(memory_of(values))
        session = values.get("session")
        new = session not in self._private and not (table == "facts" and self._there(values))
        if new:
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            new = (
                self._db.execute(
                    f"insert or ignore into {table} ({names}) values ({marks})",
                    list(values.values()),
                ).rowcount
                > 0
            )
        (self.added if new else self.known)[table] += 1
        if new and table == "facts":
            self._facts.append(values["id"])
            self._rows.write(search_row(memory_of(values)))
            self._rows.hide([f"fact:{values['id']}"], values.get("ended") is not None)
        elif new and table == "summaries":
            text, at, language = values["text"], values["at"], values.get("language") or ""
            self._rows.write(
                Row(f"summary:{session}", text, at, language, importance=SUMMARY_IMPORTANCE)
            )

    def told(self, key: str, op: Op) -> None:
        """A fact was told to the bank, which may know it under another id."""
        (self.known if op.kind == "nothing" else self.added)["facts"] += 1
        if op.memory.id != key:
            self._same[key] = op.memory.id

    def finish(self) -> None:
        """References to facts that are there under another id follow them."""
        for key in self._facts if self._same else ():
            row = self._db.execute(
                "select superseded_by, sources from facts where id = ?", [key]
            ).fetchone()
            by, sources = row[0], json.loads(row[1] or "[]")
            self._db.execute(
                "update facts set superseded_by = ?, sources = ? where id = ?",
                [
                    self._same.get(by, by),
                    json.dumps([self._same.get(one, one) for one in sources], ensure_ascii=False),
                    key,
                ],
            )

    def _there(self, fact: Mapping[str, Any]) -> bool:
        """The same is believed already, under whatever id."""
        if fact.get("ended") is not None:
            return False
        same = "select id from facts where norm = ? and ended is null"
        found = self._db.execute(same, [fact["norm"]]).fetchone()
        if found and found[0] != fact["id"]:
            self._same[fact["id"]] = found[0]
        return found is not None


def _told(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for the file: without what is empty, JSON as JSON."""
    return {
        key: _opened(value) if key in JSON.get(table, ()) else value
        for key, value in row.items()
        if value is not None and key not in OWN.get(table, ())
    }


def _opened(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


def _flat(table: str, key: str, value: Any) -> Any:
    if key in JSON.get(table, ()) and isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value


def _without_secrets(text: str | None) -> str | None:
    if not text:
        return text
    value = _opened(text)
    if isinstance(value, str):
        return redact(text).text
    clean = _clean(value)
    return text if clean == value else json.dumps(clean, ensure_ascii=False)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, dict):
        return {key: _clean(one) for key, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value
