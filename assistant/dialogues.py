"""Takes a turn through the policy and carries out what was decided (M14).

Every action passes one gate here, whatever the policy said: it has to be permitted, and a risky
write has to carry the user's yes (D9, M12). A failing action is said, never raised.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import json
import logging
import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from assistant import skills
from assistant.acting import look_up, refusal, settled, values_of, warnings, writes
from assistant.config import FlowsConfig
from assistant.errors import AssistantError, ConfigError
from assistant.flowbook import SHIPPED, load_book
from assistant.mind import cues
from assistant.mind.dialogue import Call, Dialogue, Task, frozen
from assistant.mind.finished import Wanted, wanted
from assistant.mind.flows import Book, Choice
from assistant.mind.gate import Gate, Scene
from assistant.mind.policy import decide
from assistant.mind.slots import SURE
from assistant.mind.split import split
from assistant.mind.telling import result, told
from assistant.mind.view import MAX_QUEUE, Decision, View
from assistant.sealed import SqlError
from assistant.skills.memory import Remembered
from assistant.skills.office import open_office
from assistant.skills.registry import ACTIONS, SOURCES, WORKS_ON, Outcome
from assistant.wording import words
from assistant.workers import Lock

log = logging.getLogger(__name__)

YOUNG = 20_000
"""new objects between two looks for garbage; a turn makes a few thousand"""
GATE = "gate.json"
"""weights of the gate, in the data folder or among the shipped flows"""
WARM = {"en": "tomorrow from ten to twelve", "zh": "明天上午十点到十二点"}
REFUSED: tuple[type[Exception], ...] = (*SqlError, OSError, AssistantError)
FAILED = "failed"
"""outcome of an action that could not be carried out"""


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of a turn."""

    dialogue: Dialogue
    replies: tuple[str, ...]
    """sentences; empty when the model is to answer"""
    decisions: tuple[Decision, ...]
    """one, or one for each part of a compound sentence"""
    acted: bool = False
    """a write was carried out: the turn cannot simply be taken again"""
    question: str = ""
    """what is open, when the gate could not tell whether the words were meant for it"""


class Unforeseen(Exception):
    """What would come of a turn is only known once something is carried out."""


