"""Sound files in and out: any format libsndfile or FFmpeg reads, as mono float32 at any rate.

`stream` holds one block in memory, whatever the length of the file; `read` is for short files.
Codecs raise errors of every kind on broken data; all of them leave here as one AudioFormatError.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio, Frame, Samples

log = logging.getLogger(__name__)

RATE = 16_000
"""Hertz; what recognition and speech detection want."""
FRAME = 512
"""samples of one Frame"""
LOWEST_RATE, HIGHEST_RATE = 4_000, 384_000
"""Hertz; a header outside of this is broken, not unusual."""
STEP = 4096
"""frames decoded at a time"""
PEAK_LIMIT = 16.0
"""Float files may overshoot 1 a little; beyond this the samples are on another scale."""
ADVICE = "Save it as WAV, FLAC or MP3 with a sound editor and try again."

Matrix = NDArray[np.float32]
"""float32, shape (frames, channels)"""


class _Source(Protocol):
    """An open file that gives its samples block by block."""

    rate: int
    seconds: float | None

    def blocks(self, seconds: float) -> Iterator[Matrix]: ...

    def close(self) -> None: ...


def _collected(parts: Iterator[Matrix], size: int) -> Iterator[Matrix]:
    """Blocks of at least `size` frames; what came before damage is given before its error."""
    waiting: list[Matrix] = []
    fault: Exception | None = None
    while True:
        try:
            part = next(parts, None)
        except Exception as error:  # codecs raise anything; it goes on after the last whole block
            part, fault = None, error
        if part is not None:
            waiting.append(part)
        if waiting and (part is None or sum(map(len, waiting)) >= size):
            yield np.concatenate(waiting)
            waiting = []
        if fault is not None:
            raise fault
        if part is None:
            return


class _SndFile:
    """A file opened by libsndfile."""

    def __init__(self, path: Path) -> None:
        import soundfile

        self._file: Any = soundfile.SoundFile(path)
        self.rate = int(self._file.samplerate)
        self.seconds: float | None = self._file.frames / self.rate if self.rate else None

    def blocks(self, seconds: float) -> Iterator[Matrix]:
        yield from _collected(self._parts(), max(1, int(self.rate * seconds)))

    def _parts(self) -> Iterator[Matrix]:
        # small steps: a damaged one is lost as a whole
        while len(part := self._file.read(STEP, dtype="float32", always_2d=True)):
            yield part

    def close(self) -> None:
        self._file.close()


class _AvFile:
    """A file opened by FFmpeg, for the formats libsndfile does not know (m4a, webm, wma …)."""

    def __init__(self, path: Path) -> None:
        import av

        self._av: Any = av
        self._file: Any = av.open(str(path), metadata_errors="ignore")
        if not self._file.streams.audio:
            self._file.close()
            raise ValueError("no sound track")
        self._track: Any = self._file.streams.audio[0]
        self.rate = int(self._track.rate or 0)
        length = self._file.duration
        self.seconds: float | None = length / av.time_base if length else None

    def blocks(self, seconds: float) -> Iterator[Matrix]:
        yield from _collected(self._parts(), max(1, int(self.rate * seconds)))

    def _parts(self) -> Iterator[Matrix]:
        convert = self._av.AudioResampler(format="fltp", rate=self.rate)
        for packet in self._file.demux(self._track):
            try:
                decoded = packet.decode()
            except self._av.error.InvalidDataError:
                continue  # a damaged packet; the next one may be whole
            for frame in decoded:
                for part in convert.resample(frame):
                    yield np.ascontiguousarray(part.to_ndarray().T, dtype=np.float32)

    def close(self) -> None:
        self._file.close()


class _Downmix:
    """Channels to one: their mean, or the strongest where they cancel each other.

    In-phase channels keep all their energy in the mean, independent ones half, anti-phase ones
    nothing and a single live channel a quarter; below 30 % the strongest channel alone is used.
    """

    def __init__(self, rate: int) -> None:
        self._weights: Samples | None = None
        self._fade = max(1, rate // 50)

    def __call__(self, block: Matrix) -> Samples:
        channels = block.shape[1]
        if channels == 1:
            return block[:, 0]
        energy = np.einsum("ij,ij->j", block, block)
        mean = block.mean(axis=1)
        weights = np.full(channels, 1 / channels, dtype=np.float32)
        if float(mean @ mean) < 0.3 * float(energy.max()):
            weights = np.eye(channels, dtype=np.float32)[int(energy.argmax())]
        before = weights if self._weights is None else self._weights
        self._weights = weights
        mono: Samples = block @ weights
        if not np.array_equal(before, weights):
            fade = min(self._fade, len(block))
            ramp = np.linspace(0, 1, fade, dtype=np.float32)
            mono[:fade] = ramp * mono[:fade] + (1 - ramp) * (block[:fade] @ before)
        return mono


def _refuse(path: Path, what: str, advice: str = ADVICE) -> NoReturn:
    raise AudioFormatError(f"{path}: {what} {advice}")


def _check_path(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: there is no such file. Check the name.")
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a sound file in it.")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file. Name a sound file.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read. Change its permissions.")
    if path.stat().st_size == 0:
        _refuse(path, "the file is empty (0 bytes).", "Record or copy it again.")


def _open(path: Path) -> _Source:
    """Raises InputError or AudioFormatError with one sentence."""
    _check_path(path)
    source: _Source
    try:
        source = _SndFile(path)
    except Exception as first:
        log.debug("libsndfile cannot read %s: %s", path, first)
        try:
            source = _AvFile(path)
        except Exception as second:
            log.debug("FFmpeg cannot read %s: %s", path, second)
            raise AudioFormatError(
                f"{path}: not a sound format this program knows (raw samples without a header "
                f"are none). {ADVICE}"
            ) from second
    if not LOWEST_RATE <= source.rate <= HIGHEST_RATE:
        source.close()
        _refuse(path, f"the header names an impossible sample rate ({source.rate} Hz).")
    return source


def _checked(path: Path, source: _Source, seconds: float) -> Iterator[Matrix]:
    """The blocks of a source; damage ends the sound, and is an error before the first block."""
    found = False
    blocks = source.blocks(seconds)
    while True:
        try:
            block = next(blocks, None)
        except Exception as error:
            if found:
                log.warning("%s is damaged; used what comes before: %s", path, error)
                return
            raise AudioFormatError(f"{path}: the sound in it is damaged. {ADVICE}") from error
        if block is None:
            break
        if not np.isfinite(block).all():
            _refuse(path, "some samples are not numbers (NaN or infinite).")
        if len(block) and float(np.abs(block).max()) > PEAK_LIMIT:
            _refuse(path, "the samples go far beyond the range -1 to 1.")
        found = found or len(block) > 0
        yield np.clip(block, -1.0, 1.0)
    if not found:
        _refuse(path, "there is no sound in it.", "Record or copy it again.")


def _resampled(path: Path, source: _Source, rate: int, seconds: float) -> Iterator[Audio]:
    import soxr

    downmix = _Downmix(source.rate)
    convert = soxr.ResampleStream(source.rate, rate, 1, dtype="float32")
    same = source.rate == rate
    try:
        for block in _checked(path, source, seconds):
            mono = downmix(block)
            samples = mono if same else convert.resample_chunk(mono)
            if len(samples):
                yield Audio(np.ascontiguousarray(samples, dtype=np.float32), rate)
        rest = np.empty(0, np.float32)
        if not same:
            rest = convert.resample_chunk(rest, last=True)
        if len(rest):
            yield Audio(rest, rate)
    finally:
        source.close()


def stream(path: str | Path, rate: int = RATE, block_seconds: float = 1.0) -> Iterator[Audio]:
    """Mono blocks of about `block_seconds` at `rate` Hz, one in memory at a time.

    A file that cannot be opened raises at once, damaged samples where they stand:
    InputError or AudioFormatError, one sentence that names the file and what to do.
    """
    path = Path(path)
    return _resampled(path, _open(path), rate, block_seconds)


def read(path: str | Path, rate: int = RATE) -> Audio:
    """A whole short file, mono, at `rate` Hz. Errors as for `stream`."""
    return Audio(np.concatenate([block.samples for block in stream(path, rate)]), rate)


def duration(path: str | Path) -> float | None:
    """Seconds as the header tells, None when it does not. Errors as for `stream`."""
    source = _open(Path(path))
    source.close()
    return source.seconds


def frames(blocks: Iterable[Audio]) -> Iterator[Frame]:
    """Cut 16 kHz blocks into Frames of 512 samples; the last one is filled up with zeros."""
    rest: Samples = np.empty(0, np.float32)
    count = 0
    for block in blocks:
        rest = np.concatenate([rest, block.samples])
        whole = len(rest) // FRAME * FRAME
        for start in range(0, whole, FRAME):
            yield Frame(rest[start : start + FRAME], count * FRAME / RATE)
            count += 1
        rest = rest[whole:]
    if len(rest):
        yield Frame(np.pad(rest, (0, FRAME - len(rest))), count * FRAME / RATE)


def resample(audio: Audio, rate: int) -> Audio:
    """The same sound at another rate (Hz)."""
    import soxr

    if audio.rate == rate or not len(audio.samples):
        return Audio(audio.samples, rate)
    return Audio(soxr.resample(audio.samples, audio.rate, rate).astype(np.float32), rate)


def write_wav(path: str | Path, audio: Audio) -> None:
    """Write a 16-bit mono WAV. Raises InputError when the place cannot be written."""
    import soundfile

    try:
        soundfile.write(
            path, np.clip(audio.samples, -1, 1), audio.rate, format="WAV", subtype="PCM_16"
        )
    except (OSError, soundfile.SoundFileError) as error:
        raise InputError(f"{path} cannot be written. Name a file in a folder you own.") from error
