"""Text to speech with Piper: one voice for each language, a sentence at a time.

It does not know what is a sentence of a reply, nor when it is heard.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from assistant.config import TtsConfig
from assistant.errors import ModelError
from assistant.events import Audio, Samples
from assistant.speakable import language_of, speakable

Find = Callable[[str, str], Path]
"""where the weights of a name and kind are"""

THREADS = min(4, max(2, (os.cpu_count() or 2) // 2))
"""More only take the processor from the language model, which speaks on meanwhile."""
LEVEL = 0.1
"""Root mean square of the speech, of full scale 1 (-20 dBFS)."""
KNEE, CEILING = 0.7, 0.98
"""Peaks above the knee are rounded off below the ceiling, so that nothing clips."""
QUIET = 0.001
"""Root mean square of 5 ms without speech: a soft "th" has 0.002, the voice's silence 0.0001."""
LEAD_SECONDS, TAIL_SECONDS = 0.02, 0.06
"""Kept of the voice's own silence before and after the speech."""
GAPS = {",": 0.08, ";": 0.14, ":": 0.14, ".": 0.24, "!": 0.24, "?": 0.24}
"""Seconds of silence after a mark; what ends without one goes on after a breath, OTHER_GAP."""
OTHER_GAP = 0.05
KEPT, KEPT_CHARACTERS = 64, 80
"""Sounds kept for the next time, and the length of their texts: 15 MB at most."""
LONGEST = 300
"""Characters synthesised at once; a longer sentence is divided at a comma or a space."""

__all__ = ["PiperEngine", "PiperVoices", "language_of"]


class Engine(Protocol):
    """One loaded voice."""

    rate: int
    """Hertz"""

    def speak(self, text: str, speed: float) -> Samples:
        """Float32, shape (n,), not yet levelled; empty when the text has no sound."""


class PiperEngine:
    """A Piper voice: an ONNX file with its settings beside it."""

    def __init__(self, path: Path, device: str = "auto") -> None:
        """Raises ModelError when files are missing, damaged or not a Piper voice."""
        from piper import PiperVoice
        from piper.config import PiperConfig

        settings = Path(f"{path}.json")
        for file in (path, settings):
            if not file.is_file():
                raise ModelError(
                    f"{file} is missing: a Piper voice is two files, .onnx and .onnx.json. "
                    "Run: run.py models pull"
                )
        try:
            config = PiperConfig.from_dict(json.loads(settings.read_text(encoding="utf-8")))
            self._voice: Any = PiperVoice(session=_session(path, device), config=config)
            self.rate = int(config.sample_rate)
            self._length = float(config.length_scale)
            self.speak("one", 1.0)  # proves the voice
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                f"{path} cannot be loaded as a Piper voice ({_first_line(error)}). "
                "Run: run.py models verify"
            ) from error

    def speak(self, text: str, speed: float) -> Samples:
        from piper.config import SynthesisConfig

        config = SynthesisConfig(length_scale=self._length / speed, normalize_audio=False)
        chunks = [chunk.audio_float_array for chunk in self._voice.synthesize(text, config)]
        return np.concatenate(chunks) if chunks else np.zeros(0, np.float32)


