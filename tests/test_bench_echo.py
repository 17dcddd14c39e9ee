"""The echo benchmark: its rooms, its people and its arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assistant.audio import files
from assistant.audio.echo_engines import missing
from assistant.bench.echo import LEVELS, LOUDER, figures, made_tasks, recorded_tasks, table
from assistant.bench.echo_people import Person, people, recorded, synthetic
from assistant.bench.echo_scenes import PERSON_LEVEL, cough, levelled, loudness, scene
from assistant.bench.echo_trials import BUFFER, Load, Row, Trials
from assistant.errors import InputError
from assistant.events import Audio, Frame, Samples
from assistant.testing import tone

RATE = 16_000


class Loudness:
    """Implements stages.SpeechDetector: what is loud is speech."""

    def probability(self, frame: Frame) -> float:
        return float(np.abs(frame.samples).max() > 0.01)

    def reset(self) -> None:
        """Nothing is remembered."""


def reply(seed: int = 0, seconds: float = 1.5) -> Audio:
    rng = np.random.default_rng(seed)
    samples = 0.1 * rng.standard_normal(round(seconds * RATE))
    samples *= 0.55 + 0.45 * np.sin(2 * np.pi * 4 * np.arange(len(samples)) / RATE)
    return Audio(samples.astype(np.float32), RATE)


def trials() -> Trials:
    return Trials(Loudness(), Loudness(), [reply(1), reply(2)])


@pytest.mark.parametrize("level", [0, -6, -24])
def test_m7_the_echo_has_the_level_that_was_asked_for(level: int) -> None:
    made = scene(np.random.default_rng(3), [reply()], 6.0, level)
    echo = levelled(made.heard, 1.0)
    assert len(echo) == len(made.spoken) == 6 * RATE
    assert 20 * np.log10(loudness(made.heard) / PERSON_LEVEL) == pytest.approx(level, abs=1.0)


def test_m7_a_scene_is_made_from_its_seed_alone() -> None:
    one, same, other = (
        scene(np.random.default_rng(seed), [reply()], 3.0, -6).heard for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_m7_the_echo_comes_40_to_250_ms_after_what_was_announced() -> None:
    for seed in range(8):
        made = scene(np.random.default_rng(seed), [reply(seconds=0.5)], 1.2, 6)
        begin = np.flatnonzero(np.abs(made.spoken) > 0.02)[0] / RATE
        heard = np.flatnonzero(np.abs(made.heard) > 0.02)[0] / RATE
        assert 0.035 <= heard - begin <= 0.28
        assert made.played[0][1] == pytest.approx(0.5, abs=0.001)


def test_m7_a_joined_sound_lies_where_it_was_put_and_ends_with_the_scene() -> None:
    made = scene(np.random.default_rng(0), [reply()], 2.0, -24)
    joined = made.joined(np.ones(RATE, np.float32), 1.5)
    added = joined.heard - made.heard
    assert not added[: 3 * RATE // 2].any() and np.allclose(added[3 * RATE // 2 :], 1.0, atol=1e-3)
    assert len(joined.heard) == 2 * RATE


def test_m7_coughs_are_short_and_sudden() -> None:
    for seed in range(10):
        sound = cough(np.random.default_rng(seed))
        assert 0.2 <= len(sound) / RATE <= 0.8
        loudest = np.argmax(np.abs(sound)) / RATE
        assert loudest < 0.5


def folder_of(tmp_path: Path, lines: list[dict[str, object]]) -> Path:
    (tmp_path / "commands").mkdir()
    (tmp_path / "echo").mkdir()
    sound = np.concatenate([np.zeros(RATE, np.float32), tone(1.0)])
    files.write_wav(tmp_path / "commands" / "a.wav", Audio(sound, RATE))
    files.write_wav(tmp_path / "echo" / "x_far.wav", reply(5, 4.0))
    files.write_wav(tmp_path / "echo" / "x_echo_only.wav", reply(5, 4.0))
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "manifest.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def test_m7_people_are_cut_to_where_they_speak(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"file": "commands/a.wav", "transcript": "stop"},
        {"file": "noise/b.wav", "transcript": "no folder of people"},
        {"file": "commands/a.wav", "transcript": None},
    ]
    folder = folder_of(tmp_path, lines)
    (found,) = people(folder, Loudness())
    assert found.name == "commands/a.wav"
    assert found.onset <= 0.1
    assert np.abs(found.samples[round(0.2 * RATE) :][:1000]).max() > 0.02
    (made,) = recorded(folder)
    assert len(made.heard) == len(made.spoken)


@pytest.mark.parametrize("text", ["", "no json", '{"file": 3}', '{"transcript": "a"}'])
def test_m7_a_folder_without_people_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"manifest\.jsonl"):
        people(tmp_path, Loudness())


def test_m7_synthetic_people_have_other_pitches() -> None:
    found = synthetic([Audio(tone(1.0, 200), RATE)], Loudness())
    pitches = sorted(
        np.abs(np.fft.rfft(one.samples)).argmax() * RATE / len(one.samples) for one in found
    )
    assert pitches == pytest.approx([170, 236], abs=4)


def rows() -> dict[int, Row]:
    return {level: Row(level) for level in (*LOUDER, *LEVELS)}


def test_m7_the_figures_count_the_levels_that_were_asked_for() -> None:
    made, real, run = rows(), Row(None, seconds_alone=30.0), trials()
    made[-6].reactions = [0.2, 0.3, None]
    made[-24].reactions = [0.6]
    made[6].reactions = [None] * 50
    made[0].self_interruptions = 1
    made[-12].seconds_alone, made[-12].self_interruptions = 90.0, 2
    made[-6].coughs, made[-6].coughs_taken = 4, 1
    run.playing, run.silent = Load(10.0, 0.6), Load(20.0, 0.2)
    result = figures(run, made, real)
    assert result["minutes_of_echo"] == 2.0
    assert result["self_interruptions"] == 2
    assert result["interruptions"] == 4
    assert result["stopped_within_500ms"] == 0.5
    assert result["reaction_ms_p50"] == 300
    assert result["coughs_taken"] == 0.25
    assert (result["cpu_share_playing"], result["cpu_share_silent"]) == (0.06, 0.01)
    level = {row["level_db"]: row for row in result["by_level"]}
    assert level[-6]["stopped_within_500ms"] == 0.667
    assert level[6]["stopped_within_500ms"] == 0.0
    assert level[0]["self_interruptions"] == 1
    assert level[-18]["stopped_within_500ms"] is None
    assert json.loads(json.dumps(result)) == result


def test_m7_the_table_has_a_line_for_each_level() -> None:
    text = table(figures(trials(), rows(), Row(None)))
    assert [line.split()[0] for line in text.splitlines()[1:-1]] == [
        *("6", "0", "-6", "-12", "-18", "-24"),
        "recorded",
    ]
    assert "0 self-interruptions in 0.0 minutes" in text


def test_m7_every_level_has_the_same_people_and_its_share_of_the_minutes(tmp_path: Path) -> None:
    made = rows()
    crowd = [Person(str(number), tone(1.0), 0.0) for number in range(3)]
    names = [name for name, _ in made_tasks(trials(), made, crowd, 5)]
    assert sum(name.startswith("echo alone") for name in names) == 5
    for level in made:
        assert [names.count(f"{person.name} {level} dB") for person in crowd] == [1, 1, 1]
    tasks = recorded_tasks(trials(), Row(None), folder_of(tmp_path, []), crowd)
    assert len(tasks) == 1 + 3 * 2


@pytest.mark.skipif(bool(missing()), reason=missing() or "there")
def test_m7_a_reaction_is_measured_from_the_recording_and_echo_alone_is_silent_about() -> None:
    run, row = trials(), Row(-24)
    person = Person("a tone", loud_speech(2.5), 0.0)
    run.interrupted(row, person, np.random.default_rng(1))
    (reaction,) = row.reactions
    assert reaction is not None
    assert BUFFER + 0.1 <= reaction <= 0.5
    assert row.self_interruptions == 0
    assert run.playing.share is not None and run.playing.seconds > 2.0


def loud_speech(seconds: float) -> Samples:
    rng = np.random.default_rng(11)
    return levelled(rng.standard_normal(round(seconds * RATE)).astype(np.float32), 0.2)
