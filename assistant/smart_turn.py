"""Does it sound as if the person has finished? The smart-turn network on the last 8 s of sound.

It hears melody and rhythm and understands no words. Missing weights are no error: whoever asks
is told once, in a log line, and gets None.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.audio.files import RATE, resample
from assistant.errors import AssistantError, ModelError
from assistant.events import Audio, Samples

log = logging.getLogger(__name__)

MODEL = "smart-turn"
KIND = "vad"
SECONDS = 8
"""what the network hears; the end of the sound is the end of the window"""
MELS = 80
HOP = 160
"""samples between two columns of the spectrogram"""
QUIETEST = 1e-7
"""added to the variance, so that silence stays silence"""

Find = Callable[[str, str], Path]
"""where the weights of a name and kind are"""
Spectrogram = NDArray[np.float32]


class SmartTurn:
    """smart-turn v3 (a Whisper tiny encoder with a head, 8 bits). One call at a time."""

    def __init__(self, path: Path) -> None:
        """Raises ModelError when the file is missing or not this network."""
        import onnxruntime
        from faster_whisper.feature_extractor import FeatureExtractor

        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # Idle threads that spin would take the processor from recognition.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ModelError(
                f"{path} cannot be loaded as the end-of-turn network. Run: run.py models verify"
            ) from error
        inputs = self._session.get_inputs()
        frames = SECONDS * RATE // HOP
        if len(inputs) != 1 or inputs[0].shape[1:] != [MELS, frames]:
            raise ModelError(f"{path} is not smart-turn version 3. Run: run.py models pull {MODEL}")
        self._input = inputs[0].name
        self._features: Any = FeatureExtractor(feature_size=MELS, chunk_length=SECONDS)
        self.seconds = 0.0
        """how long the last call took"""

    def probability(self, audio: Audio) -> float:
        """That the speaker has finished, 0 to 1. `audio` ends where the pause is judged."""
        begin = time.perf_counter()
        features = self._spectrogram(last(resample(audio, RATE).samples))
        output = self._session.run(None, {self._input: features[None]})[0]
        self.seconds = time.perf_counter() - begin
        return float(np.clip(output.reshape(-1)[0], 0.0, 1.0))

    def _spectrogram(self, window: Samples) -> Spectrogram:
        """Whisper's log-mel spectrogram (Radford et al. 2022, 2.2), shape (80, 800)."""
        mel: Spectrogram = self._features(window, padding=0)
        return mel.astype(np.float32)


def last(samples: Samples) -> Samples:
    """The last SECONDS, zeros before a shorter sound, with mean 0 and variance 1 (8 s at RATE)."""
    size = SECONDS * RATE
    window = np.zeros(size, np.float32)
    tail = samples[-size:]
    window[size - len(tail) :] = tail
    scale = np.sqrt(window.var() + QUIETEST)
    return np.asarray((window - window.mean()) / scale, np.float32)


def load(find: Find) -> SmartTurn | None:
    """The network, or None (and a log line) when its weights are absent or unusable."""
    try:
        return SmartTurn(find(MODEL, KIND))
    except AssistantError as error:
        log.warning("ends of turns are judged without their sound: %s", error)
        return None