class PiperVoices:
    """Implements stages.Voice."""

    def __init__(self, engines: Mapping[str, Engine], speed: float = 1.0) -> None:
        self._engines = dict(engines)
        self._speed = speed
        self._kept: dict[tuple[str, str], Audio] = {}

    @classmethod
    def load(cls, config: TtsConfig, find: Find) -> PiperVoices:
        """A voice for each language named in the config. Raises ModelError."""
        names = {item.name: str(getattr(config, item.name)) for item in fields(config)}
        engines = {
            language: PiperEngine(find(name, "tts"), config.device)
            for language, name in names.items()
            if len(language) == 2 and name
        }
        return cls(engines, config.speed)

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self._engines)

    def warm_up(self) -> None:
        """Speak once, unheard, so that the first reply is not the slow one."""
        for engine in self._engines.values():
            engine.speak("One moment, I will have a look at that for you, 1 2 3.", self._speed)

    def synthesize(self, text: str, language: str) -> Iterator[Audio]:
        """One Audio a sentence, as soon as it is ready; none when nothing can be spoken.

        Raises ModelError where no voice speaks the language, or the voice fails.
        """
        engine = self._engines.get(language)
        if engine is None:
            known = ", ".join(sorted(self._engines)) or "none"
            raise ModelError(
                f"No installed voice speaks {language} (voices: {known}). {_advice(language)}"
            )
        for piece in pieces(speakable(text, language)):
            audio = self._kept.get((language, piece))
            if audio is None:
                audio = self._speak(engine, piece)
                self._keep((language, piece), audio)
            if len(audio.samples):
                yield audio

    def _speak(self, engine: Engine, piece: str) -> Audio:
        try:
            samples = engine.speak(piece, self._speed)
        except Exception as error:
            raise ModelError(f"The voice failed on a sentence ({_first_line(error)}).") from error
        if not len(samples):
            return Audio(samples, engine.rate)
        return Audio(finish(samples, engine.rate, piece), engine.rate)

    def _keep(self, key: tuple[str, str], audio: Audio) -> None:
        """Short questions and confirmations come again; the oldest is dropped."""
        if len(key[1]) <= KEPT_CHARACTERS:
            self._kept[key] = audio
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]


def pieces(text: str) -> Iterator[str]:
    """Sentences; those longer than LONGEST are divided at a comma, or else at a space."""
    for sentence in re.split(r"(?<=[.!?][\"')])\s+|(?<=[.!?])\s+|(?<=[。！？])", text):
        rest = sentence.strip()
        while len(rest) > LONGEST:
            window = rest[:LONGEST]
            cut = max(window.rfind(mark) for mark in ", ，;；、")
            cut = cut if cut > 0 else window.rfind(" ")
            cut = cut if cut > 0 else LONGEST - 1
            yield rest[: cut + 1].strip()
            rest = rest[cut + 1 :].strip()
        if any(char.isalnum() for char in rest):
            yield rest


def finish(samples: Samples, rate: int, text: str) -> Samples:
    """Trim the voice's own silence, bring speech to LEVEL without clipping, end with a pause."""
    hop = rate // 200
    count = len(samples) // hop
    power = np.sqrt(np.square(samples[: count * hop].reshape(count, hop)).mean(axis=1))
    spoken = np.nonzero(power > QUIET)[0]
    if not len(spoken):
        return np.zeros(0, np.float32)
    begin = max(0, spoken[0] * hop - int(LEAD_SECONDS * rate))
    end = min(len(samples), (spoken[-1] + 1) * hop + int(TAIL_SECONDS * rate))
    level = float(np.sqrt(np.square(power[spoken]).mean()))
    speech = _limited(samples[begin:end] * np.float32(LEVEL / level))
    _fade(speech, hop)
    mark = text.rstrip("\"') ")[-1:].translate(str.maketrans("，；：。！？", ",;:.!?"))
    pause = np.zeros(int(GAPS.get(mark, OTHER_GAP) * rate), np.float32)
    return np.concatenate([speech, pause])


def _limited(samples: Samples) -> Samples:
    """Linear up to KNEE, then bent smoothly towards CEILING."""
    size = np.abs(samples)
    room = CEILING - KNEE
    bent = KNEE + room * np.tanh((size - KNEE) / room)
    limited: Samples = np.where(size > KNEE, np.sign(samples) * bent, samples).astype(np.float32)
    return limited


def _fade(samples: Samples, length: int) -> None:
    """In place: both ends reach zero, so that nothing clicks."""
    length = min(length, len(samples) // 2)
    ramp = np.linspace(0, 1, length, dtype=np.float32)
    samples[:length] *= ramp
    samples[len(samples) - length :] *= ramp[::-1]


def _session(path: Path, device: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    usable = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if device == "cuda" and not usable:
        raise ModelError(
            'onnxruntime cannot use a GPU here; set tts.device to "auto" or install its GPU build.'
        )
    providers = ["CPUExecutionProvider"]
    if usable and device != "cpu":
        providers.insert(0, "CUDAExecutionProvider")
    return onnxruntime.InferenceSession(str(path), options, providers=providers)


def _advice(language: str) -> str:
    if language in (item.name for item in fields(TtsConfig)):
        return f"Put a Piper voice into models/ and name it in config.toml, tts.{language}."
    return "A text in this language can only be shown."


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160].rstrip(".")
