"""Taking notes a second later: the queued state updates, one by one, when nobody speaks.

Runs on its own thread and its own model context. A new utterance closes the gate: the note in
progress stops between two tokens, stays queued and is begun again later; meanwhile its turn
stands word for word in the prompt, so nothing is lost in between.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from sqlite_utils import Database

from assistant.config import MindConfig
from assistant.errors import AssistantError, StaleWrite
from assistant.events import Failed
from assistant.memory.bank import Bank
from assistant.memory.cache import Conversation
from assistant.memory.facts import Op
from assistant.memory.store import Job, Store, commit_state, end_job, load_job, load_state
from assistant.mind.block import Block
from assistant.mind.merge import Update, merge
from assistant.mind.notes import needs_model, note_messages, read_notes
from assistant.mind.prompt import reply_messages
from assistant.mind.state import State
from assistant.stages import Clock, LanguageModel
from assistant.workers import Activity, CancelToken, Closed, Gate, Inbox

log = logging.getLogger(__name__)

_CALLED = re.compile(r"(?:is called |用户叫)(?P<name>.+?)[.。]?$")
TRIES = 3
"""how often a stale write is begun again before it is given up"""


@dataclass(frozen=True, slots=True)
class Noted:
    """A turn's state update is committed (or given up)."""

    turn: int
    state: State
    retained: tuple[str, ...] = ()
    """what became of it in long-term memory: "add: The user likes tea." """


