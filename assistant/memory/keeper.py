"""Tidying up while nobody speaks: summary of the conversation, consolidation, what has expired.

Waits for quiet on a thread of its own; the moment somebody speaks the work in progress becomes
old and stops between two steps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from assistant.config import MemoryConfig
from assistant.events import Failed
from assistant.memory.cache import Conversation
from assistant.memory.consolidate import consolidate
from assistant.memory.embed import Engines
from assistant.memory.retention import compact, purge
from assistant.memory.store import Store
from assistant.memory.summary import keep_summary
from assistant.mind.flows import Book
from assistant.stages import Cancel, Clock
from assistant.workers import Closed, Gate, Inbox

log = logging.getLogger(__name__)

DAY = 24 * 3600.0


class Keeper:
    """One round of tidying up for each time it has been quiet for long enough."""

    def __init__(
        self,
        store: Store,
        conversation: Conversation,
        engines: Engines,
        gate: Gate,
        config: MemoryConfig,
        clock: Clock,
        *,
        changed: Callable[[], None],
        tell: Callable[[Failed], None],
        book: Book | None = None,
    ) -> None:
        """`changed`: memories were merged or ended, the hot copy has to be read anew.

        `book`: the flows, to tell of tasks in full.
        """
        self._book = book
        self._store = store
        self._conversation = conversation
        self._engines = engines
        self._gate = gate
        self._config = config
        self._clock = clock
        self._changed = changed
        self._tell = tell
        self._pokes: Inbox[None] = Inbox(1)

    def spoken(self) -> None:
        """Somebody has spoken: the quiet begins anew."""
        self._pokes.offer(None)

    def end(self) -> None:
        self._pokes.close()

    def run(self) -> None:
        """Blocks until `end`."""
        waiting = self._config.idle_minutes * 60
        while True:
            try:
                self._pokes.get(waiting)
                waiting = self._config.idle_minutes * 60
            except TimeoutError:
                self._round()
                waiting = DAY  # nothing has been said since: only time passes
            except Closed:
                return

    def _round(self) -> None:
        try:
            self.tidy(self._gate.enter())
        except Closed:
            return
        except Exception as error:  # C4: it is tried again the next time
            self._tell(Failed("memory", error))

    def tidy(self, cancel: Cancel) -> None:
        """Everything once, as far as nobody speaks."""
        now, config = self._clock.wall(), self._config
        self._store.submit(keep_summary(self._conversation.session, now, self._book)).result()
        if not cancel.cancelled:
            report = consolidate(self._store, self._engines, now, cancel=cancel)
            if report.refused:
                log.warning("tidying up was refused: %s", report.refused)
            if report.merged or report.superseded or report.faded or report.insights:
                self._changed()
        if not cancel.cancelled:
            done = self._store.submit(purge(now, config.turns_days, config.ended_days)).result()
            if done:
                compact(self._store)
