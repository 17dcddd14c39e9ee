"""The dialogue policy on Schema-Guided Dialogue: continue or detach, slots, what is kept.

Services become flows by themselves; the gate and the ranker are taught on the training turns and
kept in memory only. With the model, it is asked for the slots that the rules leave open.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.bench.sgd_data import (
    Exchange,
    guess_flows,
    read_dialogues,
    read_schema,
    read_train,
)
from assistant.bench.sgd_gate import Verdicts, Watcher, by_family, judge, teach, unseen
from assistant.bench.sgd_rank import (
    acceptances,
    bags_of,
    common_words,
    learn,
    learn_acceptance,
)
from assistant.bench.sgd_score import Tally, origins
from assistant.bench.sgd_track import Asking, Skills, Tracker
from assistant.config import Config
from assistant.errors import InputError
from assistant.mind.flows import Flow
from assistant.mind.gate import Gate

TRAIN = "train_turns.jsonl.gz"
RANKED = 800
"""training dialogues for the ranker of values"""
TAKEN = 2000
"""training dialogues for "is it taken?" """
Flows = Mapping[str, Flow]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Material:
    """What is read before anything is measured."""

    turns: Sequence[Exchange]
    train: Sequence[Exchange]
    schema: Flows
    guessed: Flows


def material(folder: Path, train: Path | None, limit: int | None) -> Material:
    """Read the files. Raises InputError."""
    turns = read_dialogues(folder / "dialogues.json")
    if limit is not None:
        names = list(dict.fromkeys(turn.dialogue for turn in turns))[:limit]
        turns = [turn for turn in turns if turn.dialogue in set(names)]
    place = train if train is not None else folder
    path = place / TRAIN if place.is_dir() else place
    if not path.is_file():
        raise InputError(f"{path}: there are no training turns; name their folder with --train.")
    taught = read_train(path)
    schema = read_schema(folder / "schema.json")
    missing = {name for turn in turns for name in turn.services} - schema.keys()
    if missing:
        raise InputError(f"{folder / 'schema.json'}: lacks {', '.join(sorted(missing))}.")
    return Material(turns, taught, schema, guess_flows(taught))


def detach_figures(data: Material, note: Note) -> tuple[dict[str, Any], Gate]:
    """The gate, taught on all training turns, and figures of one taught on other services only."""
    flows = {**data.guessed, **data.schema}
    book = by_family(data.guessed, data.schema)
    note("gate: training")
    own = by_family(data.guessed)
    gate = teach(data.train, data.guessed, own)
    verdicts = judge(gate, data.turns, flows, book)
    note("gate: training on other services")
    services = {name for turn in data.turns for name in turn.services}
    apart = unseen(data.train, services)
    result = _verdicts(verdicts)
    if any(turn.detach for turn in apart):
        strange = judge(teach(apart, data.guessed, own), data.turns, flows, book)
        result["held_out_detach_f1"] = round(strange.figures()[0], 4)
        result["held_out_balanced_accuracy"] = round(strange.figures()[1], 4)
    return result, gate


def _verdicts(verdicts: Verdicts) -> dict[str, Any]:
    f1, balanced = verdicts.figures()
    spent = sorted(verdicts.ms)
    return {
        "detach_f1": round(f1, 4),
        "balanced_accuracy": round(balanced, 4),
        "detach_turns": sum(verdicts.labels),
        "threshold": verdicts.threshold,
        "gate_ms": round(sum(spent) / max(1, len(spent)), 3),
        "gate_ms_p99": round(spent[int(0.99 * (len(spent) - 1))], 3) if spent else 0.0,
    }


def learn_skills(data: Material, note: Note) -> Skills:
    """The ranker of values, and whether an offer is taken."""
    note("slots: training")
    names = sorted({turn.dialogue for turn in data.train})
    random.Random(1).shuffle(names)
    common = common_words([turn.text for turn in data.train])
    some, more = set(names[:RANKED]), set(names[:TAKEN])
    bags = bags_of([t for t in data.train if t.dialogue in some], data.guessed, common)
    values = learn(list(bags), common)
    rows = acceptances([t for t in data.train if t.dialogue in more], data.guessed, common)
    return Skills(values, learn_acceptance(rows))


def follow(
    turns: Iterable[Exchange],
    flows: Flows,
    skills: Skills,
    *,
    gate: Callable[[Exchange], None] = lambda turn: None,
    ask: Asking | None = None,
) -> Tally:
    """All dialogues, turn by turn; a turn's time is that of the gate and the rules."""
    tally, tracker, dialogue = Tally(), Tracker(flows, skills), ""
    gc.collect()
    gc.freeze()  # what was read and learned is not garbage
    for turn in turns:
        if turn.dialogue != dialogue:
            dialogue, tracker = turn.dialogue, Tracker(flows, skills)
            tally.begin()
        began = time.perf_counter()
        gate(turn)
        tracker.hear(turn)
        moments = [tracker.moment(turn, frame.service) for frame in turn.user]
        decided = [tracker.decide(moment) for moment in moments]
        tally.ms.append((time.perf_counter() - began) * 1000)
        for frame, moment, (values, unsure) in zip(turn.user, moments, decided, strict=True):
            before = tracker.slots(frame.service)
            more = ask(turn, moment, values, unsure) if ask is not None else {}
            tracker.keep(frame.service, {**more, **values})
            after = tracker.slots(frame.service)
            tally.count(flows[frame.service], frame, before, after)
    gc.unfreeze()
    return tally


def report(
    folder: Path,
    train: Path | None,
    config: Config,
    emit: Callable[..., None],
    *,
    model: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """The command: figures of the gate and the slots, one object at the end."""
    from rich.console import Console

    console = Console(stderr=True)
    began = time.perf_counter()
    with _status(console, as_json) as status:

        def note(text: str) -> None:
            if status is not None:
                status.update(text)

        note("reading")
        data = material(folder, train, limit)
        result, gate = detach_figures(data, note)
        skills = learn_skills(data, note)
        note("slots: rules")
        decide = _deciding(gate, Watcher(data.schema, by_family(data.guessed, data.schema)))
        rules = follow(data.turns, data.schema, skills, gate=decide)
        result |= rules.figures() | {"slot_f1_rules": rules.figures()["slot_f1"]}
        given = origins(data.turns)
        result |= {f"given_{name}": count for name, count in sorted(given.items())}
        result |= {f"right_{name}": count for name, count in sorted(rules.sources.items())}
        if model:
            from assistant.bench.sgd_model import asked

            with asked(config, note, len(data.turns)) as ask:
                tally = follow(data.turns, data.schema, skills, ask=ask)
                result |= _with_model(tally) | ask.figures()
    result |= {
        "turns": len(data.turns),
        "services": len({name for turn in data.turns for name in turn.services}),
        "seconds": round(time.perf_counter() - began, 1),
    }
    emit(result, "\n".join(f"{key}: {value}" for key, value in result.items()))


def _deciding(gate: Gate, watcher: Watcher) -> Callable[[Exchange], None]:
    """The gate's part of a turn's time, with the typed readers that it looks at."""

    def decide(turn: Exchange) -> None:
        scene = watcher.scene(turn)
        if scene is not None:
            gate.detach(scene)
        watcher.note(turn)

    return decide


def _with_model(tally: Tally) -> dict[str, float]:
    """All but the time of the rules, which the model's own work would blur."""
    return {key: value for key, value in tally.figures().items() if "_ms_" not in key}


def _status(console: Any, as_json: bool) -> AbstractContextManager[Any]:
    return nullcontext(None) if as_json else console.status("")
