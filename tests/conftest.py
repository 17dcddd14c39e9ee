"""What several tests need: test material, weights, a virtual sound card."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from assistant.audio import files
from assistant.config import ROOT
from assistant.errors import ModelError
from assistant.events import Audio
from assistant.weights import find
from tests.soundcard import VirtualCard, missing

# No test, nor a program that it starts, writes into the keyring of whoever runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# A busy machine is no fault of what is tested: no example has a deadline.
settings.register_profile("assistant", deadline=None)
settings.load_profile("assistant")


def pytest_collection_finish() -> None:
    """What the tests are made of stays: it is not gone through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)


@pytest.fixture(scope="session")
def testdata() -> Path:
    """The folder of recordings and dialogues; it is not part of the product."""
    folder = Path(os.environ.get("ASSISTANT_TESTDATA") or ROOT.parent / "shared" / "testdata")
    if not folder.is_dir():
        pytest.skip(f"no test material at {folder} (set ASSISTANT_TESTDATA)")
    return folder


@pytest.fixture(scope="session")
def weights() -> Callable[[str, str], Path]:
    """`weights(name, kind)` finds a model, or skips the test."""

    def found(name: str, kind: str) -> Path:
        try:
            return find(name, kind)
        except ModelError as error:
            pytest.skip(f"weights are not here: {error}")

    return found


@pytest.fixture(scope="session")
def virtual_card() -> Iterator[VirtualCard]:
    """A private PulseAudio with a virtual microphone and a virtual speaker."""
    if reason := missing():
        pytest.skip(f"no virtual sound card: {reason}")
    # its own short path: a socket's name may have 107 characters only
    with tempfile.TemporaryDirectory(prefix="card") as folder:
        card = VirtualCard(Path(folder))
        try:
            card.__enter__()
        except RuntimeError as error:
            pytest.skip(f"PulseAudio does not start here: {error}")
        try:
            yield card
        finally:
            card.__exit__()


@pytest.fixture(scope="session")
def listener(weights: Callable[[str, str], Path]) -> Callable[[Audio], str]:
    """Plain recognition, to hear whether something was said aloud right."""
    path = weights("whisper-base", "asr")
    from faster_whisper import WhisperModel

    model = WhisperModel(str(path), device="cpu", compute_type="int8", cpu_threads=2)

    def listen(audio: Audio) -> str:
        samples = files.resample(audio, files.RATE).samples
        segments, _ = model.transcribe(samples, language="en", beam_size=2)
        return " ".join(segment.text.strip() for segment in segments)

    return listen
