"""`bench latency`: measured from recordings that are made here, figures, report, comparison."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.audio import files
from assistant.audio.recording import Recording
from assistant.bench import latency_corpus as corpus
from assistant.bench.latency_compare import joined, ratios, read
from assistant.bench.latency_corpus import Entry, Item
from assistant.bench.latency_figures import (
    OURS,
    last_object,
    result,
    side_by_side,
    system_figures,
)
from assistant.bench.latency_html import distribution, page
from assistant.bench.latency_measure import hear, landmark, percentiles, place, voiced, window
from assistant.bench.latency_peer import answerer
from assistant.bench.latency_stand import Setup, Work
from assistant.bench.latency_streaming import END, LAST
from assistant.config import Config, override
from assistant.errors import InputError
from assistant.events import Audio, Frame, Samples
from assistant.testing import ScriptedDetector, silence, speech, tone
from assistant.workers import CancelToken

RATE = 16000
FRAME = 512


def utterance(seconds: float = 0.96) -> Samples:
    """Speech-like: no two frames are the same."""
    noise = np.random.default_rng(3).normal(0, 0.1, round(seconds * RATE))
    return np.clip(noise, -0.9, 0.9).astype(np.float32)


def session(path: Path, said: Samples, at_frame: int, replies: list[float]) -> None:
    """A recording as the product makes it: an utterance at a frame, tones at session times."""
    recording = Recording(path)
    whole = np.zeros(12 * RATE, np.float32)
    whole[at_frame * FRAME : at_frame * FRAME + len(said)] = said
    waiting = list(replies)
    for number, frame in enumerate(files.frames([Audio(whole, RATE)])):
        recording.heard(Frame(frame.samples, number * FRAME / RATE))
        while waiting and waiting[0] <= number * FRAME / RATE:
            recording.played(Audio(tone(0.5), RATE), waiting.pop(0))
    recording.close()


def item(**changes: Any) -> Item:
    said = utterance()
    given = {
        "entry": Entry(Path("a.wav"), "commands", "stop it"),
        "seconds": 0.96,
        "speech_start": 0.1,
        "speech_end": 0.9,
        "pauses": 0,
        "mark": landmark(said),
        **changes,
    }
    return Item(**given)


def message(*turns: dict[str, Any], refused: tuple[str, ...] = ()) -> dict[str, Any]:
    work = Work(asr=0.5, asr_sound=1.0, tts=0.1, tts_sound=1.0, llm=2.0, tokens=20).to_dict()
    return {"from": 4.0, "turns": list(turns), "refused": list(refused), "failed": [], "work": work}


def turn(at: float, text: str = "stop it", by: str = "model", **more: Any) -> dict[str, Any]:
    stages = {"endpoint": 600.0, "asr": 100.0, "first_audio": 50.0, "voice_to_voice": 750.0}
    return {"text": text, "reply": "Yes.", "by": by, "at": at, "latency_ms": stages, **more}


def row(name: str, **systems: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": name,
        "folder": "commands",
        "transcript": "stop it",
        "seconds": 1.0,
        "pauses": 0,
        "systems": systems,
    }


def waited(ms: float, by: str = "model") -> dict[str, Any]:
    """A result of an utterance that was answered."""
    return {**result(item(), message(turn(5.0, by=by)), None), "wait_ms": ms, "no_answer": ""}


# ── measuring ──


def test_k4_the_wait_is_from_the_end_of_the_speech_to_the_sound_in_the_recording(
    tmp_path: Path,
) -> None:
    said = utterance()
    session(tmp_path / "r.wav", said, 100, replies=[5.0])
    left, right, begin = window(tmp_path / "r.wav", 2.0, 9.0)
    heard = hear(left, right, begin, landmark(said), 0.9)
    assert heard is not None
    assert heard.end == pytest.approx(3.2 + 0.9, abs=1e-6)
    assert heard.wait == pytest.approx(0.9, abs=0.002)
    assert heard.early == ()


def test_k4_the_second_of_two_utterances_is_measured_by_its_own_reply(tmp_path: Path) -> None:
    said = utterance()
    session(tmp_path / "r.wav", said, 200, replies=[2.0, 8.5])
    left, right, begin = window(tmp_path / "r.wav", 6.0, 11.0)
    heard = hear(left, right, begin, landmark(said), 0.9)
    assert heard is not None and heard.wait == pytest.approx(8.5 - 7.3, abs=0.002)


def test_k4_a_sound_before_the_end_of_the_speech_is_a_false_start(tmp_path: Path) -> None:
    said = utterance(2.0)
    session(tmp_path / "r.wav", said, 100, replies=[4.0, 6.5])
    left, right, begin = window(tmp_path / "r.wav", 2.0, 9.0)
    heard = hear(left, right, begin, landmark(said), 1.9)
    assert heard is not None and heard.start == pytest.approx(3.2)
    assert heard.early == pytest.approx((4.0,), abs=0.002)
    assert heard.wait == pytest.approx(6.5 - 5.1, abs=0.002)
    assert result(item(), message(turn(5.3)), heard)["false_start"]


def test_an_utterance_is_found_after_rounding_to_16_bit_and_not_where_it_is_not() -> None:
    said = utterance()
    left = np.zeros(40 * FRAME, np.float32)
    left[7 * FRAME : 7 * FRAME + len(said)] = said
    rounded = (left * 32767).round() / 32767
    assert place(rounded.astype(np.float32), landmark(said)) == 7 * FRAME
    assert place(np.zeros(40 * FRAME, np.float32), landmark(said)) is None
    assert place(np.zeros(10, np.float32), landmark(said)) is None


def test_voiced_joins_short_silences() -> None:
    sound = np.concatenate([tone(0.2), np.zeros(1600), tone(0.2), np.zeros(8000), tone(0.1)])
    assert [round(one.start, 2) for one in voiced(sound.astype(np.float32), RATE)] == [0.0, 1.0]
    assert voiced(np.zeros(RATE, np.float32), RATE) == []


def test_percentiles_lie_between_neighbours() -> None:
    found = percentiles([float(value) for value in range(101)])
    assert (found["p50"], found["p95"], found["p99"], found["n"]) == (50.0, 95.0, 99.0, 101)
    assert percentiles([7.0]) == {"p50": 7.0, "p95": 7.0, "p99": 7.0, "n": 1}
    assert percentiles([])["p50"] is None


# ── what happened ──


def heard_at(end: float, wait: float | None = 1.0) -> Any:
    from assistant.bench.latency_measure import Heard

    return Heard(end - 1.0, end, wait, ())


def test_m6_a_turn_that_ended_while_more_was_said_is_a_cutoff_and_has_no_wait() -> None:
    one = result(item(), message(turn(3.0, "turn off"), turn(5.6, "the lights")), heard_at(5.0))
    assert one["cut"] and one["wait_ms"] is None and one["no_answer"] == ""
    assert one["text"] == "turn off | the lights"
    assert result(item(), message(turn(4.2)), heard_at(5.0))["cut"]  # the rest was lost
    whole = result(item(), message(turn(5.6)), heard_at(5.0))
    assert not whole["cut"] and whole["wait_ms"] == 1000.0


def test_an_utterance_that_began_late_tells_that_the_machine_was_disturbed() -> None:
    rows = [
        row("a", ours=result(item(), message(turn(5.6)), heard_at(5.0))),  # begins at 4.0, as told
        row("b", ours=result(item(), message(turn(5.6)), heard_at(4.8))),
    ]
    assert [one["systems"]["ours"]["late_ms"] for one in rows] == [0, 200]
    assert system_figures(rows, OURS)["disturbed"] == 1


def test_no_answer_says_why() -> None:
    refused = result(item(), message(refused=("too little speech",)), heard_at(5.0, None))
    assert refused["no_answer"] == "refused: too little speech" and refused["wait_ms"] is None
    assert result(item(), message(), heard_at(5.0, None))["no_answer"] == "not noticed as speech"
    assert result(item(), message(turn(5.5)), heard_at(5.0, None))["no_answer"] == "no sound"
    assert result(item(), message(turn(5.5)), None)["no_answer"] == "not in the recording"


def test_v1_figures_are_split_into_turns_of_the_model_and_by_rule() -> None:
    ahead = {"used": True, "pauses": 2, "resumed": 1, "patience_ms": 250,
             "wasted": {"asr_ms": 80.0, "tokens": 3, "sound_s": 0.5}}  # fmt: skip
    rows = [
        row("a", ours={**waited(1000.0), "ahead": ahead}),
        row("b", ours=waited(2000.0)),
        row("c", ours=waited(400.0, "rule")),
        {**row("d", ours=result(item(), message(turn(1), turn(9)), heard_at(5.0))), "pauses": 1},
    ]
    found = system_figures(rows, OURS)
    assert found["wait_ms"]["p50"] == 1000.0 and found["wait_ms"]["n"] == 3
    assert found["model_ms"]["p50"] == 1500.0 and found["rule_ms"]["p50"] == 400.0
    assert found["cutoffs"] == 1 and found["cutoff_rate"] == 0.25
    assert found["cutoff_rate_with_pauses"] == 1.0 and found["no_answer"] == 0
    assert found["asr_rtf"] == 0.5 and found["tokens_per_s"] == 10.0
    assert found["ahead"]["used_share"] == 1.0 and found["ahead"]["wasted_tokens"] == 3
    assert found["stages_ms"]["endpoint"]["n"] == 3


def test_the_ratio_is_of_the_same_utterances() -> None:
    rows = [
        row("a", ours=waited(500.0), streaming=waited(1000.0)),
        row("b", ours=waited(300.0, "rule"), streaming=waited(3000.0)),
        row("c", ours=waited(9000.0), streaming={**waited(1.0), "wait_ms": None}),
    ]
    found = side_by_side(rows, OURS, "streaming")
    assert found["ratio_p50"] == 0.5 and found["ratio_p50_rule"] == 0.1
    assert found["ratio_p50_all"] == 0.2


def run_data(*names: str) -> dict[str, Any]:
    """A saved run of two utterances."""
    rows = [
        row("a.wav", **{name: waited(500.0 * (n + 1)) for n, name in enumerate(names)}),
        row("<b>.wav", **{
            name: result(item(), message(turn(1, "<script>"), turn(9)), heard_at(5.0))
            for name in names
        }),
    ]  # fmt: skip
    settings = {"corpus": "x", "pace": "fast", "load_cores": 1, "profile": "", "llm": "m"}
    data = {
        "systems": {
            name: system_figures(rows, name) | {"peak_memory_mb": 100.0, "load_s": 1.0}
            for name in names
        },
        "utterances": rows,
        "settings": settings,
        "machine": {"processor": "p", "cores": 2},
        "skipped": [{"file": "c.wav", "why": "no speech in it"}],
    }
    return {**last_object(data), "utterances": rows}


def test_the_last_object_holds_the_figures_the_bench_promises() -> None:
    whole = run_data(OURS, "streaming")
    promised = ("p50", "p95", "p99", "baseline_p50", "baseline_p95", "ratio_p50", "cutoff_rate",
                "baseline_cutoff_rate", "model", "rule", "stages", "baseline_stages")  # fmt: skip
    assert all(name in whole for name in promised)
    assert whole["baseline"] == "streaming" and whole["ratio_p50"] == 0.5
    assert json.loads(json.dumps(whole)) == whole
    assert "baseline_p50" not in run_data(OURS)


# ── report ──


class Page(HTMLParser):
    """Which tags are open at the end, and what would be loaded from elsewhere."""

    VOID = frozenset({"meta", "br", "line", "polyline"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data"):
                self.outside.append(str(value))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_report_is_whole_html_that_loads_nothing() -> None:
    text = page(run_data(OURS, "streaming"))
    parsed = Page()
    parsed.feed(text)
    assert parsed.open == [] and parsed.outside == []
    assert "@import" not in text and "url(" not in text and "http" not in text
    assert "script" not in parsed.tags  # what was said is text
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text
    assert parsed.tags.count("polyline") == 2
    assert any("<script>" in piece for piece in parsed.texts)
    assert any("no speech in it" in piece for piece in parsed.texts)


def test_the_distribution_climbs_from_nobody_to_everybody() -> None:
    text = distribution({"ours": [100.0, 200.0]})
    points = text.split('points="')[1].split('"')[0].split()
    assert points[0] == "0,1000" and points[-1] == "1000,0.0"
    heights = [float(point.split(",")[1]) for point in points]
    assert heights == sorted(heights, reverse=True)
    assert "500.0,500.0" in points


def test_two_runs_are_put_side_by_side(tmp_path: Path) -> None:
    for name, factor in (("new", 1), ("old", 2)):
        run = run_data(OURS)
        run["utterances"][0]["systems"][OURS]["wait_ms"] *= factor
        (tmp_path / f"{name}.json").write_text(json.dumps(run), "utf-8")
    data = joined(read(tmp_path / "new.json"), read(tmp_path / "old.json"), "new", "old")
    assert ratios(data)["ratio_p50"] == 0.5 and ratios(data)["utterances_of_both"] == 2
    parsed = Page()
    parsed.feed(page(data))
    assert parsed.open == []


def test_what_is_no_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[1]", "utf-8")
    for name in ("x.json", "none.json"):
        with pytest.raises(InputError, match="is no saved run"):
            read(tmp_path / name)


# ── corpus ──


def made(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        files.write_wav(folder / name, speech(0.5))


def test_a_corpus_is_a_manifest_or_the_sound_files_of_a_folder(tmp_path: Path) -> None:
    made(tmp_path, "en/a.wav", "commands/b.wav", "other/c.wav")
    found = corpus.entries(tmp_path)
    assert {entry.folder for entry in found} == {"commands", "en"}
    assert [entry.folder for entry in corpus.entries(tmp_path, ["other"])] == ["other"]
    lines = [
        {"file": "other/c.wav", "transcript": "see"},
        {"file": "en/a.wav", "transcript": ""},
        {"file": "commands/b.wav", "transcript": None},
    ]
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert [entry.path.name for entry in corpus.entries(tmp_path)] == ["b.wav"]


def test_recordings_are_spread_over_the_folders(tmp_path: Path) -> None:
    made(tmp_path, *(f"en/{n:02d}.wav" for n in range(12)), "turn/a.wav", "turn/b.wav")
    found = corpus.entries(tmp_path, spread=True)
    assert [entry.folder for entry in found[:4]] == ["turn", "en", "turn", "en"]
    numbers = [int(entry.path.stem) for entry in found if entry.folder == "en"][:4]
    assert max(numbers) - min(numbers) >= 5 and sorted(set(numbers)) == sorted(numbers)


def test_bad_corpora_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        corpus.entries(tmp_path / "none")
    with pytest.raises(InputError, match="no recordings in zh"):
        made(tmp_path, "en/a.wav")
        corpus.entries(tmp_path, ["zh"])
    (tmp_path / "manifest.jsonl").write_text('{"file": "a"}\n{"fil\n', "utf-8")
    with pytest.raises(InputError, match="line 2"):
        corpus.entries(tmp_path)


def test_a_broken_recording_is_left_out_and_said(tmp_path: Path) -> None:
    made(tmp_path, "a.wav", "quiet.wav", "long.wav")
    files.write_wav(tmp_path / "quiet.wav", silence(1.0))
    files.write_wav(tmp_path / "long.wav", speech(3.0))
    (tmp_path / "b.wav").write_bytes(b"RIFF not a sound")
    skipped: dict[str, str] = {}
    detector = ScriptedDetector()
    chosen = corpus.choose(
        corpus.entries(tmp_path),
        lambda entry: corpus.look(entry, detector),
        lambda entry, why: skipped.update({entry.path.name: why}),
        limit=None,
        longest=2.0,
    )
    assert [one.entry.path.name for one in chosen] == ["a.wav"]
    assert set(skipped) == {"b.wav", "quiet.wav", "long.wav"}
    assert "no speech" in skipped["quiet.wav"]


def test_the_end_of_the_speech_comes_from_the_detector() -> None:
    parts = [silence(0.32), speech(0.64), silence(0.48), speech(0.32), silence(0.96)]
    audio = Audio(np.concatenate([part.samples for part in parts]), RATE)
    found = corpus.speech(audio, ScriptedDetector())
    assert found == pytest.approx((0.32, 1.76, 1))
    assert corpus.speech(silence(1.0), ScriptedDetector()) is None


# ── systems ──


def test_settings_reach_another_process_as_they_are(tmp_path: Path) -> None:
    config = override(Config(), ["endpoint.short_ms=300", 'flows.denied=["stock.order"]'])
    setup = Setup("ours", config, tmp_path / "r.wav", fast=True)
    again = Setup.from_dict(json.loads(json.dumps(setup.to_dict())))
    assert again == setup


def test_a_system_to_compare_with_is_found_by_name_or_refused() -> None:
    assert answerer("streaming").__name__ == "Streaming"
    assert answerer("assistant.bench.latency_plain:Plain").__name__ == "Plain"
    for name in ("nobody", "json:nobody", "no.such.module:Class", ":x"):
        with pytest.raises(InputError, match="there is no such system"):
            answerer(name)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("Yes.", 4),
        ("It is 3.", None),
        ("It is 3. And", 8),
        ("Mr. Smith", None),
        ("Done! Next", 5),
        ("好的。", 3),
        ("no end", None),
    ],
)
def test_the_baseline_speaks_a_sentence_as_soon_as_it_is_written(
    text: str, end: int | None
) -> None:
    found = END.search(text) or LAST.search(text)
    assert (found.end() if found else None) == end


def test_m7_a_cancelled_reply_of_the_baseline_says_no_more(
    tmp_path: Path, weights: Callable[[str, str], Path]
) -> None:
    weights("silero-vad", "vad")
    from assistant.bench.latency_peer import Peer, Sentence, Token
    from assistant.bench.latency_stand import Stand
    from assistant.marks import Raw
    from assistant.mouth import Delivery

    token = CancelToken()

    def steps() -> Any:
        yield Token()
        yield Sentence("One.")
        yield Audio(tone(0.1), RATE)
        token.cancel()
        yield Sentence("Two.")
        yield Audio(tone(0.1), RATE)

    class Silent:
        pass

    setup = Setup("x", Config(), tmp_path / "r.wav", fast=True)
    peer = Peer(setup, Stand(setup, lambda message: None), Silent())  # type: ignore[arg-type]
    delivery = Delivery()
    peer._deliver(steps(), token, Raw(), delivery)
    peer.close()
    assert delivery.text == "One." and delivery.first_audio is not None
