"""Builds everything and owns its lifetime; the only file that names concrete engines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_cache_path

from assistant.audio import files
from assistant.audio.devices import choose
from assistant.audio.mic import DeviceMicrophone, FileMicrophone
from assistant.audio.recording import Recording
from assistant.audio.speaker import DeviceSpeaker, SilentSpeaker
from assistant.clock import FrameClock, RealClock
from assistant.config import Config
from assistant.ears import Ears
from assistant.endpoint import Endpoint
from assistant.events import Audio, Ended, Failed
from assistant.home import NAME, Home, open_home
from assistant.llm import Weights
from assistant.loop import Finished, Loop, Notice, Shown, Typed
from assistant.memory.cache import Conversation
from assistant.memory.extract import Noted, Scribe
from assistant.mouth import Mouth, Page, Speech
from assistant.redact import warm
from assistant.snapshots import Primed, rules_alone, without_words
from assistant.speakable import language_of
from assistant.stages import Clock, LanguageModel, Microphone, Recognizer, Speaker, Voice
from assistant.tts import PiperVoices
from assistant.turns import Turns
from assistant.vad import load_vad
from assistant.weights import find
from assistant.workers import Worker

log = logging.getLogger(__name__)

ECHO_TAIL = 0.25
"""seconds for which the room still holds our own voice"""
DRAIN_SECONDS = 30.0
"""longest wait for the notes of the last turns at a normal end"""
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
    scribe = Scribe(
        home.conversation,
        home.store,
        engines.notes,
        engines.replies,
        config.mind,
        clock,
        line.tell,
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
    )
    loop = Loop(engines.recognizer, turns, mouth, scribe.gate, clock, line.show)
    line.connect(loop)
    Worker("warm", lambda: _warm_rules(home)).start()
    worker = Worker("scribe", scribe.run).start()
    engines.users.append(worker)
    engines.closers.callback(scribe.end)
    return Mind(home.conversation, scribe, turns, loop)


def _warm_rules(home: Home) -> None:
    """Load and compile what the first turn would wait for."""
    warm()
    if home.driver is not None:
        home.driver.warm()


def warm_prompts(mind: Mind, progress: Progress) -> None:
    """Evaluate the reply's prefix; behind it the notes' prefix and what an earlier run left."""
    progress("reading the notes about you")
    mind.scribe.enqueue(None)
    mind.scribe.activity.wait_idle()
    mind.scribe.warm()
    for turn in mind.conversation.queued():
        mind.scribe.enqueue(turn)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the user's voice comes from, and at which pace."""

    segments: Callable[[Mind], Iterator[Iterator[Audio] | Audio]] | None = None
    """files or synthesised speech in place of a microphone"""
    fast: bool = False
    patient: bool = False
    """the next segment waits for the notes as well (a person who takes their time)"""
    record: Path | None = None
    speaker: bool = True
    """False: the reply is played on the clock only"""


def file_source(paths: list[Path], *, fast: bool, record: Path | None, speaker: bool) -> Source:
    """Sound files in place of a microphone, read in bounded memory."""
    for path in paths:
        files.duration(path)  # refuses what cannot be read before any model is loaded
    return Source(
        segments=lambda mind: (files.stream(path) for path in paths),
        fast=fast,
        record=record,
        speaker=speaker,
    )


