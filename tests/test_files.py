"""Reading and writing sound files: every rate, width and kind of damage."""

from __future__ import annotations

import os
import struct
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assistant.audio import files
from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio

RATES = [8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000]
WIDTHS = ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"]


def tone(seconds: float, rate: int, hertz: float = 440.0) -> NDArray[np.float32]:
    time = np.arange(int(seconds * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def write(path: Path, samples: NDArray[np.float32], rate: int, subtype: str = "PCM_16") -> Path:
    import soundfile

    soundfile.write(path, samples, rate, subtype=subtype)
    return path


def loudest_hertz(audio: Audio) -> float:
    spectrum = np.abs(np.fft.rfft(audio.samples * np.hanning(len(audio.samples))))
    return float(spectrum.argmax() * audio.rate / len(audio.samples))


def rms(samples: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(samples))))


@pytest.mark.parametrize("rate", RATES)
def test_every_rate_becomes_16_khz(tmp_path: Path, rate: int) -> None:
    audio = files.read(write(tmp_path / "a.wav", tone(1, rate), rate))
    assert audio.rate == 16000
    assert audio.samples.dtype == np.float32
    assert audio.seconds == pytest.approx(1, abs=0.002)
    assert loudest_hertz(audio) == pytest.approx(440, abs=2)
    assert rms(audio.samples[2000:-2000]) == pytest.approx(0.5 / np.sqrt(2), rel=0.02)


@pytest.mark.parametrize("subtype", WIDTHS)
def test_every_width_is_read(tmp_path: Path, subtype: str) -> None:
    audio = files.read(write(tmp_path / "a.wav", tone(0.5, 16000), 16000, subtype))
    assert rms(audio.samples) == pytest.approx(0.5 / np.sqrt(2), rel=0.03)


@pytest.mark.parametrize("ending", ["flac", "aiff", "ogg", "mp3", "au"])
def test_other_containers_are_read(tmp_path: Path, ending: str) -> None:
    import soundfile

    path = tmp_path / f"a.{ending}"
    soundfile.write(path, tone(1, 48000), 48000)
    audio = files.read(path)
    assert loudest_hertz(audio) == pytest.approx(440, abs=3)
    assert audio.seconds == pytest.approx(1, abs=0.15)


def test_m4a_is_read_by_the_second_reader(tmp_path: Path) -> None:
    import av

    path = tmp_path / "a.m4a"
    with av.open(str(path), "w") as container:
        track = container.add_stream("aac", rate=44100)
        samples = tone(1, 44100)[None, :44032]
        for start in range(0, samples.shape[1], 1024):
            part = np.ascontiguousarray(samples[:, start : start + 1024])
            frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
            frame.sample_rate = 44100
            container.mux(track.encode(frame))
        container.mux(track.encode(None))
    audio = files.read(path)
    assert loudest_hertz(audio) == pytest.approx(440, abs=3)
    assert audio.seconds == pytest.approx(1, abs=0.1)
    assert files.duration(path) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("left", "right"),
    [(1.0, 1.0), (1.0, -1.0), (1.0, 0.0), (0.0, 1.0), (1.0, -0.8)],
    ids=["in phase", "anti-phase", "left only", "right only", "nearly anti-phase"],
)
def test_stereo_never_cancels(tmp_path: Path, left: float, right: float) -> None:
    mono = tone(3, 16000)
    both = np.stack([left * mono, right * mono], axis=1)
    audio = files.read(write(tmp_path / "a.wav", both, 16000))
    assert rms(audio.samples) > 0.3


def test_a_voice_that_changes_channels_stays(tmp_path: Path) -> None:
    mono, quiet = tone(2, 16000), np.zeros(32000, np.float32)
    both = np.stack([np.r_[mono, quiet], np.r_[quiet, mono]], axis=1)
    audio = files.read(write(tmp_path / "a.wav", both, 16000))
    assert rms(audio.samples[:32000]) > 0.3
    assert rms(audio.samples[32000:]) > 0.3


def test_an_hour_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """A sparse file: the header promises an hour of silence, no block is larger than asked."""
    path = tmp_path / "hour.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"")
    size = 3600 * 8000 * 2
    with path.open("r+b") as raw:
        raw.seek(4)
        raw.write(struct.pack("<I", 36 + size))
        raw.seek(40)
        raw.write(struct.pack("<I", size))
        raw.truncate(44 + size)
    total, longest = 0.0, 0.0
    for block in files.stream(path):
        total += block.seconds
        longest = max(longest, block.seconds)
    assert total == pytest.approx(3600, abs=0.01)
    assert longest < 1.5
    assert files.duration(path) == pytest.approx(3600)


