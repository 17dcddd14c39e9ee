"""One turn after another (D7): state before → reply → delivered → kept, update queued (M3).

The same for speech and text. Nothing here waits for disk, search or background work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from assistant.config import MindConfig
from assistant.dialogues import Driver, Handled, Unforeseen
from assistant.events import Failed, Turn
from assistant.marks import Heard, Raw, latency
from assistant.memory.bank import Bank
from assistant.memory.cache import Conversation
from assistant.memory.extract import Scribe
from assistant.memory.store import Store, commit_state, give_up_jobs, keep_state, keep_turn
from assistant.mind.dialogue import Dialogue
from assistant.mind.finished import Wanted
from assistant.mind.merge import Update, merge
from assistant.mind.names import names
from assistant.mind.project import projected
from assistant.mind.prompt import Exchange
from assistant.mind.state import State
from assistant.mouth import Delivery, Mouth
from assistant.planner import Foreseen, Planner, Sentences
from assistant.rendering import Rendering
from assistant.stages import Cancel, Clock, LanguageModel
from assistant.wording import words

KEPT_SECONDS = 0.5
"""longest wait for the record of a turn that has been answered"""
SLACK_SECONDS = 0.1
"""A reply cut so shortly before its end was heard whole: a device is not exact to the sample."""


class Turns:
    """Answers what was heard and keeps it."""

    def __init__(
        self,
        conversation: Conversation,
        store: Store,
        model: LanguageModel,
        scribe: Scribe,
        mouth: Mouth,
        clock: Clock,
        tell: Callable[[Failed], None],
        *,
        max_tokens: int,
        driver: Driver | None = None,
        judge: LanguageModel | None = None,
        limits: MindConfig | None = None,
        bank: Bank | None = None,
    ) -> None:
        """`driver`: the flows; without one every turn is the model's.

        `judge`: who is asked whether words were meant for a task, when the gate is unsure.
        `bank`: long-term memory.
        """
        self._bank = bank
        self._conversation = conversation
        self._store = store
        self._scribe = scribe
        self._mouth = mouth
        self._clock = clock
        self._tell = tell
        self._driver = driver
        self._limits = limits or MindConfig()
        self.planner = Planner(
            conversation,
            model,
            clock,
            tell,
            max_tokens=max_tokens,
            driver=driver,
            judge=judge,
            bank=bank,
        )
        self._last: tuple[Turn, Delivery] | None = None
        self._foreseen: Foreseen | None = None
        self._before = Dialogue()
        """the tasks before the last turn, should it be taken again"""
        self.acted = False
        """the last turn carried out a write: it cannot be taken again"""

    @property
    def last(self) -> Turn | None:
        """The last turn, as far as it is known."""
        return self._last[0] if self._last else None

    def foresee(self, heard: Heard, cancel: Cancel, ready: Callable[[], None]) -> Foreseen:
        """What the turn would be if these were the words; its reply begins to be made.

        `ready` is called when something of it could be heard, or nothing can be foreseen.
        """
        heard, secret = self.planner.settled(heard, self._last_language, again=False)
        tasks = self._conversation.state.dialogue
        number = self._conversation.next_turn
        try:
            handled = self.planner.decide(number, tasks, heard, cancel, rehearse=True)
        except Unforeseen:
            ready()
            return Foreseen("run")
        if cancel.cancelled:
            return Foreseen()
        act = handled.decisions[-1].act if handled is not None else ""
        replies = handled.replies if handled is not None else ()
        if not replies and secret:
            replies = (words("secret", heard.language),)
        if replies:
            foreseen = Foreseen(act, replies)
            made: Sentences = lambda cancel: iter(replies)  # noqa: E731
        else:
            prompted = self.planner.prompt(heard, ahead=True)
            foreseen = Foreseen(act, prompted.messages)
            made = self.planner.sentences(prompted.messages, heard, foreseen.raw)
        foreseen.rendering = self._mouth.render(made, heard.language, ready)
        return foreseen

    def anticipate(self, heard: Heard, cancel: Cancel) -> None:
        """More words are to come: evaluate those that are there."""
        heard, _ = self.planner.settled(heard, self._last_language, again=False)
        self.planner.prepare(heard, cancel)

    def interrupt(self) -> None:
        """Have the model leave what has become old."""
        self.planner.interrupt()

    def hush(self) -> None:
        """Somebody speaks: have background work leave what has become old."""
        self.planner.hush()

    def wanted(self) -> Wanted | None:
        """What the task under way has asked for."""
        if self._driver is None:
            return None
        return self._driver.wanted(self._conversation.state.dialogue, self.planner.now())

    @property
    def _last_language(self) -> str | None:
        return self._last[0].language if self._last else None

    def take(
        self, heard: Heard, cancel: Cancel, *, again: bool = False, foreseen: Foreseen | None = None
    ) -> Turn:
        """Answer; `again` replaces the last turn, whose reply nobody has heard.

        What was `foreseen` is used where it is what is to be said now.
        """
        heard, secret = self.planner.settled(heard, self._last_language, again=again)
        if self._bank is not None and not again:
            self._bank.turn_begins()
        number = self._conversation.next_turn - (1 if again else 0)
        before = self._conversation.state
        tasks = self._before if again else before.dialogue
        turn = Turn(
            session=self._conversation.session,
            turn=number,
            user_text=heard.text,
            language=heard.language,
            state_before=before.to_dict(),
            raw="",
            reply="",
            heard="",
            ahead=dict(heard.ahead),
        )
        self._foreseen = foreseen
        handled = self.planner.decide(number, tasks, heard, cancel)
        if self._conversation.session != turn.session:  # "forget everything": it began anew
            turn, handled = self._anew(turn, handled)
            tasks = Dialogue()
        self._before = tasks
        self.acted = handled is not None and handled.acted
        if handled is not None:
            turn = replace(turn, decisions=[one.to_dict() for one in handled.decisions])
            if handled.replies:
                return self._by_rule(turn, handled, heard, cancel)
            self._keep_tasks(turn, handled, heard)
            if secret:  # a small model only refuses to talk of it
                handled = replace(handled, replies=(words("secret", heard.language),))
                return self._by_rule(turn, handled, heard, cancel)
        return self._by_model(turn, heard, cancel, again=again)

    def _rendering(
        self, turn: Turn, reply: object, sentences: Callable[[Raw], Sentences]
    ) -> tuple[Rendering, Raw]:
        """The reply in the making: the one that was foreseen, if it is this one."""
        foreseen, self._foreseen = self._foreseen, None
        if foreseen is not None:
            made = foreseen.rendering
            fits = foreseen.reply == reply and foreseen.raw.error is None
            if made is not None and fits and not made.cancelled and made.error is None:
                turn.ahead["used"] = True
                return made, foreseen.raw
            foreseen.drop()
            if made is not None and (wasted := turn.ahead.get("wasted")) is not None:
                sound = round(wasted["sound_s"] + made.sound_seconds, 2)
                tokens = wasted["tokens"] + len(foreseen.raw.pieces)
                turn.ahead["wasted"] = {**wasted, "tokens": tokens, "sound_s": sound}
        raw = Raw()
        return self._mouth.render(sentences(raw), turn.language), raw

    def _anew(self, turn: Turn, handled: Handled | None) -> tuple[Turn, Handled | None]:
        """The turn as the first of the conversation that it began."""
        conversation = self._conversation
        turn = replace(
            turn,
            session=conversation.session,
            turn=conversation.next_turn,
            state_before=conversation.state.to_dict(),
        )
        return turn, replace(handled, dialogue=Dialogue()) if handled is not None else None

    def _by_rule(self, turn: Turn, handled: Handled, heard: Heard, cancel: Cancel) -> Turn:
        """The reply is known and so is the state after it: both are kept before it is spoken."""
        turn = replace(turn, reply=" ".join(handled.replies), heard="")
        if handled.decisions[-1].act == "rollback":
            state, handled = self._rolled_back(turn, handled)
        else:
            state = self._commit(turn, handled, heard)
        turn = replace(turn, state_after=state.to_dict())
        replies = handled.replies
        rendering, _ = self._rendering(turn, replies, lambda raw: lambda cancel: iter(replies))
        delivery = self._mouth.deliver(rendering, heard.language, cancel, lambda text: None)
        turn = replace(
            turn,
            reply=delivery.text,
            heard=delivery.text,
            interrupted=cancel.cancelled,
            latency_ms=latency(heard, Raw(), delivery),
        )
        return self._keep(turn, delivery, note=False)

    def _projection(self, turn: Turn, handled: Handled, heard: Heard) -> Callable[[State], State]:
        """The tasks as they are now, put into whatever the state is by then."""
        assert self._driver is not None
        view = self._driver.view(
            handled.dialogue, heard.text, heard.language, turn.turn, self.planner.now()
        )
        return lambda state: projected(state, view, self._limits)

    def _keep_tasks(self, turn: Turn, handled: Handled, heard: Heard) -> None:
        """The model answers, and yet a task may be too old now, or its question no longer fresh."""
        if handled.dialogue == self._conversation.state.dialogue:
            return
        project = self._projection(turn, handled, heard)
        # what was not heard is for the prompt that is made next
        self._change(turn.turn, lambda old: replace(project(old), interrupted=old.interrupted))

    def _change(self, turn: int, compute: Callable[[State], State]) -> None:
        """A change of the state that belongs to no note."""

        def submit(before: State, after: State) -> None:
            now = self._clock.wall()
            session = self._conversation.session
            self._store.submit(keep_state(session, turn, before.version, after.to_dict(), now))

        self._conversation.change(compute, submit)

    def _commit(self, turn: Turn, handled: Handled, heard: Heard) -> State:
        compute = self._projection(turn, handled, heard)
        self._store.submit(keep_turn(turn, self._clock.wall(), note=False))

        def submit(before: State, after: State) -> State:
            now = self._clock.wall()
            write = commit_state(turn.session, turn.turn, before.version, after.to_dict(), now)
            self._store.submit(write)
            return after

        return self._conversation.change(compute, submit)

    def _rolled_back(self, turn: Turn, handled: Handled) -> tuple[State, Handled]:
        """ "Undo that" when no task has anything to undo: the state before the last change."""
        self._store.submit(keep_turn(turn, self._clock.wall(), note=False))
        state = self.roll_back(turn.turn)
        if state is None:
            text = words("nothing_to_undo", turn.language)
            return self._conversation.state, replace(handled, replies=(text,))
        return state, handled

    def roll_back(self, number: int | None = None) -> State | None:
        """Go back to the state before the last change; None when there is none (M10)."""
        session = self._conversation.session
        turn = number or max(1, self._conversation.next_turn - 1)

        def submit(before: State, after: State) -> None:
            now = self._clock.wall()
            self._store.submit(keep_state(session, turn, before.version, after.to_dict(), now))
            self._store.submit(give_up_jobs(session, now))

        before = self._conversation.state
        result = self._conversation.roll_back(submit)
        if result is None:
            return None
        if self._bank is not None:
            self._bank.take_back(_noted_since(before, result[0]))
        return result[0]

    def _by_model(self, turn: Turn, heard: Heard, cancel: Cancel, *, again: bool) -> Turn:
        prompted = self.planner.prompt(heard, again=again)
        messages = prompted.messages
        turn = replace(turn, recalled=list(prompted.recalled), searched=list(prompted.searched))
        rendering, raw = self._rendering(
            turn, messages, lambda raw: self.planner.sentences(messages, heard, raw)
        )
        if self._conversation.known.interrupted:  # the prompt has it now
            self._interrupted(turn.turn, "")

        def written(text: str) -> None:
            # Before the sentence is heard it is on its way to the disk, without anybody waiting.
            partial = replace(turn, reply=text, heard=text, raw=raw.text)
            self._store.submit(keep_turn(partial, self._clock.wall(), note=True))

        delivery = self._mouth.deliver(rendering, heard.language, cancel, written)
        if (error := raw.error or rendering.error) is not None and not cancel.cancelled:
            self._tell(Failed("llm", error))
        turn = replace(
            turn,
            raw=raw.text,
            reply=delivery.text,
            heard=delivery.text,
            interrupted=cancel.cancelled,
            latency_ms=latency(heard, raw, delivery),
        )
        return self._keep(turn, delivery, note=True)

    def cut(self, at: float) -> Turn | None:
        """The reply was cut at session time `at`: record what was really heard of it (M7)."""
        if self._last is None:
            return None
        turn, delivery = self._last
        at = delivery.cut(at)
        if at >= delivery.end - SLACK_SECONDS and not turn.interrupted:
            return None  # it was complete
        turn = replace(turn, heard=delivery.heard(at), interrupted=True)
        self._last = (turn, delivery)
        self._conversation.heard(turn.turn, turn.heard)
        self._store.submit(keep_turn(turn, self._clock.wall(), note=turn.state_after is None))
        self._interrupted(turn.turn, turn.reply[len(turn.heard) :].strip())
        return turn

    def _interrupted(self, turn: int, unheard: str) -> None:
        """What nobody heard stands in the state until the next turn is answered (M7)."""
        update = Update(interrupted=unheard)
        self._change(turn, lambda state: merge(state, update, self._limits))

    def expected(self) -> tuple[str, ...]:
        """Values, names and codes that are likely to be said next, likeliest first."""
        state = self._conversation.known
        values = self._driver.expected(state.dialogue) if self._driver is not None else ()
        return tuple(dict.fromkeys([*values, *names(state)]))

    @property
    def asked_back(self) -> bool:
        """The last reply is a question."""
        return self.last is not None and self.last.reply.rstrip().endswith(("?", "？"))

    @property
    def asking(self) -> bool:
        """A task waits for an answer, or there are names that only this person says."""
        state = self._conversation.known
        task = state.dialogue.task
        return (task is not None and bool(task.asked)) or bool(names(state))

    def take_notes(self, turn: int) -> None:
        """Hand the turn to the scribe."""
        self._scribe.enqueue(turn)

    def _keep(self, turn: Turn, delivery: Delivery, *, note: bool) -> Turn:
        self._last = (turn, delivery)
        now = self._clock.wall()
        self._conversation.answered(
            turn.turn, Exchange(turn.user_text, turn.heard), turn.language, now, queued=note
        )
        kept = self._store.submit(keep_turn(turn, now, note=note))
        # The answer is out; it is called answered once it is on the disk, or the disk is too slow.
        with suppress(Exception):
            kept.result(KEPT_SECONDS)
        return turn


def _noted_since(before: State, after: State) -> list[int]:
    """Turns whose notes stand in one state and not in the other."""
    kept = {**after.preference, **after.facts}
    every = {**before.preference, **before.facts}
    return sorted({fact.turn for key, fact in every.items() if kept.get(key) != fact})
