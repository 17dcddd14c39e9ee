"""Taking notes a second later: the queued state updates, one by one, when nobody speaks.

Runs on its own thread and its own model context. A new utterance closes the gate: the note in
progress stops between two tokens, stays queued and is begun again later; meanwhile its turn
stands word for word in the prompt, so nothing is lost in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from assistant.config import MindConfig
from assistant.errors import StaleWrite
from assistant.events import Failed
from assistant.memory.cache import Conversation
from assistant.memory.store import Job, Store, commit_state, end_job, load_job, load_state
from assistant.mind.merge import merge
from assistant.mind.notes import needs_model, note_messages, read_notes
from assistant.mind.prompt import reply_messages
from assistant.mind.state import State
from assistant.stages import Clock, LanguageModel
from assistant.workers import Activity, CancelToken, Closed, Gate, Inbox

TRIES = 3
"""how often a stale write is begun again before it is given up"""


@dataclass(frozen=True, slots=True)
class Noted:
    """A turn's state update is committed (or given up)."""

    turn: int
    state: State


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
    ) -> None:
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
                    self._prepare()
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
            before = conversation.state
            update = read_notes(raw, job.user_text, job.language, job.turn, before)
            after = merge(before, update, self._limits)
            write = commit_state(
                job.session, job.turn, before.version, after.to_dict(), self._clock.wall()
            )
            ticket = conversation.swap(before, after, partial(self._store.submit, write))
            try:
                if ticket is not None:
                    ticket.result()
                    self._finish(job.turn, after)
                    return
            except StaleWrite:
                stored = self._store.submit(load_state(job.session)).result()
                conversation.reread(State.from_dict(stored))
                if not left:
                    raise
        raise StaleWrite(f"The state changed {TRIES} times while turn {job.turn} was noted.")

    def _finish(self, turn: int, state: State) -> None:
        self._conversation.noted(turn)
        self._tell(Noted(turn, state))

    def _prepare(self) -> None:
        """Evaluate everything of the next prompt but the words that are not yet said."""
        conversation = self._conversation
        messages = reply_messages(conversation.known, conversation.recent(), "", "en")
        self._replies.prepare(messages, self._ending)
