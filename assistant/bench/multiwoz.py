"""The dialogue policy on Chinese MultiWOZ: continue or detach, slots, what is kept. Reported only.

One half of the dialogues teaches the gate and tells which values there are; the other half is
measured. Slots are read by the product's own readers; no model is asked.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assistant.bench.sgd_data import Exchange, Frame
from assistant.bench.sgd_gate import by_family, judge, labelled
from assistant.bench.sgd_score import Tally
from assistant.bench.sgd_slots import NOW
from assistant.config import Config
from assistant.errors import InputError
from assistant.flow_train import train
from assistant.mind.dialogue import Filled, Task, fill
from assistant.mind.flows import Choice, Flow, Intent, Slot
from assistant.mind.slots import SURE, Found, read

ACTS = {
    "请求": "REQUEST",
    "通知": "INFORM",
    "提供预定": "OFFER_INTENT",
    "推荐": "OFFER",
    "选择": "OFFER",
    "完成预定": "NOTIFY_SUCCESS",
    "预定": "NOTIFY_SUCCESS",
    "无预定": "NOTIFY_FAILURE",
    "无结果": "NOTIFY_FAILURE",
    "更多请求": "REQ_MORE",
    "再见": "GOODBYE",
}
GENERAL = "常规"
EMPTY: tuple[object, ...] = ("", "未提及", [], None)
SPOKEN = {
    "出发地": ("出发地", "从"),
    "目的地": ("目的地", "去", "到", "前往"),
    "停留天数": ("停留天数", "住几天", "天", "晚"),
    "人数": ("人数", "个人", "位"),
}
"""what else a slot is called"""
CUES = {
    "出发地": ("从", "离开", "出发"),
    "目的地": ("去", "到", "前往", "至"),
    "出发时间": ("离开", "出发", "之后", "以后"),
    "到达时间": ("到达", "之前", "前到", "以前"),
}
"""which of two slots of one kind is meant: what stands nearest to the value"""
AROUND = 6
"""characters before and after a value that are looked at"""
WAYS = (("星期", "周"), ("星期", "礼拜"), ("星期日", "星期天"), ("星期日", "周日"), ("方", "部"),
        ("方", "边"), ("部", "方"), ("部", "边"), ("东方", "东部"))  # fmt: skip
"""other ways to say a value"""
ORDER = ("time", "choice", "number", "flag", "name")
"""of two slots that claim the same words, the earlier type gets them"""


def read_dialogues(path: Path) -> dict[str, list[Exchange]]:
    """Dialogue → user turns. Raises InputError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {name: list(_exchanges(name, item["log"])) for name, item in data.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read ({error!r}).") from None


def _exchanges(name: str, log: Sequence[Mapping[str, Any]]) -> Iterator[Exchange]:
    before: tuple[str, ...] = ()
    state: dict[str, dict[str, tuple[str, ...]]] = {}
    for place in range(0, len(log) - 1, 2):
        user, after = log[place], log[place + 1]
        system = log[place - 1] if place else None
        new = {domain: _state(table) for domain, table in after["metadata"].items()}
        domains = _domains(user["dialog_act"]) or before
        frames = tuple(
            Frame(domain, "", _changed(state.get(domain, {}), new.get(domain, {})),
                  new.get(domain, {}))
            for domain in domains
        )  # fmt: skip
        yield Exchange(
            name, system["text"] if system else "", _system(system), user["text"], frames, before
        )
        before, state = domains or before, new


def _domains(acts: Mapping[str, Any]) -> tuple[str, ...]:
    named = (act.partition("-")[0] for act in acts)
    return tuple(dict.fromkeys(name for name in named if name != GENERAL))


def _state(table: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    both = {**table.get("semi", {}), **table.get("book", {})}
    return {name: (str(value),) for name, value in both.items() if value not in EMPTY}


def _changed(
    old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    return tuple(name for name, value in new.items() if old.get(name) != value)


def _system(turn: Mapping[str, Any] | None) -> tuple[Frame, ...]:
    if turn is None:
        return ()
    frames = []
    for act, pairs in turn["dialog_act"].items():
        domain, _, kind = act.partition("-")
        named = ACTS.get(kind, kind)
        items = tuple((named, slot, (str(value),)) for slot, value in pairs)
        frames.append(Frame(domain, acts=items))
    return tuple(frames)


def flows_of(dialogues: Sequence[Sequence[Exchange]]) -> dict[str, Flow]:
    """One flow for each domain, with the values that occur in these dialogues."""
    values: dict[str, dict[str, dict[str, None]]] = {}
    for turns in dialogues:
        for turn in turns:
            for frame in turn.user:
                table = values.setdefault(frame.service, {})
                for slot, value in frame.state.items():
                    table.setdefault(slot, {})[value[0]] = None
    return {domain: _flow(domain, table) for domain, table in values.items()}


def _flow(domain: str, table: Mapping[str, Mapping[str, None]]) -> Flow:
    slots = {name: _slot(name, list(values)) for name, values in table.items()}
    intent = Intent(domain, "do", "write", "low", f"{domain}.do", {"zh": domain}, (), tuple(slots))
    return Flow(domain, {"zh": domain}, {"zh": (domain,)}, slots, {"do": intent})


def _slot(name: str, values: Sequence[str]) -> Slot:
    words = {"zh": SPOKEN.get(name, (name,))}
    if name.endswith("时间"):
        return Slot(name, "time", words)
    if set(values) <= {"有", "没有", "不在意"}:
        return Slot(name, "flag", words)
    if all(value.isdigit() for value in values):
        return Slot(name, "number", words)
    choices = tuple(Choice(value, {"zh": _ways(value)}) for value in values if value != "不在意")
    return Slot(name, "choice", words, choices=choices)


def _ways(value: str) -> tuple[str, ...]:
    bare = value.removesuffix("的")
    other = [bare.replace(one, another) for one, another in WAYS if one in bare]
    return tuple(dict.fromkeys((value, bare, *other)))


def _meant(slot: Slot, text: str, found: Found) -> int:
    """How far the nearest cue of the slot is from the value; AROUND when there is none."""
    before, after = text[max(0, found.start - AROUND) : found.start], text[found.end :][:AROUND]
    far = [AROUND]
    for cue in CUES.get(slot.name, ()):
        if cue in before:
            far.append(len(before) - before.rfind(cue) - len(cue))
        if cue in after:
            far.append(after.find(cue) + 1)
    return min(far)


def said_slots(turn: Exchange, flow: Flow, domain: str, number: int) -> dict[str, Filled]:
    """The values in a turn; what was asked for first, no words twice."""
    asked = {
        slot for frame in turn.system if frame.service == domain
        for act, slot, _ in frame.acts if act == "REQUEST"
    }  # fmt: skip
    claims: list[tuple[tuple[int, ...], str, Found]] = []
    for slot in flow.slots.values():
        wanted = slot.name in asked
        for place, found in enumerate(read(slot, turn.text, "zh", NOW, wanted=wanted)):
            if found.sure >= SURE:
                near = _meant(slot, turn.text, found)
                rank = (int(not wanted and near == AROUND), ORDER.index(slot.type), near, place)
                claims.append((rank, slot.name, found))
    values: dict[str, Filled] = {}
    spans: list[tuple[int, int]] = []
    for _, name, found in sorted(claims, key=lambda claim: claim[0]):
        if name in values or any(found.start < end and start < found.end for start, end in spans):
            continue
        spans.append((found.start, found.end))
        values[name] = Filled(found.value, found.spoken, number)
    return values


def follow(dialogues: Sequence[Sequence[Exchange]], flows: Mapping[str, Flow]) -> Tally:
    """The slots, turn by turn."""
    tally = Tally()
    for turns in dialogues:
        tally.begin()
        tasks: dict[str, Task] = {}
        for number, turn in enumerate(turns, 1):
            began = time.perf_counter()
            found = {
                frame.service: said_slots(turn, flows[frame.service], frame.service, number)
                for frame in turn.user
                if frame.service in flows
            }
            tally.ms.append((time.perf_counter() - began) * 1000)
            for frame in turn.user:
                if frame.service not in flows:
                    continue
                task = tasks.get(frame.service, Task(frame.service, "do"))
                tasks[frame.service] = fill(task, found[frame.service])
                after = tasks[frame.service].slots
                tally.count(flows[frame.service], _known(frame, flows), task.slots, after)
    return tally


def _known(frame: Frame, flows: Mapping[str, Flow]) -> Frame:
    """Without slots that the other half never used."""
    slots = flows[frame.service].slots
    state = {name: value for name, value in frame.state.items() if name in slots}
    given = tuple(name for name in frame.given if name in slots)
    return Frame(frame.service, frame.intent, given, state, frame.acts)


def report(
    folder: Path,
    config: Config,
    emit: Callable[..., None],
    *,
    limit: int | None,
    as_json: bool,
) -> None:
    """The command: one object with the figures."""
    began = time.perf_counter()
    dialogues = list(read_dialogues(folder / "dialogues.json").values())[:limit]
    first, second = dialogues[::2], dialogues[1::2]
    flows = flows_of(first)
    book = by_family(flows)
    taught = [turn for turns in first for turn in turns if set(turn.before) <= set(flows)]
    turns = [turn for turns in second for turn in turns if set(turn.before) <= set(flows)]
    gate = train(labelled(taught, flows, book, "zh"))
    verdicts = judge(gate, turns, flows, book, "zh")
    tally = follow(second, flows)
    f1, balanced = verdicts.figures()
    result = {
        "detach_f1": round(f1, 4),
        "balanced_accuracy": round(balanced, 4),
        "detach_turns": sum(verdicts.labels),
        "gate_ms": round(sum(verdicts.ms) / max(1, len(verdicts.ms)), 3),
        "slot_f1_rules": tally.figures()["slot_f1"],
        **tally.figures(),
        "taught_dialogues": len(first),
        "turns": sum(map(len, second)),
        "services": len(flows),
        "seconds": round(time.perf_counter() - began, 1),
    }
    emit(result, "\n".join(f"{key}: {value}" for key, value in result.items()))
