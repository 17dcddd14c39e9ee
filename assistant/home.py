"""Where things are kept: data folder, log, and the session taken up where it was left."""

from __future__ import annotations

import logging
import logging.handlers
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from platformdirs import user_data_path
from sqlite_utils import Database

from assistant.config import Config
from assistant.dialogues import Driver, open_driver
from assistant.errors import StorageError
from assistant.events import Failed
from assistant.memory.banks import Banks, bank_id
from assistant.memory.cache import MAX_PAST, Conversation
from assistant.memory.store import (
    Session,
    Store,
    begin_state,
    current_version,
    load_state,
    load_states,
    load_turns,
    open_session,
)
from assistant.mind.merge import carried
from assistant.mind.state import State

__all__ = ["NAME", "Home", "bank_id", "data_folder", "open_banks", "open_home"]

NAME = "keepsake"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Home:
    """An open data folder with the conversation in it."""

    store: Store
    conversation: Conversation
    driver: Driver | None
    """the flows and the office they work on; None when they are switched off"""


def open_home(
    config: Config, now: float, tell: Callable[[Failed], None], closers: ExitStack
) -> Home:
    """Claim the data folder and load the bank's session. Raises ConfigError, StorageError."""
    folder = data_folder(config)
    warnings: list[str] = []
    banks = open_banks(config, warnings.append)
    store = Store(banks, config.memory.bank, tell)
    closers.callback(store.close)
    driver = open_driver(config.flows, folder, banks.key) if config.flows.enabled else None
    _start_log(config, folder)
    for text in warnings:
        log.warning("%s", text)
    session = store.submit(_session_with_state(store.bank, now, config)).result()
    state = _restored(store, session.id, tell)
    recent = config.mind.recent_turns
    turns = store.submit(load_turns(session.id, recent)).result()
    past = [_readable(one) for one in store.submit(load_states(session.id, MAX_PAST)).result()]
    conversation = Conversation(
        session.id, state, turns, recent, config.mind, [one for one in past if one]
    )
    return Home(store, conversation, driver)


def _readable(data: dict[str, Any]) -> State | None:
    with suppress(ValueError):
        return State.from_dict(data)
    return None


def open_banks(config: Config, note: Callable[[str], None] = lambda text: None) -> Banks:
    """The banks of the data folder; a warning goes to stderr, and to `note`."""

    def warn(text: str) -> None:
        click.echo(text, err=True)
        note(text)

    return Banks(data_folder(config), config.memory.key, warn)


def data_folder(config: Config) -> Path:
    """Where database and logs live: the platform's user data folder unless set."""
    if config.data.dir:
        return Path(config.data.dir).expanduser()
    return user_data_path(NAME, appauthor=False)


def _start_log(config: Config, folder: Path) -> None:
    """Log to a bounded file in the data folder; what was said only with log.content."""
    try:
        handler = logging.handlers.RotatingFileHandler(
            folder / "assistant.log", maxBytes=1_000_000, backupCount=3, encoding="utf-8"
        )
    except OSError as error:
        raise StorageError(f"{folder}: the log cannot be written ({error}).") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("assistant")
    for old in root.handlers:
        old.close()
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(config.log.level.upper())


def _session_with_state(bank: str, now: float, config: Config) -> Callable[[Database], Session]:
    """The session to go on with; a new one begins, in one transaction, with what is known."""

    def work(db: Database) -> Session:
        session = open_session(bank, now, config.memory.session_hours)(db)
        if session.before is not None:
            try:
                known = State.from_dict(load_state(session.before)(db))
            except (ValueError, StorageError) as error:
                log.error("the last session's state: %s", error)
                return session
            begin_state(session.id, carried(known, config.mind).to_dict(), now)(db)
        return session

    return work


def _restored(store: Store, session: str, tell: Callable[[Failed], None]) -> State:
    """The stored state; one that cannot be read is told, and left for a person to see."""
    try:
        return State.from_dict(store.submit(load_state(session)).result())
    except (ValueError, StorageError) as error:
        tell(Failed("memory", StorageError(f"The stored state cannot be read ({error}).")))
        version = store.submit(lambda db: current_version(db, session)).result()
        return State(version=version)
