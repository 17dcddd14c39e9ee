"""The speech detector: its contract on a stand-in network, its ears on the real one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant.audio import files
from assistant.config import VadConfig
from assistant.errors import InputError, ModelError
from assistant.events import Frame
from assistant.vad import SileroVad, load_vad

Weights = Callable[[str, str], Path]


@pytest.fixture
def vad(weights: Weights) -> SileroVad:
    return SileroVad(weights("silero-vad", "vad"))


def share(vad: SileroVad, path: Path) -> float:
    """Share of the frames that are speech."""
    vad.reset()
    found = [vad.probability(frame) >= 0.5 for frame in files.frames(files.stream(path))]
    return sum(found) / len(found)


def test_a_file_that_is_no_network_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "vad.onnx"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match=r"vad\.onnx cannot be loaded"):
        SileroVad(path)


def test_a_folder_without_one_network_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"one \.onnx file, not 0"):
        load_vad(VadConfig(), lambda name, kind: tmp_path)


@pytest.mark.models
def test_speech_is_speech_and_the_rest_is_not(vad: SileroVad, testdata: Path) -> None:
    speech = testdata / "speech"
    assert share(vad, speech / "en" / "DeepSpeech__arctic_a0024.wav") > 0.8
    for name in ("silence/clicks_15s.wav", "noise/alsa__Noise.wav", "noise/wyoming__done.wav"):
        assert share(vad, speech / name) == 0, name


@pytest.mark.models
def test_reset_forgets(vad: SileroVad, testdata: Path) -> None:
    path = testdata / "speech" / "en" / "DeepSpeech__arctic_a0024.wav"
    frames = list(files.frames(files.stream(path)))[:20]
    first = [vad.probability(frame) for frame in frames]
    vad.reset()
    assert [vad.probability(frame) for frame in frames] == first
    assert [vad.probability(frame) for frame in frames] != first


@pytest.mark.models
def test_nan_is_an_error_and_leaves_the_detector_usable(vad: SileroVad) -> None:
    silent = Frame(np.zeros(512, np.float32), 0.0)
    before = vad.probability(silent)
    with pytest.raises(InputError, match="not numbers"):
        vad.probability(Frame(np.full(512, np.nan, np.float32), 1.0))
    assert np.isfinite(vad.probability(silent))
    vad.reset()
    assert vad.probability(silent) == before


@pytest.mark.models
def test_a_frame_of_another_size_is_refused(vad: SileroVad) -> None:
    with pytest.raises(ValueError, match="512"):
        vad.probability(Frame(np.zeros(480, np.float32), 0.0))
