"""Talk and Chat: the whole assistant from its source of words to its mouth; owns all lifetimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.audio import files
from assistant.audio.devices import choose
from assistant.audio.echo_engines import missing
from assistant.audio.echo_reference import Reference
from assistant.audio.mic import DeviceMicrophone, FileMicrophone
from assistant.audio.recording import Recording
from assistant.audio.speaker import DeviceSpeaker, SilentSpeaker
from assistant.clock import FrameClock, RealClock
from assistant.config import Config
from assistant.ears import Ears
from assistant.endpoint import Endpoint
from assistant.events import Audio, Ended
from assistant.hearing import build_hearing
from assistant.home import Home, bank_id, open_home
from assistant.loop import Notice, Shown, Typed
from assistant.mouth import Page, Speech
from assistant.speakable import language_of
from assistant.stages import Microphone, Speaker
from assistant.wiring import (
    LAST_WORDS_SECONDS,
    Line,
    Mind,
    Progress,
    Tell,
    build_mind,
    load_engines,
    warm_prompts,
)
from assistant.wording import words
from assistant.workers import Worker

ECHO_TAIL = 0.25
"""seconds for which the room still holds our own voice"""
DRAIN_SECONDS = 3.0
"""longest wait for the notes of the last turns at a normal end; the rest is taken up next time"""
SETTLE_SECONDS = 30.0
"""longest wait for the notes of a turn, where somebody asks for them"""


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
        live = source.segments is None
        if live:
            choose(config.audio.mic, "input")  # no microphone: say so before models are loaded
        line = Line(show, content=config.log.content)
        engines = self._closers.enter_context(ExitStack())  # closed last: it may take seconds
        home = open_home(config, self.clock.wall(), line.tell, self._closers)
        recording = None
        if source.record is not None:
            recording = Recording(source.record, line.tell)
            self._closers.callback(recording.close)
        reference = Reference()
        speaker = self._speaker(config, source, (recording, reference), line.tell)
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
        hearing = build_hearing(
            config, self.mind, self.engines, self.clock, reference if live else None
        )
        self.microphone = self._microphone(config, source, hearing.endpoint, line.tell)
        self._ahead = hearing.ahead
        if live and config.audio.echo == "cancel" and hearing.listener is None:
            notice(words("half_duplex", "en", reason=missing()))
        deaf = hearing.listener is None and config.audio.echo != "none" and live
        self._hearing = Ears(
            self.microphone,
            hearing.detector,
            hearing.endpoint,
            self.mind.loop.tell,
            listener=hearing.listener,
            deaf_until=lambda: speaker.busy_until + ECHO_TAIL if deaf else 0.0,
            record=recording.heard if recording is not None else lambda frame: None,
            opened=self._opened,
        )
        self._ears = Worker("ears", self._hearing.run)
        self._loop = Worker("loop", self.mind.loop.run)
        self._foresight = Worker("ahead", self._ahead.run)
        self.engines.users += [self._loop, self._foresight]

    def _speaker(
        self,
        config: Config,
        source: Source,
        sinks: tuple[Recording | None, Reference],
        trouble: Tell,
    ) -> Speaker:
        recording, reference = sinks
        if not source.speaker:
            return SilentSpeaker(self.clock, recording, config.audio.volume)
        return DeviceSpeaker(
            config.audio.speaker, config.audio.volume, self.clock, recording, trouble, reference
        )

    def _microphone(
        self, config: Config, source: Source, endpoint: Endpoint, trouble: Tell
    ) -> Microphone:
        if isinstance(self.clock, RealClock):
            device = DeviceMicrophone(config.audio.mic, self.clock, trouble)
            self._closers.callback(device.close)
            return device
        assert source.segments is not None
        mind = self.mind

        def answering() -> bool:
            return mind.loop.activity.busy or mind.loop.preparing

        def busy() -> bool:
            return answering() or mind.scribe.activity.busy

        def idle() -> bool:
            working = busy() if source.patient else answering()
            said = not working and not endpoint.open
            return said and self._speaker_used.busy_until <= self.clock.now()

        return FileMicrophone(
            source.segments(mind), self.clock, fast=source.fast, idle=idle, busy=busy
        )

    def run(self) -> bool:
        """Blocks until the source has ended and the last turn is noted (bounded).

        False when it ended because a stage broke, which has been told. Raises BrokenPipeError
        when nobody reads what is shown.
        """
        self._foresight.start()
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
        self._config = config
        self._show = show
        self._say = say
        self._closers = ExitStack()
        self._sitting = ExitStack()
        with ExitStack() as guard:
            guard.callback(self._closers.close)
            guard.callback(self._sitting.close)
            self.clock = RealClock()
            self.clock.start()
            line = Line(show, content=config.log.content)
            home = open_home(config, self.clock.wall(), line.tell, self._sitting)
            self.engines = load_engines(config, progress, speech=False, closers=self._closers)
            self._sit_down(config, home, line, progress)
            guard.pop_all()

    def _sit_down(self, config: Config, home: Home, line: Line, progress: Progress) -> None:
        """Somebody's conversation begins, or goes on."""
        self.engines.closers = self._sitting
        mouth = Page(self.clock, self._say)
        self.mind = build_mind(config, home, self.engines, mouth, self.clock, line)
        warm_prompts(self.mind, progress)
        self._loop = Worker("loop", self.mind.loop.run).start()
        self.engines.users.append(self._loop)

    def switch(self, bank: str) -> None:
        """Somebody else speaks: end this conversation and open theirs. Raises StorageError."""
        memory = replace(self._config.memory, bank=bank)
        config = replace(self._config, memory=memory)
        bank_id(bank or "guest")  # refused before anything is closed
        self.end()
        self._stand_up()
        self._sitting = ExitStack()
        line = Line(self._show, content=config.log.content)
        home = open_home(config, self.clock.wall(), line.tell, self._sitting)
        self._sit_down(config, home, line, lambda step: None)

    def refresh(self) -> None:
        """The conversation has begun anew: evaluate its prompt."""
        self.mind.scribe.enqueue(None)

    def ask(self, text: str, language: str) -> None:
        """Blocks until it is answered. Raises BrokenPipeError when nobody reads the answer."""
        self.mind.loop.tell(Typed(text, language))
        self.mind.loop.activity.wait_idle()
        if not self._loop.alive:
            self._loop.result()

    def settle(self) -> None:
        """Wait until the answer is out and its notes are taken."""
        self.mind.loop.activity.wait_idle()
        self.mind.scribe.activity.wait_idle(SETTLE_SECONDS)

    def end(self) -> None:
        """Answer what is queued, take the notes (bounded), show what is still open."""
        self.mind.loop.tell(Ended(self.clock.now()))
        self._loop.result()
        self.mind.scribe.activity.wait_idle(DRAIN_SECONDS)
        self.mind.loop.finish()

    def _stand_up(self) -> None:
        self.mind.loop.stop()
        self.mind.scribe.end()
        self._loop.join(LAST_WORDS_SECONDS)
        for user in self.engines.users:
            user.join()
        self.engines.users.clear()
        self._sitting.close()

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        self.mind.loop.stop()
        self.mind.scribe.end()
        self._loop.join(LAST_WORDS_SECONDS)
        self._sitting.close()
        self._closers.close()