class Driver:
    """The flows, the office they work on, and who may do what."""

    def __init__(
        self,
        book: Book,
        office: Database,
        *,
        denied: Collection[str] = (),
        gate: Gate | None = None,
        minutes: float = 30.0,
    ) -> None:
        self._book = book
        self._office = office
        self._denied = frozenset(denied)
        self._gate = gate
        self._minutes = minutes
        self._known: dict[str, tuple[Choice, ...]] = {}
        self._lock = Lock()
        self._rehearsing = False
        self.memory: Remembered | None = None
        """the bank of the person who speaks"""

    @property
    def book(self) -> Book:
        """The flows."""
        return self._book

    def view(
        self, dialogue: Dialogue, text: str, language: str, turn: int, now: datetime, said: str = ""
    ) -> View:
        """What the policy looks at. Languages without flows are read as English."""
        return View(
            dialogue,
            text,
            "zh" if language == "zh" else "en",
            turn,
            now,
            self._book,
            self._sources(),
            self._denied,
            self._minutes,
            self._detach if self._gate is not None else None,
            said,
        )

    def handle(
        self,
        dialogue: Dialogue,
        text: str,
        language: str,
        turn: int,
        now: datetime,
        said: str = "",
        *,
        rehearse: bool = False,
    ) -> Handled:
        """Decide, act, and say what came of it.

        `rehearse`: nothing is changed; raises Unforeseen where something would be.
        """
        with self._lock:
            self._rehearsing = rehearse
            return self._handle(self.view(dialogue, text, language, turn, now, said))

    def _handle(self, view: View) -> Handled:
        dialogue = view.dialogue
        parts = split(view)
        queue = list(parts.texts)
        decisions: list[Decision] = []
        replies: list[str] = []
        acted, ok = False, True
        while queue:
            part = queue.pop(0)
            view = replace(view, dialogue=dialogue, text=part, judged=parts.judged)
            if not ok and parts.conditional:
                replies.append(words("part_left", view.language, part=part))
                continue
            decision, outcome = self._step(view)
            if decision.act == "model":
                if len(parts.texts) == 1 and not decisions:
                    return Handled(
                        decision.dialogue, (), (decision,), question=_open(view, decision)
                    )
                replies.append(words("part_unknown", view.language, part=part))
            else:
                replies += [*warnings(view, decision), self._told(view, decision, outcome)]
            decisions.append(decision)
            dialogue = decision.dialogue
            if outcome is not None and not decision.looked_up:
                ok = outcome.ok
                acted = acted or (ok and writes(view, decision))
            if dialogue.task is not None and dialogue.task.asked:
                dialogue = replace(dialogue, queue=(*queue, *dialogue.queue)[:MAX_QUEUE])
                break
            if not queue and dialogue.queue:
                queue, dialogue = list(dialogue.queue), replace(dialogue, queue=())
        return Handled(dialogue, tuple(text for text in replies if text), tuple(decisions), acted)

    def asked_again(self, handled: Handled, why: str) -> Handled:
        """The words were meant for the task, and no rule can read them: it is asked once more."""
        decision = handled.decisions[-1]
        task = decision.task
        assert task is not None
        decision = replace(
            decision,
            act=f"ask:{task.asked}",
            intent=task.name,
            continued=True,
            slots=task.slots,
            why=(*decision.why, why),
            slot=task.asked,
        )
        return Handled(handled.dialogue, (handled.question,), (*handled.decisions[:-1], decision))

    def warm(self) -> None:
        """Load what the first turn would wait for: word lists, sounds, compiled patterns."""
        for language, text in (("en", "book a meeting room"), ("zh", "订会议室")):
            cues.warm(self._book, language)
            view = View(Dialogue(), text, language, 1, datetime(2000, 1, 3), self._book)
            decision = decide(view)
            decide(replace(view, dialogue=decision.dialogue, text=WARM[language]))
            for flow in self._book.flows.values() if self._gate is not None else ():
                self._detach(view, Task(flow.id, next(iter(flow.intents))))
        # What is loaded now stays: going through it for garbage costs a turn several milliseconds.
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, 20, 100)

    def expected(self, dialogue: Dialogue) -> tuple[str, ...]:
        """Values that are likely to be said next: of what was asked, or of what was just named."""
        task = dialogue.task
        if task is None or task.asked not in self._book.flows[task.flow].slots:
            last = dialogue.done[-1:] if task is None else ()
            named = [value for done in last for of in done.offered.values() for value in of]
            things = [
                noun
                for flow in self._book.flows.values()
                for of in flow.nouns.values()
                for noun in of[:2]
            ]
            return (*named, *things)
        slot = self._book.flows[task.flow].slots[task.asked]
        choices = (*slot.choices, *self._sources().get(slot.source, ()))
        said = [word for one in choices for of in one.words.values() for word in of[:1]]
        return tuple(dict.fromkeys([*task.offered.get(slot.name, ()), *said]))

    def wanted(self, dialogue: Dialogue, now: datetime) -> Wanted | None:
        """What the task under way has asked for."""
        with self._lock:
            return wanted(dialogue, self._book, self._sources(), now)

    def _step(self, view: View) -> tuple[Decision, Outcome | None]:
        decision = decide(view)
        if decision.call is None:
            return self._with_options(view, decision)
        outcome = self._carry_out(view, decision)
        after = settled(view, decision, outcome)
        return (_unnamed(after) if WORKS_ON[decision.call.action] == "memory" else after), outcome

    def _with_options(self, view: View, decision: Decision) -> tuple[Decision, Outcome | None]:
        """ "Which room?" with those that are free: a query of the same flow knows the values."""
        task, slot = decision.task, decision.slot
        if task is None or not slot or slot in task.offered or decision.dialogue.task is not task:
            return decision, None
        query = look_up(view, task, slot)
        if query is None:
            return decision, None
        asking = replace(decision, call=Call(query.action, values_of(task)), looked_up=query.name)
        outcome = self._carry_out(view, asking)
        if not outcome.offered.get(slot):
            return decision, None
        task = replace(task, offered=frozen({**task.offered, **outcome.offered}))
        dialogue = replace(decision.dialogue, task=task)
        return replace(asking, task=task, dialogue=dialogue), outcome

    def _carry_out(self, view: View, decision: Decision) -> Outcome:
        call = decision.call
        assert call is not None
        assert decision.task is not None
        intent = view.intent(decision.task)
        if decision.looked_up:
            intent = view.flow(decision.task).intents[decision.looked_up]
        if self._rehearsing and intent.kind != "read":
            raise Unforeseen(call.action)
        if why := refusal(intent, decision, view):
            log.error("%s was stopped at the gate: %s", call.action, why)
            return Outcome(FAILED, frozen({"reason": why}), ok=False)
        try:
            outcome = ACTIONS[call.action](self._works_on(call.action), call.slots, view.now)
        except REFUSED as error:
            log.error("%s failed: %s", call.action, type(error).__name__)
            return Outcome(FAILED, frozen({"reason": str(error)}), ok=False)
        if intent.kind != "read":
            self._known = {}
        return outcome

    def _works_on(self, name: str) -> Any:
        if WORKS_ON[name] == "office":
            return self._office
        if self.memory is None:
            raise AssistantError("no memory is open.")
        return self.memory

    def _told(self, view: View, decision: Decision, outcome: Outcome | None) -> str:
        if outcome is not None and outcome.name == FAILED:
            return words("office_failed", view.language, reason=outcome.values["reason"])
        view = view.with_dialogue(decision.dialogue)
        if decision.act == "undone" and outcome is not None and not outcome.ok:
            return told(view, replace(decision, act="cannot_undo"))
        if outcome is None or decision.act == "undone" or decision.task is None:
            return told(view, decision)
        task = decision.task
        if decision.looked_up:
            task = replace(task, intent=decision.looked_up)
        return result(view, task, outcome.name, outcome.values)

    def _sources(self) -> Mapping[str, tuple[Choice, ...]]:
        """What is known at the moment; read again after each write."""
        if not self._known:
            try:
                self._known = {name: source(self._office) for name, source in SOURCES.items()}
            except SqlError as error:
                log.warning("known values cannot be read: %s", error)
                return {}
        return self._known

    def _detach(self, view: View, task: Task) -> float:
        assert self._gate is not None
        flow = view.flow(task)
        fits = tuple(
            slot.name
            for slot in flow.slots.values()
            if slot.type != "text"
            and any(
                found.sure >= SURE for found in view.values(slot, wanted=slot.name == task.asked)
            )
        )
        scene = Scene(
            text=view.text,
            language=view.language,
            said=view.said,
            flow=flow,
            intent=task.intent,
            wanted=(task.asked,) if task.asked in flow.slots else (),
            filled={name: one.value for name, one in task.slots.items()},
            fits=fits,
            others=tuple(one for one in self._book.flows.values() if one is not flow),
            acts=("ask",) if task.asked in flow.slots else ("confirm",),
        )
        return self._gate.detach(scene)


