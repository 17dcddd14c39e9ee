"""The office database: rooms, expenses, stock, assets, reminders, lists, on this machine.

Opening creates the tables and some sample data once. Nothing is ever deleted: a row's state
changes, so that it can be changed back. Knows nothing of words or conversations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from assistant import sealed
from assistant.errors import InputError, StorageError
from assistant.sealed import SqlError

BUSY_SECONDS = 1.0
"""how long a write waits for another one: longer than any takes, shorter than a person waits"""

REFUSED: tuple[type[Exception], ...] = (*SqlError, OSError)
CURRENCY = "CNY"
"""of an amount that was said without one"""

_TABLES: Mapping[str, str] = {
    "rooms": "code TEXT PRIMARY KEY, window INTEGER, projector INTEGER, seats INTEGER",
    "bookings": "id INTEGER PRIMARY KEY, room TEXT REFERENCES rooms(code), date TEXT, start TEXT,"
    " end TEXT, people INTEGER, projector INTEGER, made_at TEXT, state TEXT",
    "expenses": "id TEXT PRIMARY KEY, amount REAL, currency TEXT, type TEXT, reason TEXT,"
    " date TEXT, state TEXT",
    "items": "id TEXT PRIMARY KEY, name_en TEXT, name_zh TEXT, count INTEGER, unit_en TEXT,"
    " unit_zh TEXT, words_en TEXT, words_zh TEXT",
    "orders": "id TEXT PRIMARY KEY, item TEXT REFERENCES items(id), quantity INTEGER, state TEXT,"
    " made_at TEXT",
    "assets": "id TEXT PRIMARY KEY, name_en TEXT, name_zh TEXT, price REAL, currency TEXT,"
    " bought TEXT, years INTEGER, book_value REAL, state TEXT",
    "reminders": "id INTEGER PRIMARY KEY, what TEXT, date TEXT, time TEXT, state TEXT",
    "list_items": "id INTEGER PRIMARY KEY, list TEXT, item TEXT, state TEXT",
}
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS bookings_by_day ON bookings (date, state)",
    "CREATE INDEX IF NOT EXISTS reminders_by_day ON reminders (state, date)",
)
_ROOMS = (
    ("A302", 1, 1, 8),
    ("A305", 1, 0, 4),
    ("B105", 0, 1, 12),
    ("B210", 1, 1, 20),
    ("C001", 0, 0, 6),
)
_PIECES = ""
"""are counted by themselves: "300 pens" """
_ITEMS = (
    ("printer-paper", "printer paper", "打印纸", 120, "pack|packs", "包", "paper", "复印纸|A4纸"),
    ("toner", "toner", "硒鼓", 14, "cartridge|cartridges", "个", "toners", "墨粉|碳粉"),
    ("pens", "pens", "签字笔", 300, _PIECES, "支", "pen|ballpoint pens", "圆珠笔|水笔"),
    ("notebooks", "notebooks", "笔记本", 85, _PIECES, "本", "notebook|notepads", "本子|记事本"),
    ("monitors", "monitors", "显示器", 9, _PIECES, "台", "monitor|screens|displays", "屏幕"),
    ("keyboards", "keyboards", "键盘", 25, _PIECES, "个", "keyboard", ""),
    ("desk-lamps", "desk lamps", "台灯", 16, _PIECES, "盏", "desk lamp|lamps", ""),
    ("office-chairs", "office chairs", "办公椅", 30, _PIECES, "把", "office chair|chairs", "椅子"),
)
_ASSETS = (
    ("AP-1001", "delivery van", "送货车", 180000.0, "CNY", "2024-03-01", 6, 180000.0),
    ("AP-1002", "laser cutter", "激光切割机", 96000.0, "CNY", "2023-06-15", 8, 84000.0),
    ("AP-1003", "coffee machine", "咖啡机", 7200.0, "CNY", "2025-01-10", 4, 5400.0),
    ("AP-1004", "file server", "文件服务器", 45000.0, "CNY", "2024-09-01", 5, 36000.0),
)
_EXPENSES = (
    ("E-1001", 320.0, "CNY", "taxi", "airport transfer", "2026-01-12", "paid"),
    ("E-1002", 1450.0, "CNY", "hotel", "trade fair", "2026-02-03", "submitted"),
)
_ORDERS = (("O-1001", "toner", 6, "delivered", "2026-01-20T09:00:00"),)


def connect(path: Path, key: bytes | None = None) -> Database:
    """A connection of one's own to a database that `open_office` has prepared.

    Raises StorageError.
    """
    return sealed.connect(path, key, busy=BUSY_SECONDS)


def open_office(path: Path, key: bytes | None = None) -> Database:
    """Open the database, encrypted when there is a key; tables and sample data are made once.

    Raises StorageError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = connect(path, key)
        try:
            _prepare(db)
        except BaseException:
            db.conn.close()
            raise
    except REFUSED as error:
        raise StorageError(
            f"{path}: the office database cannot be opened ({error}); free some space if the disk "
            "is full, else restore it from a copy, or move it away to start anew."
        ) from None
    return db


