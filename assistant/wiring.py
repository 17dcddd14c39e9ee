"""Engines, the mind around one conversation, and the memory beside it: built here, run by app.py.

With app.py the only place that names concrete engines.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache

from platformdirs import user_cache_path

from assistant.config import Config
from assistant.events import Failed
from assistant.home import NAME, Home
from assistant.llm import Weights
from assistant.loop import Finished, Loop, Shown
from assistant.memory.bank import Bank
from assistant.memory.cache import Conversation
from assistant.memory.embed import Engines as MemoryEngines
from assistant.memory.extract import Noted, Scribe
from assistant.memory.keeper import Keeper
from assistant.memory.recall import Recaller
from assistant.memory.search import Index
from assistant.memory.shelf import Shelf
from assistant.mouth import Mouth
from assistant.redact import warm
from assistant.snapshots import Primed, rules_alone, without_words
from assistant.stages import Clock, LanguageModel, Recognizer, Voice
from assistant.tts import PiperVoices
from assistant.turns import Turns
from assistant.weights import find
from assistant.workers import Worker

log = logging.getLogger(__name__)

LAST_WORDS_SECONDS = 0.3
"""time for a reply that is cut by the end to be recorded as such"""
NOTES_CONTEXT = 1536
"""tokens: the worked examples, a long utterance and its notes"""

Tell = Callable[[Noted | Failed], None]
Progress = Callable[[str], None]


class Line:
    """Troubles are told before the loop exists (on the screen) and after (to the loop)."""

    def __init__(self, show: Callable[[Shown], None], *, content: bool = False) -> None:
        """`content`: what was said is logged as well."""
        self._show = show
        self._content = content
        self._loop: Loop | None = None

    def connect(self, loop: Loop) -> None:
        self._loop = loop

    def show(self, event: Shown) -> None:
        """Show what the loop has to show; a turn also leaves a line in the log."""
        if isinstance(event, Finished):
            turn = event.turn
            said = f": {turn.user_text!r} -> {turn.heard!r}" if self._content else ""
            log.info("turn %d, %s ms%s", turn.turn, turn.latency_ms.get("voice_to_voice"), said)
        self._show(event)

    def tell(self, event: Noted | Failed) -> None:
        if self._loop is not None:
            self._loop.tell(event)
        elif isinstance(event, Failed):
            self.show(event)


@dataclass(frozen=True, slots=True)
class Mind:
    """The conversation, what answers it and what takes notes of it."""

    conversation: Conversation
    scribe: Scribe
    turns: Turns
    loop: Loop
    bank: Bank
    keeper: Keeper


@dataclass(slots=True)
class Engines:
    """Loaded once, warmed, shared by everything that is built on them."""

    replies: LanguageModel
    notes: LanguageModel
    closers: ExitStack
    recognizer: Recognizer | None = None
    voice: Voice | None = None
    users: list[Worker] = field(default_factory=list)
    """threads that call the engines"""

    def free(self, weights: Weights) -> None:
        """Give the memory back. Under a thread that is still inside, that is a crash: then the end
        of the process, which is near, gives it back."""
        if all(user.join(LAST_WORDS_SECONDS) for user in self.users):
            weights.close()


def load_engines(
    config: Config, progress: Progress, *, speech: bool, closers: ExitStack
) -> Engines:
    """Model, and for speech recognition and voice, from the files under models/.

    Raises ModelError naming the first file that is missing or refused.
    """
    paths = {"llm": find(config.llm.model, "llm")}
    if speech:
        paths["asr"] = find(config.asr.model, "asr")
    progress("language model")
    weights = Weights.load(config.llm, paths["llm"], gpu_layers=config.llm.gpu_layers)
    cache = user_cache_path(NAME, appauthor=False) / "prompts"
    replies = Primed(weights.context(config.llm.context), cache, paths["llm"], rules_alone)
    notes = Primed(weights.context(NOTES_CONTEXT), cache, paths["llm"], without_words)
    engines = Engines(replies, notes, closers)
    closers.callback(engines.free, weights)
    if speech:
        from assistant.asr import Whisper

        progress("recognition")
        whisper = Whisper.load(config.asr, paths["asr"])
        whisper.warm_up()
        progress("voice")
        voices = PiperVoices.load(config.tts, find)
        voices.warm_up()
        engines.recognizer, engines.voice = whisper, voices
    return engines


def build_mind(
    config: Config, home: Home, engines: Engines, mouth: Mouth, clock: Clock, line: Line
) -> Mind:
    """Turns, scribe and loop around a conversation."""
    bank = _bank(config, home, clock)
    scribe = Scribe(
        home.conversation,
        home.store,
        engines.notes,
        engines.replies,
        config.mind,
        clock,
        line.tell,
        bank,
    )
    turns = Turns(
        home.conversation,
        home.store,
        engines.replies,
        scribe,
        mouth,
        clock,
        line.tell,
        max_tokens=config.llm.max_reply_tokens,
        driver=home.driver,
        judge=engines.notes,
        limits=config.mind,
        bank=bank,
    )
    loop = Loop(engines.recognizer, turns, mouth, scribe.gate, clock, line.show)
    line.connect(loop)
    keeper = Keeper(
        home.store,
        home.conversation,
        memory_engines(),
        scribe.gate,
        config.memory,
        clock,
        changed=bank.reload,
        tell=line.tell,
        book=home.driver.book if home.driver is not None else None,
    )
    bank.spoken = keeper.spoken
    if home.driver is not None:
        home.driver.memory = bank
    Worker("warm", lambda: _warm_rules(home, bank)).start()
    workers = [Worker("scribe", scribe.run).start(), Worker("keeper", keeper.run).start()]
    engines.users += workers
    engines.closers.callback(scribe.end)
    engines.closers.callback(keeper.end)
    return Mind(home.conversation, scribe, turns, loop, bank, keeper)


@cache
def memory_engines() -> MemoryEngines:
    """What gives texts a meaning, loaded when it is first wanted; shared by all banks."""
    return MemoryEngines(find, threads=1)


def _bank(config: Config, home: Home, clock: Clock) -> Bank:
    """Long-term memory with all that has to be at hand before the first word (V3)."""
    store, shelf = home.store, Shelf()

    def open_index() -> Index:
        return Index(store.reader(), memory_engines(), lambda work: store.submit(work).result())

    memory = config.memory
    recaller = Recaller(shelf, open_index, memory.budget, memory.block_tokens)
    bank = Bank(store, home.conversation, shelf, recaller, config, clock)
    bank.load()
    return bank


def _warm_rules(home: Home, bank: Bank) -> None:
    """Load and compile what the first turn would wait for, then the rest of what is known."""
    warm()
    if home.driver is not None:
        home.driver.warm()
    bank.load_rest()


def warm_prompts(mind: Mind, progress: Progress) -> None:
    """Evaluate the reply's prefix; behind it the notes' prefix and what an earlier run left."""
    progress("reading the notes about you")
    mind.scribe.enqueue(None)
    mind.scribe.activity.wait_idle()
    mind.scribe.warm()
    for turn in mind.conversation.queued():
        mind.scribe.enqueue(turn)