def test_truncated_data_gives_what_is_there(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone(2, 16000), 16000)
    os.truncate(path, path.stat().st_size // 2)
    assert files.read(path).seconds == pytest.approx(1, abs=0.01)


def test_truncated_flac_gives_what_is_there(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 64000).astype(np.float32)
    path = write(tmp_path / "a.flac", noise, 16000)
    os.truncate(path, path.stat().st_size // 2)
    assert 1.5 < files.read(path).seconds < 2.5


def _raw(path: Path) -> None:
    path.write_bytes((tone(1, 16000) * 32767).astype("<i2").tobytes())


BROKEN: dict[str, Callable[[Path], Any]] = {
    "empty.wav": lambda path: path.write_bytes(b""),
    "text.wav": lambda path: path.write_text("this is no sound\n" * 200),
    "headerless.wav": _raw,
    "headerless.raw": _raw,
    "headerless.pcm": _raw,
    "cut_header.wav": lambda path: path.write_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00"),
    "no_samples.wav": lambda path: write(path, np.zeros(0, np.float32), 16000),
    "absurd_rate.wav": lambda path: write(path, np.zeros(100, np.float32), 1092676),
    "nan.wav": lambda path: write(path, np.full(1600, np.nan, np.float32), 16000, "FLOAT"),
    "infinite.wav": lambda path: write(path, np.full(1600, np.inf, np.float32), 16000, "FLOAT"),
    "scaled.wav": lambda path: write(path, 20000 * tone(1, 16000), 16000, "FLOAT"),
    "folder.wav": lambda path: path.mkdir(),
    "missing.wav": lambda path: None,
}


@pytest.mark.parametrize("name", BROKEN)
def test_unusable_files_get_one_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    BROKEN[name](path)
    with pytest.raises(InputError) as caught:
        files.read(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert message.endswith(".")


def test_a_bad_file_is_refused_before_the_first_block(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_text("no sound")
    with pytest.raises(AudioFormatError):
        files.stream(path)


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=400), keep=st.integers(0, 60))
def test_no_bytes_whatever_give_anything_but_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, keep: int
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    header = write(folder / "a.wav", tone(0.01, 16000), 16000).read_bytes()[:keep]
    path = folder / "b.wav"
    path.write_bytes(header + data)
    try:
        audio = files.read(path)
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(audio.samples).all()
        assert len(audio.samples)


def test_write_wav_and_read_are_inverse(tmp_path: Path) -> None:
    samples = tone(0.3, 22050)
    files.write_wav(tmp_path / "a.wav", Audio(samples, 22050))
    back = files.read(tmp_path / "a.wav", 22050)
    assert back.rate == 22050
    np.testing.assert_allclose(back.samples, samples, atol=1e-4)


def test_write_wav_clips_instead_of_wrapping(tmp_path: Path) -> None:
    files.write_wav(tmp_path / "a.wav", Audio(np.full(100, 1.5, np.float32), 16000))
    assert files.read(tmp_path / "a.wav").samples.min() > 0.99


def test_write_wav_into_no_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        files.write_wav(tmp_path / "no" / "a.wav", Audio(np.zeros(10, np.float32), 16000))


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=12))
def test_frames_lose_no_sample(lengths: list[int]) -> None:
    whole = np.arange(sum(lengths), dtype=np.float32)
    ends = np.cumsum(lengths)
    blocks = [
        Audio(whole[end - size : end], 16000) for end, size in zip(ends, lengths, strict=True)
    ]
    got = list(files.frames(blocks))
    joined = np.concatenate([frame.samples for frame in got])
    assert {frame.samples.shape for frame in got} == {(512,)}
    assert [round(frame.at * 16000) for frame in got] == list(range(0, len(joined), 512))
    np.testing.assert_array_equal(joined[: len(whole)], whole)
    assert not joined[len(whole) :].any()


def test_resample_keeps_length_and_pitch() -> None:
    audio = files.resample(Audio(tone(1, 48000), 48000), 16000)
    assert audio.rate == 16000
    assert len(audio.samples) == 16000
    assert loudest_hertz(audio) == pytest.approx(440, abs=2)


def test_resample_of_nothing_is_nothing() -> None:
    assert len(files.resample(Audio(np.zeros(0, np.float32), 8000), 16000).samples) == 0


def test_odd_recordings_are_read_or_refused_in_one_sentence(testdata: Path) -> None:
    outcomes = {}
    for path in sorted((testdata / "speech" / "odd").iterdir()):
        try:
            outcomes[path.name] = files.read(path).seconds > 0.5
        except InputError as error:
            assert str(path) in str(error)
            outcomes[path.name] = False
    refused = {name for name, read in outcomes.items() if not read}
    assert refused == {
        "azure__missing_wav_header.wav",
        "brk_empty_0_bytes.wav",
        "brk_text_named.wav",
        "brk_truncated_header.wav",
        "pocketsphinx__awful.wav",
        "pocketsphinx__evil.wav",
    }