class Talk:
    """The voice loop on a device or on a source of sound. Use as a context manager."""

    def __init__(
        self,
        config: Config,
        source: Source,
        show: Callable[[Shown], None],
        progress: Progress = lambda step: None,
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        """`opened` is called when the microphone's first sound has arrived."""
        self._opened = opened
        self._closers = ExitStack()
        with ExitStack() as guard:
            guard.callback(self._closers.close)
            self._build(config, source, show, progress)
            guard.pop_all()

    def _build(
        self,
        config: Config,
        source: Source,
        show: Callable[[Shown], None],
        progress: Progress,
    ) -> None:
        self.clock: FrameClock | RealClock
        self.clock = (
            RealClock() if source.segments is None else FrameClock(realtime=not source.fast)
        )
        if source.segments is None:
            choose(config.audio.mic, "input")  # no microphone: say so before models are loaded
        detector = load_vad(config.vad, find)
        line = Line(show, content=config.log.content)
        engines = self._closers.enter_context(ExitStack())  # closed last: it may take seconds
        home = open_home(config, self.clock.wall(), line.tell, self._closers)
        recording = None
        if source.record is not None:
            recording = Recording(source.record, line.tell)
            self._closers.callback(recording.close)
        speaker = self._speaker(config, source, recording, line.tell)
        self._closers.callback(speaker.close)
        self.engines = load_engines(config, progress, speech=True, closers=engines)
        voice = self.engines.voice
        assert voice is not None

        def notice(text: str) -> None:
            show(Notice(text))

        mouth = Speech(voice, speaker, self.clock, line.tell, notice, language_of)
        self.mind = build_mind(config, home, self.engines, mouth, self.clock, line)
        warm_prompts(self.mind, progress)
        self._speaker_used = speaker
        self.microphone = self._microphone(config, source, line.tell)
        deaf = config.audio.echo == "mute" and source.segments is None
        self._hearing = Ears(
            self.microphone,
            detector,
            Endpoint(config.endpoint, config.vad),
            self.mind.loop.tell,
            deaf_until=lambda: speaker.busy_until + ECHO_TAIL if deaf else 0.0,
            record=recording.heard if recording is not None else lambda frame: None,
            opened=self._opened,
        )
        self._ears = Worker("ears", self._hearing.run)
        self._loop = Worker("loop", self.mind.loop.run)
        self.engines.users.append(self._loop)

    def _speaker(
        self, config: Config, source: Source, recording: Recording | None, trouble: Tell
    ) -> Speaker:
        if not source.speaker:
            return SilentSpeaker(self.clock, recording, config.audio.volume)
        return DeviceSpeaker(
            config.audio.speaker, config.audio.volume, self.clock, recording, trouble
        )

    def _microphone(self, config: Config, source: Source, trouble: Tell) -> Microphone:
        if isinstance(self.clock, RealClock):
            device = DeviceMicrophone(config.audio.mic, self.clock, trouble)
            self._closers.callback(device.close)
            return device
        assert source.segments is not None
        mind = self.mind

        def busy() -> bool:
            return mind.loop.activity.busy or mind.scribe.activity.busy

        def idle() -> bool:
            working = busy() if source.patient else mind.loop.activity.busy
            return not working and self._speaker_used.busy_until <= self.clock.now()

        return FileMicrophone(
            source.segments(mind), self.clock, fast=source.fast, idle=idle, busy=busy
        )

    def run(self) -> bool:
        """Blocks until the source has ended and the last turn is noted (bounded).

        False when it ended because a stage broke, which has been told. Raises BrokenPipeError
        when nobody reads what is shown.
        """
        self._ears.start()
        self._loop.start()
        self._loop.result()
        self.mind.scribe.activity.wait_idle(DRAIN_SECONDS)
        self.mind.loop.finish()
        return not self._hearing.failed

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.microphone.close()
        self.mind.loop.stop()
        self.mind.scribe.end()
        self._loop.join(LAST_WORDS_SECONDS)
        self._closers.close()


class Chat:
    """The same mind by text. Use as a context manager."""

    def __init__(
        self,
        config: Config,
        show: Callable[[Shown], None],
        say: Callable[[str], None],
        progress: Progress = lambda step: None,
    ) -> None:
        """`say` gets each sentence of a reply as soon as it is complete."""
        self._closers = ExitStack()
        with ExitStack() as guard:
            guard.callback(self._closers.close)
            self.clock = RealClock()
            self.clock.start()
            line = Line(show, content=config.log.content)
            engines = self._closers.enter_context(ExitStack())  # closed last: it may take seconds
            home = open_home(config, self.clock.wall(), line.tell, self._closers)
            self.engines = load_engines(config, progress, speech=False, closers=engines)
            mouth = Page(self.clock, say)
            self.mind = build_mind(config, home, self.engines, mouth, self.clock, line)
            warm_prompts(self.mind, progress)
            self._loop = Worker("loop", self.mind.loop.run).start()
            self.engines.users.append(self._loop)
            guard.pop_all()

    def ask(self, text: str, language: str) -> None:
        """Blocks until it is answered. Raises BrokenPipeError when nobody reads the answer."""
        self.mind.loop.tell(Typed(text, language))
        self.mind.loop.activity.wait_idle()
        if not self._loop.alive:
            self._loop.result()

    def settle(self) -> None:
        """Wait until the answer is out and its notes are taken."""
        self.mind.loop.activity.wait_idle()
        self.mind.scribe.activity.wait_idle(DRAIN_SECONDS)

    def end(self) -> None:
        """Answer what is queued, take the notes (bounded), show what is still open."""
        self.mind.loop.tell(Ended(self.clock.now()))
        self._loop.result()
        self.mind.scribe.activity.wait_idle(DRAIN_SECONDS)
        self.mind.loop.finish()

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        self.mind.loop.stop()
        self.mind.scribe.end()
        self._loop.join(LAST_WORDS_SECONDS)
        self._closers.close()
