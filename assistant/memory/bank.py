"""What is remembered of the person who speaks: ready to be read, written in the background.

The turn path only reads what is in the process (V1). Everything that is written is handed to the
one writer; everything that is looked up is looked up between turns, by the scribe's thread.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial

from sqlite_utils import Database

from assistant.config import Config
from assistant.memory.bank_work import forget_turn, is_gone, keep_episode, most_important
from assistant.memory.banks import bank_id
from assistant.memory.cache import Conversation
from assistant.memory.facts import Op, remember, touch
from assistant.memory.forget import forget_all, forget_session, take_back
from assistant.memory.recall import Recaller
from assistant.memory.shelf import MOST, Shelf
from assistant.memory.store import Job, Store, begin_session, keep_state
from assistant.memory.summary import keep_summary, last_summary
from assistant.memory.topics import strong, topics
from assistant.memory.transfer import carry
from assistant.mind.block import SUMMARY, Block, Line
from assistant.mind.days import relative
from assistant.mind.memories import Memory
from assistant.mind.merge import Update, carried, lasting_note, merge
from assistant.mind.notes import stated
from assistant.mind.remember import memories_of
from assistant.mind.state import State
from assistant.mind.summing import Said, Summary, rolled
from assistant.stages import Cancel, Clock
from assistant.workers import Ticket

LAST_TURNS = 2
"""user turns that tell what the conversation is about"""
PRELOADED = 1000
"""memories that are at hand before the first word; the rest follows while nobody waits"""
FLOW = "memory"
"""the flow by which things are forgotten"""
SAID = 256
"""most that are told to "what do you know about me" """


class Bank:
    """Long-term memory around one conversation."""

    def __init__(
        self,
        store: Store,
        conversation: Conversation,
        shelf: Shelf,
        recaller: Recaller,
        config: Config,
        clock: Clock,
    ) -> None:
        self.store = store
        self.shelf = shelf
        self.recaller = recaller
        self._conversation = conversation
        self._config = config
        self._clock = clock
        self._private = False
        self._origin = conversation.state
        """what a conversation that is not to be remembered goes back to"""
        self._touched = clock.wall()
        self.spoken: Callable[[], None] = lambda: None
        """called when a turn begins"""

    @property
    def private(self) -> bool:
        """Nothing of this conversation is kept."""
        return self._private

    @property
    def name(self) -> str:
        """Whose it is; "" for a guest."""
        return self.store.bank

    def load(self) -> None:
        """What has to be at hand before the first word: memories, the last summary (V3)."""
        self.shelf.put(self.store.submit(most_important(PRELOADED)).result())
        if not len(self.shelf):
            self._learn_from_state()
        last = self.store.submit(last_summary(self._conversation.session)).result()
        if last is not None:
            self.recaller.opening = (Line(f"{SUMMARY}{last.session}", last.summary.text),)

    def _learn_from_state(self) -> None:
        """Versions before 0.3 knew a person only by the state of their conversation."""
        state, now = self._conversation.state, self._clock.wall()
        known = Update(preference=state.preference)
        said = " ".join(fact.note for fact in state.preference.values())
        found = memories_of(known, State(), said, "en", self.today(), session="", turn=0)
        if found and self._config.memory.retain:
            ready = [replace(one, said=now) for one in found]
            self.follow(self.store.submit(remember(ready, now)).result())

    def load_rest(self) -> None:
        """The memories beyond those; for a background thread."""
        start = PRELOADED
        while page := self.store.submit(most_important(PRELOADED, start)).result():
            self.shelf.put(page)
            start += PRELOADED
            if start >= MOST:
                return

    # On the turn path

    def turn_begins(self) -> None:
        """A conversation that was left for long is over: what is said now begins a new one."""
        now = self._clock.wall()
        old = now - self._touched > self._config.memory.session_hours * 3600
        self._touched = now
        self.spoken()
        if old and not self._conversation.queued():
            self.begin_session()

    def block(self, text: str, language: str, *, used: bool = True) -> Block:
        """The memories for the prompt of these words; for none yet, what can be prepared.

        `used`: they count as used, which keeps them from being forgotten.
        """
        if not self._config.memory.recall:
            return Block()
        conversation = self._conversation
        block = self.recaller.for_turn(
            conversation.session,
            conversation.next_turn,
            text,
            language,
            conversation.known,
            self.today(),
        )
        if used and text and block.used and not self._private:
            self.store.submit(touch(block.used, self._clock.wall()))
        return block

    def begin_session(self) -> None:
        """Leave this conversation and begin another with what is known."""
        new, now = uuid.uuid4().hex[:12], self._clock.wall()
        old = None if self._private else self._conversation.session
        base = self._origin if self._private else None
        self._private = False

        def submit(before: State, after: State) -> None:
            if old is not None:
                self.store.submit(keep_summary(old, now)).add_done_callback(self._opens)
            self.store.submit(begin_session(new, self.name, after.to_dict(), now, old))

        self._origin = self._conversation.begin(
            new, lambda before: carried(base or before, self._config.mind), submit
        )
        self.recaller.forget_staged()

    def _opens(self, ticket: Ticket[Summary | None]) -> None:
        """The summary of the conversation before opens this one (V6)."""
        summary = None if ticket.exception() else ticket.result()
        self.recaller.opening = (Line(SUMMARY, summary.text),) if summary else ()

    def today(self) -> date:
        """The day it is."""
        return datetime.fromtimestamp(self._clock.wall()).date()

    # In the background

    def retain(
        self, job: Job, before: State, update: Update
    ) -> Callable[[Database], list[Op]] | None:
        """What a noted turn leaves in memory, as work for the transaction of its state."""
        here = job.session == self._conversation.session
        if (here and self._private) or not self._config.memory.retain:
            return None
        at = job.at or self._clock.wall()
        found = memories_of(
            update,
            before,
            job.user_text,
            job.language,
            datetime.fromtimestamp(at).date(),
            session=job.session,
            turn=job.turn,
            last_reply=job.last_reply,
        )
        if not found:
            return partial(keep_episode, job, at) if _of_oneself(job.user_text) else None
        put = remember([replace(one, said=at) for one in found], self._clock.wall())
        return lambda db: [] if is_gone(db, job.session) else put(db)

    def follow(self, ops: Sequence[Op]) -> None:
        """The hot copy follows what was written."""
        self.shelf.drop([op.before.id for op in ops if op.kind == "supersede" and op.before])
        told = [op.memory for op in ops]
        conversation = self._conversation
        gone = {
            one.id
            for one in told
            if one.session == conversation.session and conversation.is_forgotten(one.turn)
        }
        self.shelf.put([one for one in told if one.id not in gone])

    def stage(self, cancel: Cancel) -> None:
        """Look up what the last turns were about, for the next one."""
        if not self._config.memory.recall:
            return
        said = [one.user for one in self._conversation.recent()][-LAST_TURNS:]
        turn = self._conversation.next_turn - 1
        self.recaller.stage(self._conversation.session, turn, said, cancel)
        earlier = rolled(
            [Said(n, e.user, e.reply, code) for n, e, code in self._conversation.left()]
        )
        self.recaller.earlier = (Line(f"{SUMMARY}now", earlier),) if earlier else ()

    def reload(self) -> None:
        """Memories were merged, ended or revived behind our back: read them anew."""
        self.store.submit(most_important(MOST)).add_done_callback(self._reloaded)

    def _reloaded(self, ticket: Ticket[list[Memory]]) -> None:
        if ticket.exception() is not None:
            return
        kept = {one.id for one in ticket.result()}
        self.shelf.drop([one.id for one in self.shelf.all() if one.id not in kept])
        self.shelf.put(ticket.result())
        self.recaller.forget_staged()

    def adopt(self, name: str) -> None:
        """A guest has said who they are: what they told goes into their own bank.

        Call it from the thread that stages. Raises ConfigError, StorageError.
        """
        now, session = self._clock.wall(), self._conversation.session

        def carry_over(guest: Database, bank: Database) -> None:
            carry(guest, bank_id(name), now)(bank)
            bank.execute("update sessions set touched = ? where id = ?", [now, session])

        self.store.rebind(name, carry_over).result()
        self.recaller.reopen()
        self.reload()

    def take_back(self, turns: Sequence[int]) -> None:
        """ "Undo that": the memories of these turns go, what they had ended is believed again."""
        for turn in turns:
            self.store.submit(take_back(self._conversation.session, turn))
        if turns:
            self.reload()

    # By voice (skills/memory.py)

    def told(self, now: datetime) -> Sequence[str]:
        """What is known, as sentences about "the user", the most important first."""
        known = self._conversation.known
        texts = [one.text for one in self.shelf.profile(SAID)]
        noted = [*known.preference.values(), *known.facts.values()]
        texts += [lasting_note(fact) for fact in noted]
        return [relative(text, now.date()) for text in dict.fromkeys(texts)]

    def forget_last(self) -> bool:
        """Forget what was told last, for good; False when nothing of it is kept."""
        session = self._conversation.session
        mine = [one for one in self.shelf.all() if one.session == session]
        turn = self._told_last(mine)
        if turn is None:
            return False
        self._forget([one for one in mine if one.turn == turn], turn)
        return True

    def forget_about(self, words: str) -> bool:
        """Forget what was told of this, for good; False when nothing of it is kept."""
        wanted = strong(words)
        found = [one for one in self.shelf.all() if wanted and wanted <= set(topics(one.text))]
        for one in found:
            here = one.session == self._conversation.session
            self._forget([one], one.turn if here else 0)
        return bool(found)

    def _forget(self, gone: Sequence[Memory], turn: int) -> None:
        """Out of the process at once, out of the database in a moment. `turn` 0: of none here."""
        session, now = self._conversation.session, self._clock.wall()
        texts = frozenset(one.text for one in gone)
        self._origin = self._without(0, texts, self._origin)
        compute = partial(self._without, turn, texts)
        self._conversation.forget(turn, compute, self._submit_state)
        ids = [one.id for one in gone]
        asking = self._conversation.next_turn - 1  # its words name what is to go
        self.store.submit(partial(forget_turn, session, {turn, asking}, ids, now))
        self.shelf.drop(ids)
        self.recaller.opening = ()
        self.recaller.forget_staged()

    def _told_last(self, kept: Sequence[Memory]) -> int | None:
        """The newest turn of this conversation that something was stated in."""
        told = [one.turn for one in kept]
        for turn in self._conversation.queued():
            job = self._conversation.job(turn)
            if job is not None and stated(job.user_text):
                told.append(turn)
        known, origin = self._conversation.state, self._origin
        for key, fact in {**known.preference, **known.facts}.items():
            if origin.preference.get(key) != fact:  # brought along from an earlier conversation
                told.append(fact.turn)
        return max(told, default=None)

    def _without(self, turn: int, texts: frozenset[str], state: State) -> State:
        """Without what was told in a turn of this conversation, and without these sentences."""
        every = {**state.preference, **state.facts}
        old = {**self._origin.preference, **self._origin.facts}
        gone = frozenset(
            key
            for key, fact in every.items()
            if (turn and fact.turn == turn and old.get(key) != fact) or lasting_note(fact) in texts
        )
        after = merge(state, Update(drop=gone), self._config.mind)
        summary = after.history_summary
        notes = {every[key].note for key in gone} | {lasting_note(every[key]) for key in gone}
        for note in notes | texts:
            summary = summary.replace(note, "").strip()
        tasks = after.dialogue
        if tasks.task is not None and tasks.task.flow == FLOW:  # it names what is to go
            tasks = replace(tasks, task=None)
        after = replace(after, history_summary=summary, dialogue=tasks, version=state.version)
        return state if after == state else replace(after, version=state.version + 1)

    def _submit_state(self, before: State, after: State) -> None:
        if before.version != after.version:
            session, now = self._conversation.session, self._clock.wall()
            turn = max(1, self._conversation.next_turn - 1)
            self.store.submit(keep_state(session, turn, before.version, after.to_dict(), now))

    def go_private(self) -> None:
        """Forget this conversation, and keep nothing more of it."""
        old, new, now = self._conversation.session, uuid.uuid4().hex[:12], self._clock.wall()
        base = self._origin

        def submit(before: State, after: State) -> None:
            self.store.submit(begin_session(new, self.name, {}, now, private=True))
            self.store.submit(forget_session(old, now))

        self._private = True
        self._conversation.begin(new, lambda before: base, submit)
        self.shelf.drop([one.id for one in self.shelf.all() if one.session == old])
        self.recaller.forget_staged()
        self.reload()

    def forget_all(self) -> None:
        """Forget everything, for good."""
        new, now = uuid.uuid4().hex[:12], self._clock.wall()
        self._private = False

        def submit(before: State, after: State) -> None:
            self.store.submit(forget_all())
            self.store.submit(begin_session(new, self.name, after.to_dict(), now))

        self._origin = self._conversation.begin(new, lambda before: State(version=1), submit)
        self.shelf.clear()
        self.recaller.opening = ()
        self.recaller.forget_staged()


def _of_oneself(text: str) -> bool:
    """The user tells something of their own: worth finding again although no fact came of it."""
    return any(note.startswith(("The user", "用户")) for note in stated(text))
