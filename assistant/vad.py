"""Is someone speaking? Silero's streaming network, one 32 ms frame after another.

It knows nothing of pauses and utterances; that is endpoint.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assistant.config import VadConfig
from assistant.errors import InputError, ModelError
from assistant.events import Frame, Samples

FRAME = 512
"""samples of 16 kHz sound the network takes at a time"""
CONTEXT = 64
"""samples of the frame before that the network (v5 and v6) wants in front of each frame"""
STATE = (2, 1, 128)
"""shape of the recurrent state"""

Find = Callable[[str, str], Path]
"""where the weights of a name and kind are"""


class SileroVad:
    """Implements stages.SpeechDetector. About 0.2 ms a frame on one thread."""

    def __init__(self, path: Path) -> None:
        """Raises ModelError when the file is missing or not this network."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ModelError(
                f"{path} cannot be loaded as the speech detector. Run: run.py models verify"
            ) from error
        names = {item.name for item in self._session.get_inputs()}
        if names != {"input", "state", "sr"}:
            raise ModelError(
                f"{path} is not a Silero speech detector of version 5 or 6. "
                "Name another one in config.toml, vad.model."
            )
        self._rate = np.array(16_000, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget the sound so far."""
        self._state = np.zeros(STATE, np.float32)
        self._context: Samples = np.zeros(CONTEXT, np.float32)

    def probability(self, frame: Frame) -> float:
        """Speech probability of 512 samples, 0 to 1. Raises InputError for samples that are NaN."""
        if frame.samples.shape != (FRAME,):
            raise ValueError(f"a frame has {FRAME} samples, not shape {frame.samples.shape}")
        if not np.isfinite(frame.samples).all():  # the network would call them silence
            raise InputError(
                f"The sound at {frame.at:.1f} s holds samples that are not numbers. "
                "Check the microphone or the file."
            )
        sound = np.concatenate([self._context, frame.samples])
        inputs = {"input": sound[None, :], "state": self._state, "sr": self._rate}
        output, state = self._session.run(["output", "stateN"], inputs)
        self._state = state
        self._context = sound[-CONTEXT:]
        return float(output[0, 0])


def load_vad(config: VadConfig, find: Find) -> SileroVad:
    """The detector that the settings name; `find(name, kind)` knows where weights are.

    Raises ModelError when they are absent or unusable.
    """
    path = find(config.model, "vad")
    if path.is_dir():
        networks = sorted(path.glob("*.onnx"))
        if len(networks) != 1:
            raise ModelError(
                f"{path} must hold one .onnx file, not {len(networks)}. Run: run.py models verify"
            )
        path = networks[0]
    return SileroVad(path)
