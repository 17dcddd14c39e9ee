"""What `run.py flows check|show|new|train` do: read flow files, say what is in them, learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from assistant.config import Config, FlowsConfig
from assistant.dialogues import GATE, load_skills
from assistant.errors import InputError
from assistant.flow_source import Fault, line_of
from assistant.flowbook import (
    COMMON,
    SHIPPED,
    SKELETON,
    flow_files,
    load_book,
    read_common,
    read_flow,
)
from assistant.home import data_folder
from assistant.mind.flows import Flow, Intent, Texts
from assistant.mind.wordplay import EACH, places, slot_of
from assistant.skills.registry import OUTCOMES, VALUES

Emit = Callable[[dict[str, Any], str | None], None]
"""one JSON object, and the line for a person"""


def check(paths: Sequence[Path], config: FlowsConfig, emit: Emit) -> int:
    """Check files and folders (none: the shipped flows and a site's). 0 when all can be used.

    Faults make a file unusable; warnings tell of sentences that are missing or have gaps.
    """
    faults = 0
    for path in _files(paths, config):
        wrong, warnings = _checked(path)
        faults += len(wrong)
        for kind, found in (("fault", wrong), ("warning", warnings)):
            for one in found:
                record = {"event": kind, "file": str(one.file), "line": one.line}
                emit({**record, "reason": one.reason}, f"{kind}: {one}")
        if not wrong:
            record = {"event": "checked", "file": str(path), "warnings": len(warnings)}
            emit(record, f"{path}: can be used")
    return 2 if faults else 0


def show(name: str | None, config: FlowsConfig, emit: Emit) -> None:
    """All flows in a line each; a flow or one of its intents in full.

    Raises InputError, ConfigError.
    """
    book = load_book(_folders(config), load_skills())
    if not name:
        for flow in book.flows.values():
            intents = ", ".join(_marked(intent) for intent in flow.intents.values())
            emit({"flow": flow.id, "intents": list(flow.intents)}, f"{flow.id}: {intents}")
        return
    flow_id, _, intent_name = name.partition(".")
    if flow_id not in book.flows:
        raise InputError(f"There is no flow {flow_id!r}; there are {', '.join(book.flows)}.")
    flow = book.flows[flow_id]
    if intent_name and intent_name not in flow.intents:
        there = ", ".join(flow.intents)
        raise InputError(f"{flow_id} has no intent {intent_name!r}; it has {there}.")
    wanted = [flow.intents[intent_name]] if intent_name else list(flow.intents.values())
    whole = wanted[0] if intent_name else flow
    emit(_plain(whole), "\n".join(_told(flow, wanted)))


def new(path: Path, emit: Emit) -> None:
    """Write a small flow that works, with a word on every key. Raises InputError."""
    if path.suffix != ".toml":
        raise InputError(f"{path}: a flow file ends in .toml.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(SKELETON.read_text(encoding="utf-8"))
    except FileExistsError:
        raise InputError(f"{path} is there already; take another name.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from None
    text = f"{path}: written; change it, then run.py flows check {path}"
    emit({"event": "written", "file": str(path)}, text)


def _folders(config: FlowsConfig) -> list[Path]:
    return [Path(one).expanduser() for one in config.folders]


def _files(paths: Sequence[Path], config: FlowsConfig) -> list[Path]:
    found: list[Path] = []
    for path in paths or (SHIPPED, *_folders(config)):
        if path.is_dir():
            found += flow_files(path)
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path}: there is no such file or folder.")
    return found


def _checked(path: Path) -> tuple[list[Fault], list[Fault]]:
    """Faults and warnings of a file."""
    if path.name == COMMON:
        return read_common(path)[1], []
    flow, faults = read_flow(path, load_skills())
    if flow is None:
        return faults, []
    text = path.read_text(encoding="utf-8-sig")
    warnings = [
        Fault(path, line_of(text, where), f"{'.'.join(where)}: {reason}")
        for intent in flow.intents.values()
        for where, reason in (
            *_gaps(flow, intent, VALUES.get(intent.action, ())),
            *_silent(intent, OUTCOMES.get(intent.action, ())),
        )
    ]
    return [], warnings


def _gaps(
    flow: Flow, intent: Intent, values: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Places in sentences that neither a slot nor the action fills."""
    texts: dict[tuple[str, ...], Texts] = {("confirm",): intent.confirm, ("title",): intent.title}
    texts |= {("say", name): said for name, said in intent.say.items()}
    for where, said in texts.items():
        for language, text in said.items():
            for name in places(text):
                if name not in flow.slots and name not in values and _bare(flow, name, where):
                    path = ("intents", intent.name, *where, language)
                    yield path, f"nothing fills {{{name}}}; it is left out."


def _bare(flow: Flow, name: str, where: tuple[str, ...]) -> bool:
    """A row's places are the action's own affair."""
    return where != ("say", EACH) or slot_of(flow, name) is None


def _silent(intent: Intent, outcomes: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    for outcome in outcomes:
        if outcome not in intent.say:
            path = ("intents", intent.name)
            yield path, f"no sentence for the outcome {outcome!r} of {intent.action}."


def _marked(intent: Intent) -> str:
    return f"{intent.name} ({intent.kind}, {intent.risk})"


def _told(flow: Flow, intents: Sequence[Intent]) -> Iterator[str]:
    yield f"{flow.id}: {' / '.join(flow.name.values())}"
    for slot in flow.slots.values():
        of = f" from {slot.source}" if slot.source else ""
        values = ", ".join(choice.value for choice in slot.choices)
        yield f"  {slot.name}: {slot.type}{of}{f' ({values})' if values else ''}"
    for intent in intents:
        needs = ", ".join(intent.required) or "nothing"
        more = f"; may have {', '.join(intent.optional)}" if intent.optional else ""
        yield f"  {_marked(intent)}: needs {needs}{more}"
        for examples in intent.examples.values():
            yield f"    {examples[0]}" if examples else ""


def _plain(value: Any) -> Any:
    """JSON values of dataclasses and mappings."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def train(config: Config, turns: Path | None, output: Path | None, emit: Emit) -> None:
    """Teach the gate from the flows' examples and a site's labelled turns."""
    from assistant.flow_train import run

    book = load_book([Path(one).expanduser() for one in config.flows.folders], load_skills())
    run(book, turns, output or data_folder(config) / GATE, emit)
