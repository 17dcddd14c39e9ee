"""Does a long conversation stay as quick as a short one? Prompt, latency, memory, growth (M8, V9).

Hundreds of turns by text through the real mind: things told, corrected and asked for again, small
talk and questions about the world, from lists that are put together anew for every turn. Each
turn waits until its notes are taken, as a person who takes their time does.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from assistant.app import Chat
from assistant.config import Config, DataConfig
from assistant.events import Turn
from assistant.loop import Finished, Shown
from assistant.memory.banks import Banks
from assistant.speakable import language_of

HERE = Path(__file__).resolve().parent
SPAN = 10
"""turns that are looked at together: those around turn 10 and the last ones"""
SEED = 7


@dataclass(frozen=True, slots=True)
class Measured:
    """One turn."""

    turn: int
    prompt_tokens: int
    evaluated: int
    """of them while somebody waited"""
    answer_ms: float
    """from the end of the words to the first sentence of the answer"""
    by_model: bool
    bank_bytes: int
    resident_mb: float


@cache
def _lists() -> dict[str, Any]:
    with (HERE / "session.toml").open("rb") as file:
        return tomllib.load(file)


def said(turns: int, seed: int = SEED) -> Iterator[str]:
    """What the user says: told, asked back, something else, in turn."""
    lists, chance = _lists(), random.Random(seed)
    told: list[dict[str, str]] = []
    for number in range(turns):
        kind = ("tell", "other", "ask")[number % 3]
        values = {name: chance.choice(lists["values"][name]) for name in lists["values"]}
        if kind == "ask" and told:
            values = chance.choice(told[-40:])
        if kind == "tell":
            told.append(values)
        yield chance.choice(lists["say"][kind]).format(**values)


def converse(config: Config, turns: int, show: Callable[[Measured], None]) -> list[Measured]:
    """The conversation, measured turn by turn."""
    import psutil

    process, measured = psutil.Process(), []
    last: list[Turn] = []

    def keep(event: Shown) -> None:
        if isinstance(event, Finished):
            last.append(event.turn)

    with tempfile.TemporaryDirectory(prefix="session-") as folder:
        memory = replace(config.memory, bank="session", key="file")
        config = replace(config, data=DataConfig(folder), memory=memory)
        bank = Banks(Path(folder)).path("session")
        with Chat(config, keep, lambda text: None) as chat:
            model: Any = chat.engines.replies
            for number, text in enumerate(said(turns), 1):
                before = model.stats
                chat.ask(text, language_of(text))
                stats = model.stats
                chat.settle()
                turn = chat.mind.turns.last
                assert turn is not None
                measured.append(
                    Measured(
                        number,
                        stats.evaluated + stats.reused,
                        stats.evaluated,
                        turn.latency_ms.get("voice_to_voice", 0.0),
                        stats is not before and bool(turn.raw),
                        _size(bank),
                        process.memory_info().rss / 1e6,
                    )
                )
                show(measured[-1])
    return measured


def _size(path: Path) -> int:
    files = [path, *path.parent.glob(f"{path.name}-*")]
    return sum(file.stat().st_size for file in files if file.exists())


def figures(measured: Sequence[Measured]) -> dict[str, Any]:
    """The last turns against those around turn 10; only what the model answered."""
    asked = [one for one in measured if one.by_model]
    early = [one for one in asked if one.turn > SPAN / 2][:SPAN]
    late = asked[-SPAN:]
    result: dict[str, Any] = {"turns": len(measured), "by_model": len(asked)}
    for name in ("prompt_tokens", "evaluated", "answer_ms", "resident_mb"):
        first, then = (
            statistics.median(getattr(one, name) for one in part) for part in (early, late)
        )
        result |= {
            f"{name}_early": round(first, 1),
            f"{name}_late": round(then, 1),
            f"{name}_ratio": round(then / first, 3) if first else None,
        }
    result["prompt_tokens_max"] = max(one.prompt_tokens for one in asked)
    result["bank_kb"] = round(measured[-1].bank_bytes / 1024)
    result["bank_kb_per_turn"] = round(measured[-1].bank_bytes / 1024 / len(measured), 2)
    return result


def report(config: Config, turns: int, emit: Callable[..., None], *, as_json: bool) -> int:
    """The command: a line a turn with --json, else a bar; the figures last."""
    from rich.console import Console
    from rich.progress import track

    measured: list[Measured] = []
    if as_json:
        measured = converse(config, turns, lambda one: emit(_plain(one)))
    else:
        steps = iter(track(range(turns), "turns", console=Console(stderr=True)))
        next(steps)
        measured = converse(config, turns, lambda one: _step(steps))
    result = figures(measured)
    emit(result, None if as_json else "\n".join(f"{key}: {value}" for key, value in result.items()))
    return 0


def _step(steps: Iterator[object]) -> None:
    next(steps, None)


def _plain(one: Measured) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Measured.__slots__}
