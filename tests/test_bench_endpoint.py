"""The endpoint benchmark: what it reads, replays and counts, on sound and words made up here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assistant.bench.endpoint import (
    MODES,
    Heard,
    Item,
    Judge,
    Outcome,
    _table,
    figures,
    hear,
    pauses,
    percentiles,
    recordings,
    replay,
    summary,
)
from assistant.config import Config
from assistant.endpoint import FRAME_SECONDS
from assistant.errors import InputError
from assistant.events import Audio, Frame, Transcript
from assistant.testing import ScriptedDetector, speech


class Words:
    """Implements stages.Recognizer: what was said by a given time."""

    def __init__(self, *said: tuple[float, str, float]) -> None:
        """Seconds of sound at most, text, confidence."""
        self._said = said
        self.calls = 0

    def transcribe(self, audio: Audio, *, speech_share: float = 1.0) -> Transcript:
        self.calls += 1
        text, confidence = next((t, c) for least, t, c in self._said if audio.seconds <= least)
        return Transcript(text, "en", confidence)

    def glimpse(self, audio: Audio) -> Transcript:
        raise AssertionError("nobody looks ahead here")

    def expect(self, words: object, *, asked: bool = False) -> None:
        """Nothing is expected."""


def heard(*parts: tuple[str, float]) -> Heard:
    """("S" or ".", seconds)…, then six seconds of silence."""
    marks = "".join(mark * round(seconds / FRAME_SECONDS) for mark, seconds in (*parts, (".", 6)))
    frame = np.zeros(512, np.float32)
    return [
        (Frame(frame, n * FRAME_SECONDS), 0.9 if mark == "S" else 0.0)
        for n, mark in enumerate(marks)
    ]


COMMAND = (99.0, "Turn off the light.", 0.9)


def outcome(sound: Heard, mode: str, words: Words, melody: float | None = 0.95) -> Outcome:
    found = replay(sound, Config(), mode, Judge(words, lambda audio: melody))  # type: ignore[arg-type,return-value]
    assert found is not None
    return found


def test_v1_a_complete_command_waits_less_than_the_fixed_silence() -> None:
    sound = heard(("S", 1))
    waits = {
        mode: outcome(sound, mode, Words(COMMAND)).wait
        for mode in ("fixed", "sound", "words", "both")
    }
    assert abs(waits["fixed"] - 0.6) < FRAME_SECONDS
    assert abs(waits["both"] - 0.25) < FRAME_SECONDS
    assert waits["sound"] == waits["words"] == waits["fixed"]


def test_v1_a_pause_in_mid_sentence_cuts_the_fixed_silence_only() -> None:
    sound = heard(("S", 1), (".", 0.9), ("S", 1))
    words = Words((1.5, "Turn off the", 0.9), COMMAND)
    assert outcome(sound, "both", words).cuts == ()
    assert outcome(sound, "fixed", words).cuts == ("Turn off the",)
    assert len(pauses(sound, Config())) == 2


def test_a_cut_recording_is_measured_from_its_true_end() -> None:
    sound = heard(("S", 1), (".", 2), ("S", 1))
    found = outcome(sound, "fixed", Words(COMMAND))
    assert len(found.cuts) == 1
    assert abs(found.wait - 0.6) < FRAME_SECONDS


def test_each_pause_is_looked_at_once_for_all_modes() -> None:
    words = Words(COMMAND)
    judge = Judge(words, None)
    for mode in ("fixed", "sound", "words", "both"):
        replay(heard(("S", 1)), Config(), mode, judge)
    assert words.calls == 1


def test_silence_is_no_turn() -> None:
    assert replay(heard((".", 1)), Config(), "both", Judge(Words(COMMAND), None)) is None


def test_the_closing_silence_of_the_settings_is_the_one_compared_with() -> None:
    from assistant.config import override

    config = override(Config(), ["endpoint.silence_ms=1000"])
    found = replay(heard(("S", 1)), config, "fixed", Judge(Words(COMMAND), None))
    assert found is not None
    assert abs(found.wait - 1.0) < FRAME_SECONDS


def test_a_recording_is_followed_by_enough_silence_to_end_every_turn() -> None:
    sound = hear(speech(0.5), ScriptedDetector())
    assert len(sound) * FRAME_SECONDS >= 6.4


def one(folder: str, pauses: int, fixed: Outcome, both: Outcome) -> Item:
    return Item("a.wav", folder, pauses, {"fixed": fixed, "both": both})


def test_cutoffs_count_recordings_with_pauses_and_waits_complete_commands() -> None:
    whole, cut = Outcome((), 0.25, 0.5), Outcome(("a", "b"), 0.6, 0.7)
    items = [
        one("turn", 2, cut, whole),
        one("en", 2, whole, whole),
        one("en", 0, cut, whole),
        one("commands", 1, cut, whole),
    ]
    assert figures(items, "fixed") == {
        "cutoff_rate": 0.5,
        "cutoff_rate_of_pauses": 0.5,
        "commands_cut": 1,
        "wait_ms_p50": 600,
        "wait_ms_p95": 600,
        "ready_ms_p50": 700,
        "ready_ms_p95": 700,
    }
    last = summary(items, Judge(Words(COMMAND), None))
    assert (last["cutoff_rate"], last["fixed_cutoff_rate"]) == (0, 0.5)
    assert (last["wait_ms_p50"], last["fixed_wait_ms_p50"]) == (250, 600)
    assert last["with_pauses"] == 2
    assert last["smart_turn"] is False


def test_without_values_there_are_no_percentiles() -> None:
    assert percentiles([]) == (None, None)
    assert percentiles([0.25]) == (250, 250)
    assert percentiles([0.1 * n for n in range(1, 12)]) == (600, 1050)


def manifest(folder: Path, *names: str) -> Path:
    lines = [json.dumps({"file": name, "transcript": "hello"}) for name in names]
    lines.append(json.dumps({"file": "turn/noise.wav", "transcript": ""}))
    (folder / "manifest.jsonl").write_text("\n".join(lines), "utf-8")
    return folder


def test_any_folder_with_a_manifest_can_be_measured(tmp_path: Path) -> None:
    known = recordings(manifest(tmp_path, "turn/a.wav", "commands/b.wav", "zh/c.wav"))
    assert [group for _, group in known] == ["turn", "commands"]
    other = recordings(manifest(tmp_path, "mine/a.wav", "b.wav"))
    assert [(path.name, group) for path, group in other] == [("a.wav", "all"), ("b.wav", "all")]


@pytest.mark.parametrize("text", [None, "no json", '{"file": "a.wav"}', "[1]", ""])
def test_an_unusable_manifest_is_one_sentence(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "manifest.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.jsonl") as caught:
        recordings(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_table_names_what_was_cut_and_bears_recordings_without_speech() -> None:
    cut = Outcome(("turn off the",), 0.6, 0.7)
    modes = dict.fromkeys(MODES, cut)
    items = [Item("a.wav", "turn", 1, modes), Item("b.wav", "turn", 0, {})]
    text = _table(summary(items, Judge(Words(COMMAND), None)), items)
    assert "cut: turn/a.wav: turn off the" in text
    assert "b.wav" not in text