def _prepare(db: Database) -> None:
    """All in one transaction: a crash half-way leaves nothing, or what was there before."""
    if db.conn.execute("PRAGMA user_version").fetchone()[0] >= 1:
        return
    db.conn.execute("BEGIN IMMEDIATE")
    try:
        if db.conn.execute("PRAGMA user_version").fetchone()[0] < 1:
            for name, columns in _TABLES.items():
                db.conn.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
            for index in _INDEXES:
                db.conn.execute(index)
            _samples(db)
            db.conn.execute("PRAGMA user_version = 1")
        db.conn.execute("COMMIT")
    except BaseException:
        db.conn.rollback()
        raise


def _samples(db: Database) -> None:
    rows: tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...] = (
        ("rooms", _ROOMS),
        ("items", _ITEMS),
        ("assets", tuple((*row, "active") for row in _ASSETS)),
        ("expenses", _EXPENSES),
        ("orders", _ORDERS),
    )
    for table, values in rows:
        marks = ", ".join("?" * len(values[0]))
        db.conn.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)


@contextmanager
def writing(db: Database) -> Iterator[None]:
    """One short transaction that nobody else can write into. Raises StorageError."""
    try:
        db.conn.execute("BEGIN IMMEDIATE")
    except SqlError as error:
        raise _refused(error) from None
    try:
        yield
        db.conn.execute("COMMIT")
    except SqlError as error:
        db.conn.rollback()
        raise _refused(error) from None
    except BaseException:
        db.conn.rollback()
        raise


def _refused(error: Exception) -> StorageError:
    return StorageError(f"The office database refuses to write ({error}); nothing was changed.")


def rows(db: Database, sql: str, *values: Any) -> list[dict[str, Any]]:
    """The rows of a query. Raises StorageError."""
    try:
        return list(db.query(sql, values))
    except SqlError as error:
        raise StorageError(f"The office database cannot be read ({error}).") from None


def run(db: Database, sql: str, *values: Any) -> int:
    """Carry out a statement; the id of the row it made, or how many it changed."""
    cursor = db.conn.execute(sql, values)
    return int(cursor.lastrowid or 0) if sql.startswith("INSERT") else int(cursor.rowcount)


def next_code(db: Database, table: str, letter: str) -> str:
    """ "E-1003" after "E-1002". Call it within the transaction that uses it."""
    skip = len(letter) + 2
    found = rows(db, f"SELECT MAX(CAST(SUBSTR(id, {skip}) AS INTEGER)) AS top FROM {table}")
    return f"{letter}-{max(found[0]['top'] or 0, 1000) + 1}"


def whole(slots: Mapping[str, str], name: str) -> int | None:
    """A slot that must be a whole number; None when it is not there. Raises InputError."""
    text = slots.get(name, "").split(" ")[0]
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, not {text!r}.") from None
    if not number.is_integer():
        raise InputError(f"{name} must be a whole number, not {text!r}.")
    return int(number)


def money(slots: Mapping[str, str], name: str) -> tuple[float, str]:
    """Amount and currency of "500 CNY". Raises InputError."""
    number, _, currency = slots.get(name, "").partition(" ")
    try:
        amount = round(float(number), 2)
    except ValueError:
        amount = math.nan
    if not math.isfinite(amount):
        raise InputError(f"{name} must be an amount of money, not {slots.get(name, '')!r}.")
    return amount, currency.strip() or CURRENCY


def day(text: str) -> date:
    """Raises InputError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"That is no date: {text!r}.") from None


def clean(text: str) -> str:
    """What was said, fit for one place in a sentence; "|" parts the items of a list there."""
    return " ".join(text.replace("|", "/").split())


def plainly(number: float) -> str:
    """ "12", "3.5": no more decimals than needed."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
