"""One scene of the echo benchmark after another, through what the voice loop really uses.

Frame by frame through canceller, detectors and decision; a hold goes to a real speaker with a real
recording, from which the reaction is measured. Knows nothing of tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assistant.audio.echo import EchoCanceller
from assistant.audio.echo_reference import Reference
from assistant.audio.recording import Recording
from assistant.audio.speaker import SilentSpeaker
from assistant.barge_in import Listener, Stage
from assistant.bench.echo_people import PERSON_SECONDS, Person
from assistant.bench.echo_scenes import NOISE, Scene, cough, levelled, loudness, scene
from assistant.clock import FrameClock
from assistant.events import Audio, Frame, Samples
from assistant.stages import SpeechDetector

RATE = 16000
FRAME = 512
ALONE_SECONDS = 60.0
ENTRY = (2.0, 8.0)
"""seconds after which somebody interrupts, a sentence or a whole reply into it"""
SHORT_ENTRY = (2.0, 3.0)
"""the same for recordings of echo, some of which last 5 s"""
BUFFER = 0.06
"""seconds of sound in a device's buffer, which are heard after the decision"""
SPOKEN_SECONDS, SILENT_SECONDS = 4.0, 20.0


@dataclass(slots=True)
class Row:
    """What happened at one level of the echo."""

    level: int | None
    """decibels relative to a person; None: what was recorded"""
    seconds_alone: float = 0.0
    self_interruptions: int = 0
    reactions: list[float | None] = field(default_factory=list)
    """seconds from the first speech to silence; None: never, or not before it was over"""
    coughs: int = 0
    coughs_taken: int = 0


@dataclass(slots=True)
class Load:
    """Computing, as a share of one core."""

    seconds: float = 0.0
    busy: float = 0.0

    @property
    def share(self) -> float | None:
        return round(self.busy / self.seconds, 4) if self.seconds else None


@dataclass(slots=True)
class Trials:
    """Runs scenes and adds up."""

    detector: SpeechDetector
    second: SpeechDetector
    replies: Sequence[Audio]
    playing: Load = field(default_factory=Load)
    silent: Load = field(default_factory=Load)

    def alone(self, row: Row, rng: np.random.Generator) -> None:
        """A minute of our own echo."""
        assert row.level is not None
        self.recorded(row, scene(rng, self.replies, ALONE_SECONDS, row.level), rng)

    def recorded(self, row: Row, made: Scene, _: np.random.Generator) -> None:
        """Our own echo as it is."""
        row.seconds_alone += len(made.heard) / RATE
        row.self_interruptions += len(self._moments(made))

    def interrupted(self, row: Row, person: Person, rng: np.random.Generator) -> None:
        """Somebody speaks while we do."""
        assert row.level is not None
        entry = float(rng.uniform(*ENTRY))
        made = scene(rng, self.replies, entry + PERSON_SECONDS, row.level)
        self._stopped(row, made.joined(person.samples, entry), entry, entry + person.onset)

    def joined(
        self, row: Row, made: Scene, level: int, person: Person, rng: np.random.Generator
    ) -> None:
        """Somebody speaks over echo that was recorded, and which is `level` dB louder."""
        entry = float(rng.uniform(*SHORT_ENTRY))
        samples = levelled(person.samples, loudness(made.heard) / 10 ** (level / 20))
        self._stopped(row, made.joined(samples, entry), entry, entry + person.onset)

    def coughed(self, row: Row, rng: np.random.Generator) -> None:
        """A short noise while we speak."""
        assert row.level is not None
        entry = float(rng.uniform(*ENTRY))
        made = scene(rng, self.replies, entry + 1.5, row.level, (cough(rng), entry))
        row.coughs += 1
        row.coughs_taken += any(moment > entry for moment in self._moments(made))

    def silence(self, rng: np.random.Generator) -> None:
        """We have spoken and are silent: what listening costs."""
        noise = NOISE * rng.standard_normal(round(SILENT_SECONDS * RATE)).astype(np.float32)
        made = scene(rng, self.replies, SPOKEN_SECONDS, -12)
        quiet = Scene(made.played, made.spoken, np.concatenate([made.heard, noise]))
        self._moments(quiet, self.silent, after=SPOKEN_SECONDS + 2.0)

    def _stopped(self, row: Row, made: Scene, entry: float, onset: float) -> None:
        """The reaction: from the recording of a session in which the reply is held at SURE."""
        clock = FrameClock(realtime=False)
        with TemporaryDirectory() as folder:
            recording = Recording(Path(folder) / "session.wav")
            speaker = SilentSpeaker(clock, recording)
            speaker.play(Audio(made.spoken, RATE))
            sure = self._held(made, speaker, clock, recording)
            last = _last_played(recording)
        if sure and clock.now() <= entry:
            row.self_interruptions += 1
            sure = False
        row.reactions.append(last + BUFFER - onset if sure else None)

    def _held(
        self, made: Scene, speaker: SilentSpeaker, clock: FrameClock, recording: Recording
    ) -> bool:
        """Hold the reply as soon as somebody surely speaks; False when nobody does."""
        for frame, stage in self._stages(made, self.playing):
            clock.advance(FRAME / RATE)
            recording.heard(frame)
            if stage is Stage.SURE:
                speaker.hold()
                return True
        return False

    def _moments(self, made: Scene, load: Load | None = None, after: float = 0.0) -> list[float]:
        """When somebody was surely speaking over us, once for each time (seconds)."""
        found, before = [], Stage.NOBODY
        for frame, stage in self._stages(made, load or self.playing, after):
            if stage is Stage.SURE and before is not Stage.SURE:
                found.append(frame.at + FRAME / RATE)
            before = stage
        return found

    def _stages(self, made: Scene, load: Load, after: float = 0.0) -> Iterator[tuple[Frame, Stage]]:
        reference = Reference()
        for audio, at in made.played:
            reference.played(audio, at)
        self.detector.reset()
        listener = Listener(EchoCanceller(reference), self.detector, self.second)
        for place in range(0, len(made.heard) - FRAME + 1, FRAME):
            frame = Frame(made.heard[place : place + FRAME], place / RATE)
            begin = time.thread_time()
            stage = listener.hear(frame).stage
            if frame.at >= after:
                load.busy += time.thread_time() - begin
                load.seconds += FRAME / RATE
            yield frame, stage


def _last_played(recording: Recording) -> float:
    """Second of the last sample that was played in a session, which ends here."""
    import soundfile

    recording.close()
    samples: Samples = soundfile.read(recording.path, dtype="float32")[0][:, 1]
    loud = np.flatnonzero(np.abs(samples) > 1e-4)
    return float(loud[-1] + 1) / RATE if len(loud) else 0.0