class Scribe:
    """Works off the queue of state updates and keeps the reply's prompt evaluated."""

    def __init__(
        self,
        conversation: Conversation,
        store: Store,
        notes: LanguageModel,
        replies: LanguageModel,
        limits: MindConfig,
        clock: Clock,
        tell: Callable[[Noted | Failed], None],
        bank: Bank | None = None,
    ) -> None:
        """`bank`: long-term memory; without one nothing outlives the state."""
        self._bank = bank
        self._conversation = conversation
        self._store = store
        self._notes = notes
        self._replies = replies
        self._limits = limits
        self._clock = clock
        self._tell = tell
        self._inbox: Inbox[int | None] = Inbox(256)
        self._warm = True
        self._ending = CancelToken()
        self.gate = Gate()
        self.activity = Activity()

    def enqueue(self, turn: int | None) -> None:
        """A turn to take notes of; None only evaluates the reply's prompt."""
        self.activity.begin()
        if not self._inbox.offer(turn):
            self.activity.end()  # it stays queued in the table and is taken up at the next start

    def warm(self) -> None:
        """Evaluate the worked examples of the notes prompt before the first note needs them."""
        self._warm = False
        self.enqueue(None)

    def run(self) -> None:
        """Blocks until `end`."""
        for turn in self._inbox:
            try:
                if not self._warm:
                    self._warm = True
                    self._notes.prepare(note_messages("", "en", ""), self._ending)
                if turn is not None and not self._ending.cancelled:
                    self._take(turn)
                if not len(self._inbox):
                    self._stage()
                    self._prepare()
                    self._catch_up()
            except Closed:
                return
            except Exception as error:
                self._tell(Failed("notes", error))
            finally:
                self.activity.end()

    def end(self) -> None:
        """Stop between two tokens; what is unfinished stays queued for the next start."""
        self._ending.cancel()
        self.gate.end()
        self._inbox.close()

    def _take(self, turn: int) -> None:
        conversation = self._conversation
        job = conversation.job(turn)
        if job is None:  # it waited longer than the turns that are kept at hand
            job = self._store.submit(load_job(conversation.session, turn)).result()
        if job is None:
            return
        try:
            raw = self._write_notes(job)
        except Closed:
            raise
        except Exception as error:
            now = self._clock.wall()
            self._store.submit(end_job(job.session, turn, "failed", now, str(error)))
            self._finish(turn, conversation.state)
            raise
        if turn not in conversation.queued() and conversation.recalls(turn):
            return  # "undo that": it was taken back meanwhile
        try:
            self._commit(job, raw)
        except Exception:  # it stays queued in the table and is taken up at the next start
            self._finish(turn, conversation.state)
            raise

    def _write_notes(self, job: Job) -> str:
        """The model's notes, begun again whenever someone speaks in between."""
        if not needs_model(job.user_text, job.language):
            return ""  # where the rules are sure, the model cannot change the notes
        messages = note_messages(job.user_text, job.language, job.last_reply)
        while True:
            cancel = self.gate.enter()
            pieces = self._notes.stream(messages, cancel, max_tokens=self._limits.notes_tokens)
            raw = "".join(pieces)
            if not cancel.cancelled:
                return raw

    def _commit(self, job: Job, raw: str) -> None:
        conversation = self._conversation
        for left in reversed(range(TRIES)):
            if not conversation.concerns(job):
                self._late(job, raw)
                return
            before = conversation.state
            update = self._dated(
                read_notes(raw, job.user_text, job.language, job.turn, before), job.at
            )
            after = merge(before, update, self._limits)
            write = self._write(job, before, update, after)
            ticket = conversation.swap(before, after, partial(self._store.submit, write), job)
            try:
                if ticket is not None:
                    self._finish(job.turn, after, self._kept(ticket.result()))
                    self._adopt(before, after)
                    return
            except StaleWrite:
                if not conversation.concerns(job):
                    continue
                stored = self._store.submit(load_state(job.session)).result()
                conversation.reread(State.from_dict(stored))
                if not left:
                    raise
        raise StaleWrite(f"The state changed {TRIES} times while turn {job.turn} was noted.")

    def _late(self, job: Job, raw: str) -> None:
        """Another conversation has begun meanwhile: what was told goes into memory alone.

        Nothing at all when its turn was forgotten, or when that conversation is not to be kept.
        """
        if job.session == self._conversation.session:  # forgotten
            self._finish(job.turn, self._conversation.state)
            return
        state = State()
        update = self._dated(read_notes(raw, job.user_text, job.language, job.turn, state), job.at)
        retain = self._bank.retain(job, state, update) if self._bank else None
        end = end_job(job.session, job.turn, "done", self._clock.wall())

        def work(db: Database) -> list[Op]:
            end(db)
            return retain(db) if retain is not None else []

        self._kept(self._store.submit(work).result())

    def _dated(self, update: Update, at: float) -> Update:
        """Every fact knows the day it was said on, for "tomorrow" to stay right."""
        day = datetime.fromtimestamp(at or self._clock.wall()).date().isoformat()
        facts = {key: replace(one, day=one.day or day) for key, one in update.facts.items()}
        lasting = {key: replace(one, day=one.day or day) for key, one in update.preference.items()}
        return replace(update, facts=facts, preference=lasting)

    def _write(
        self, job: Job, before: State, update: Update, after: State
    ) -> Callable[[Database], list[Op]]:
        """State, end of the job and memories in one transaction (C3: exactly once)."""
        now = self._clock.wall()
        commit = commit_state(job.session, job.turn, before.version, after.to_dict(), now)
        retain = self._bank.retain(job, before, update) if self._bank else None

        def work(db: Database) -> list[Op]:
            commit(db)
            return retain(db) if retain is not None else []

        return work

    def _kept(self, ops: list[Op]) -> tuple[str, ...]:
        if self._bank is not None:
            self._bank.follow(ops)
        return tuple(f"{op.kind}: {op.memory.text}" for op in ops)

    def _adopt(self, before: State, after: State) -> None:
        """A guest who says their name is no guest any more (V3)."""
        name, known = after.preference.get("name"), before.preference.get("name")
        bank = self._bank
        if bank is None or bank.name or bank.private or not name or name == known:
            return
        called = _CALLED.search(name.note)
        if called is None or called["name"][0].islower():  # "I am called a liar"
            return
        try:
            bank.adopt(called["name"])
        except AssistantError as error:  # no name for a bank: still a guest
            log.warning("a guest stays a guest: %s", error)

    def _catch_up(self) -> None:
        """Give what was written a meaning that can be searched for, unless there is more to do."""
        if self._bank is not None and not self._ending.cancelled and not len(self._inbox):
            self._bank.recaller.catch_up(self.gate.enter())

    def _finish(self, turn: int, state: State, retained: tuple[str, ...] = ()) -> None:
        self._conversation.noted(turn)
        self._tell(Noted(turn, state, retained))

    def _stage(self) -> None:
        """Look up what the next turn may need, unless somebody speaks (V2)."""
        if self._bank is not None and not self._ending.cancelled:
            self._bank.stage(self.gate.enter())

    def _prepare(self) -> None:
        """Evaluate everything of the next prompt but the words that are not yet said."""
        conversation = self._conversation
        block = self._bank.block("", "en") if self._bank is not None else Block()
        today = datetime.fromtimestamp(self._clock.wall()).date()
        messages = reply_messages(
            conversation.known,
            conversation.recent(),
            "",
            "en",
            block.profile,
            block.moment,
            notes=block.notes,
            today=today,
        )
        self._replies.prepare(messages, self._ending)