def _unnamed(decision: Decision) -> Decision:
    """What was done to memory, without the words that named it: they may have to be forgotten."""
    done = tuple(
        replace(one, task=replace(one.task, slots=frozen(), earlier=()))
        if one.task.name == decision.intent
        else one
        for one in decision.dialogue.done
    )
    dialogue = replace(decision.dialogue, done=done)
    task = replace(decision.task, slots=frozen(), earlier=()) if decision.task else None
    return replace(decision, dialogue=dialogue, slots=frozen(), task=task)


def _open(view: View, decision: Decision) -> str:
    """The question that the words may have been meant for; "" when the gate is sure."""
    task = decision.task
    if not decision.unsure or task is None:
        return ""
    return told(view, replace(decision, act=f"ask:{task.asked}", slot=task.asked))


def load_skills() -> frozenset[str]:
    """Import every family of actions; the names of all that there are."""
    for module in pkgutil.iter_modules(skills.__path__):
        importlib.import_module(f"{skills.__name__}.{module.name}")
    return frozenset(ACTIONS)


def open_driver(config: FlowsConfig, folder: Path, key: bytes | None = None) -> Driver:
    """The flows of the settings on the office database in `folder`, encrypted with `key`.

    Raises ConfigError when a flow is broken, StorageError when the database cannot be opened.
    """
    book = load_book([Path(one).expanduser() for one in config.folders], load_skills())
    _check_denied(config.denied, book)
    return Driver(
        book,
        open_office(folder / "office.db", key),
        denied=config.denied,
        gate=load_gate(folder),
        minutes=config.task_minutes,
    )


def _check_denied(denied: Collection[str], book: Book) -> None:
    """A misspelt name would permit what should be denied. ConfigError."""
    intents = [intent.full for flow in book.flows.values() for intent in flow.intents.values()]
    known = ["*", *(f"{flow}.*" for flow in book.flows), *intents]
    for name in denied:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else "run.py flows show lists them."
            raise ConfigError(f"flows.denied: there is no intent {name!r}; {hint}")


def load_gate(folder: Path | None = None) -> Gate:
    """The gate a site has trained, else the shipped one. ConfigError when it is damaged."""
    own = folder / GATE if folder is not None else None
    path = own if own is not None and own.is_file() else SHIPPED / GATE
    try:
        return Gate.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path}: the gate's weights cannot be read ({error}); run: run.py flows train"
        ) from None


__all__ = ["Call", "Driver", "Handled", "Unforeseen", "refusal", "settled"]
