"""The end-of-turn network: its window, and life without its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assistant import smart_turn
from assistant.audio import files
from assistant.bench.endpoint import hear, pauses
from assistant.config import Config
from assistant.errors import ModelError
from assistant.patience import SOUND_DONE
from assistant.smart_turn import SECONDS, SmartTurn, last, load
from assistant.vad import load_vad

RATE = 16_000


def test_v1_the_network_hears_the_end_and_silence_before_it() -> None:
    window = last(np.array([0.5, -0.5, 0.25, -0.25] * 1000, np.float32))
    assert window.shape == (SECONDS * RATE,)
    assert np.ptp(window[:-4000]) == 0
    assert np.ptp(window[-4000:]) > 1
    assert abs(float(window.mean())) < 1e-3
    assert abs(float(window.std()) - 1) < 1e-2


def test_v1_of_a_long_sound_the_last_eight_seconds_are_heard() -> None:
    early, late = np.full(RATE * 5, 0.9, np.float32), np.tile([0.1, -0.1], RATE * 4)
    assert np.allclose(last(np.concatenate([early, late]).astype(np.float32)), late / 0.1, 1e-3)


def test_silence_stays_silence() -> None:
    assert np.abs(last(np.zeros(RATE, np.float32))).max() == 0


def test_v1_without_its_weights_there_is_no_network_and_one_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def find(name: str, kind: str) -> Path:
        assert name == smart_turn.MODEL
        raise ModelError("It is missing; run: run.py models pull smart-turn.")

    assert load(find) is None
    assert "models pull smart-turn" in caplog.text


def test_v1_a_damaged_file_is_no_error_for_the_conversation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("faster_whisper")
    path = tmp_path / "smart.onnx"
    path.write_bytes(b"\x08 no network")
    assert load(lambda name, kind: path) is None
    assert str(path) in caplog.text


@pytest.mark.models
def test_v1_whole_commands_sound_done_and_pauses_inside_words_do_not(
    testdata: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 160 ms of the silence; with less of it the network is too sure."""
    monkeypatch.setattr("assistant.endpoint.PAUSE_MS", 160)
    from assistant.weights import find

    network = SmartTurn(find(smart_turn.MODEL, smart_turn.KIND))
    config = Config()
    detector = load_vad(config.vad, find)

    def probabilities(pattern: str) -> list[list[float]]:
        """Of each pause in each recording; the last one is the end."""
        sounds = map(files.read, sorted((testdata / "speech").glob(pattern)))
        found = [pauses(hear(sound, detector), config) for sound in sounds]
        return [[network.probability(pause.audio) for pause in ends] for ends in found]

    whole = [each[-1] for each in probabilities("commands/stp__*.wav") if each]
    inside = [one for each in probabilities("turn/pause*.wav") for one in each[:-1]]
    assert len(whole) > 10
    assert len(inside) > 5
    assert sum(one >= SOUND_DONE for one in whole) / len(whole) > 0.8
    assert sum(one >= SOUND_DONE for one in inside) <= 1
    assert 0 < network.seconds < 5
