"""TOML files → flows.Book: the only place that reads flow files.

The shipped flows come first, then every *.toml of a site's folders; a flow with the same id
replaces the shipped one, a site's common.toml adds to the shipped words. A broken file is refused
with file, line and reason. Form of a file: see the head of flows/rooms.toml.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from assistant.errors import ConfigError
from assistant.flow_source import Fault, Path_, Source
from assistant.mind.cues import compiled
from assistant.mind.flows import TYPES, Book, Choice, Flow, Intent, Slot, Texts, Words

SHIPPED = Path(__file__).resolve().parent / "flows"
COMMON = "common.toml"
SKELETON = SHIPPED / "skeleton.toml"
"""what `flows new` writes; no flow of its own"""
NAME = re.compile(r"[a-z][a-z0-9_]*")

FLOW_KEYS = ("id", "name", "nouns", "change", "follow", "slots", "intents")
SLOT_KEYS = ("type", "words", "ask", "choices", "source", "least", "most", "pattern", "rest")
INTENT_KEYS = (
    *("kind", "risk", "action", "title", "required", "optional", "offer", "cues", "phrases"),
    *("confirm", "say", "examples"),
)
KINDS = ("read", "write")
RISKS = ("low", "high")
_UNHEARD = re.compile(r"[^\w'%$€£¥:.\-/ ()|*]")
"""what never stands in the plain form of speech"""


def load_book(folders: Sequence[Path] = (), actions: frozenset[str] | None = None) -> Book:
    """The shipped flows and a site's. `actions`: those that skills register; None: not checked.

    Raises ConfigError naming file, line and reason.
    """
    shipped = _shipped(actions)
    flows = dict(shipped.flows)
    common = {name: dict(words) for name, words in shipped.common.items()}
    for folder in folders:
        _add(folder, flows, common, actions)
    return Book(flows, common)


@cache
def _shipped(actions: frozenset[str] | None) -> Book:
    """What comes with the program does not change while it runs."""
    flows: dict[str, Flow] = {}
    common: dict[str, dict[str, tuple[str, ...]]] = {}
    _add(SHIPPED, flows, common, actions)
    return Book(flows, common)


def _add(
    folder: Path,
    flows: dict[str, Flow],
    common: dict[str, dict[str, tuple[str, ...]]],
    actions: frozenset[str] | None,
) -> None:
    """The flows and words of a folder, over those that are there."""
    here: dict[str, Path] = {}
    for path in flow_files(folder):
        if path.name == COMMON:
            _join(common, _raised(*read_common(path)))
            continue
        flow = _raised(*read_flow(path, actions))
        if flow.id in here:
            raise ConfigError(f"{path}: the flow {flow.id!r} is already in {here[flow.id]}.")
        here[flow.id] = path
        flows[flow.id] = flow


def flow_files(folder: Path) -> list[Path]:
    """The flow files of a folder, in the order they are read. Raises ConfigError."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder of flows.")
    return sorted(path for path in folder.glob("*.toml") if path != SKELETON)


def read_flow(path: Path, actions: frozenset[str] | None = None) -> tuple[Flow | None, list[Fault]]:
    """A flow and what is wrong with it; no flow when anything is."""
    source, faults = Source.open(path)
    if source is None:
        return None, faults
    flow = _Reader(source, actions).flow()
    return (None if source.faults else flow), source.faults


def read_common(path: Path) -> tuple[dict[str, Words] | None, list[Fault]]:
    """Words that belong to no flow: name → language → patterns."""
    source, faults = Source.open(path)
    if source is None:
        return None, faults
    reader = _Reader(source, None)
    reader.languages = tuple({str(key): None for one in source.data.values() for key in one})
    plain = ("smalltalk", "remark")
    found = {name: reader.patterns((name,), plain=name in plain) for name in list(source.data)}
    return (None if source.faults else found), source.faults


def _raised(found: Any, faults: list[Fault]) -> Any:
    if faults:
        raise ConfigError(str(faults[0]))
    return found


def _join(all_: dict[str, dict[str, tuple[str, ...]]], new: Mapping[str, Words]) -> None:
    for name, words in new.items():
        kept = all_.setdefault(name, {})
        for language, phrases in words.items():
            kept[language] = tuple(dict.fromkeys((*kept.get(language, ()), *phrases)))


class _Reader:
    """Turns a file's data into values; what is wrong is noted, not raised, so that all is told."""

    def __init__(self, source: Source, actions: frozenset[str] | None) -> None:
        self.source = source
        self.actions = actions
        self.languages: tuple[str, ...] = ()
        self.nouns: Words = {}

    # The parts of a flow

    def flow(self) -> Flow:
        data = self.source.data
        self.known((), data, FLOW_KEYS)
        self.languages = tuple(self.table(("name",)))
        if not self.languages:
            self.source.fault(("name",), 'a flow needs a name, such as { en = "the room" }.')
        name = self.texts(("name",))
        self.nouns = self.words(("nouns",), needed=True)
        slots = {key: self.slot(key) for key in self.table(("slots",))}
        id_ = self.text(("id",), needed=True)
        if id_ and not NAME.fullmatch(id_):
            self.source.fault(("id",), f"use small letters, digits and _, not {id_!r}.")
        intents = {key: self.intent(id_, key, slots) for key in self.table(("intents",))}
        if not intents:
            self.source.fault((), "a flow needs at least one [intents.…].")
        change, follow = (self.links(key, intents) for key in ("change", "follow"))
        return Flow(id_, name, self.nouns, slots, intents, change, follow)

    def slot(self, name: str) -> Slot:
        path = ("slots", name)
        data = self.table(path)
        self.known(path, data, SLOT_KEYS)
        self.well_named(path)
        type_ = self.one_of((*path, "type"), TYPES, needed=True)
        source = self.text((*path, "source"))
        pattern = self.text((*path, "pattern"))
        try:
            re.compile(pattern)
        except re.error as error:
            self.source.fault((*path, "pattern"), f"not a regular expression: {error}.")
        choices = tuple(self.choice((*path, "choices", at)) for at in range(self.length(path)))
        if type_ == "choice" and not choices and not source:
            self.source.fault(path, "a choice needs choices or a source.")
        least, most = (self.number((*path, key)) for key in ("least", "most"))
        if least is not None and most is not None and least > most:
            self.source.fault((*path, "most"), f"{most:g} is less than least = {least:g}.")
        words, ask = self.words((*path, "words")), self.texts((*path, "ask"))
        rest = self.truth((*path, "rest"))
        return Slot(name, type_, words, ask, choices, source, least, most, pattern, rest)

    def choice(self, path: Path_) -> Choice:
        data = self.table(path)
        self.known(path, data, ("value", *self.languages))
        value = self.text((*path, "value"), needed=True)
        words = {key: self.list_((*path, key)) for key in self.languages if key in data}
        return Choice(value, words)

    def intent(self, flow: str, name: str, slots: Mapping[str, Slot]) -> Intent:
        path = ("intents", name)
        self.known(path, self.table(path), INTENT_KEYS)
        self.well_named(path)
        required, optional, offer = (
            self.slot_names((*path, key), slots) for key in ("required", "optional", "offer")
        )
        for one in offer:
            if one not in optional:
                self.source.fault((*path, "offer"), f"{one!r} is not among the optional slots.")
        for one in (*required, *offer):
            if one in slots and not slots[one].ask:
                self.source.fault(("slots", one), f"intents.{name} asks for it: it needs ask = …")
        kind = self.one_of((*path, "kind"), KINDS, needed=True)
        confirm = self.texts((*path, "confirm"), needed=kind == "write")
        intent = Intent(
            flow, name, kind, self.one_of((*path, "risk"), RISKS, needed=True),
            self.action((*path, "action")), self.texts((*path, "title"), needed=True),
            required, optional, offer,
            self.patterns((*path, "cues")), self.patterns((*path, "phrases")), confirm,
            {one: self.texts((*path, "say", one)) for one in self.table((*path, "say"))},
            self.words((*path, "examples"), needed=True),
        )  # fmt: skip
        for language in self.languages:
            if not intent.cues.get(language) and not intent.phrases.get(language):
                self.source.fault(path, f"neither cues nor phrases in {language!r}: never meant.")
        return intent

    def action(self, path: Path_) -> str:
        name = self.text(path, needed=True)
        if name and self.actions is not None and name not in self.actions:
            reason = f"no skill has the action {name!r}; {_near(name, self.actions)}"
            self.source.fault(path, reason)
        return name

    def links(self, key: str, intents: Mapping[str, Intent]) -> dict[str, str]:
        found = {}
        for one in self.table((key,)):
            other = self.text((key, one))
            for name in (one, other):
                if name not in intents:
                    self.source.fault((key, one), f"no intent {name!r}; {_near(name, intents)}")
            found[one] = other
        return found

    def slot_names(self, path: Path_, slots: Mapping[str, Slot]) -> tuple[str, ...]:
        names = self.list_(path)
        for name in names:
            if name not in slots:
                self.source.fault(path, f"no slot {name!r}; {_near(name, slots)}")
        return names

    def length(self, path: Path_) -> int:
        found = self.get((*path, "choices"))
        return len(found) if self.right((*path, "choices"), found, list, "a list") else 0

    # Words

    def texts(self, path: Path_, *, needed: bool = False) -> Texts:
        """One text in every language of the flow."""
        data = self.spoken(path, needed=needed)
        return {key: self.text((*path, key), needed=True) for key in data}

    def words(self, path: Path_, *, needed: bool = False) -> Words:
        """Several texts in every language of the flow."""
        return {key: self.list_((*path, key)) for key in self.spoken(path, needed=needed)}

    def patterns(self, path: Path_, *, plain: bool = False) -> Words:
        """Several patterns in every language; each must be one that can be heard."""
        found = self.words(path)
        for language, patterns in found.items() if not plain else ():
            for pattern in patterns:
                if odd := _UNHEARD.search(pattern.replace("{noun}", "")):
                    reason = f"{odd.group()!r} in {pattern!r} is never heard; use words, *, (a|b)."
                    self.source.fault((*path, language), reason)
                    continue
                try:
                    compiled(pattern, language, tuple(self.nouns.get(language, ())))
                except ValueError as error:
                    self.source.fault((*path, language), f"bad pattern {error}.")
        return found

    def spoken(self, path: Path_, *, needed: bool) -> dict[str, Any]:
        data = self.table(path)
        if not data and not needed:
            return {}
        self.known(path, data, self.languages, "language")
        for language in self.languages:
            if language not in data:
                self.source.fault(path, f"nothing in {language!r}; the flow's name has it.")
        return data

    # Plain values

    def get(self, path: Path_) -> Any:
        found: Any = self.source.data
        for part in path:
            if isinstance(part, int):
                found = found[part] if isinstance(found, list) and part < len(found) else None
            else:
                found = found.get(part) if isinstance(found, dict) else None
        return found

    def right(self, path: Path_, found: Any, type_: Any, called: str) -> bool:
        if found is None:
            return False
        if isinstance(found, type_) and (type_ is bool or not isinstance(found, bool)):
            return True
        self.source.fault(path, f"must be {called}, not {found!r}.")
        return False

    def table(self, path: Path_) -> dict[str, Any]:
        found = self.get(path)
        return found if self.right(path, found, dict, "a table") else {}

    def text(self, path: Path_, *, needed: bool = False) -> str:
        found = self.get(path)
        if not self.right(path, found, str, "a text"):
            found = ""
        if needed and self.get(path) in (None, ""):
            self.source.fault(path, "is missing.")
        return str(found)

    def list_(self, path: Path_) -> tuple[str, ...]:
        found = self.get(path)
        if not self.right(path, found, list, "a list of texts"):
            return ()
        if not all(isinstance(item, str) and item.strip() for item in found):
            self.source.fault(path, "must hold texts that are not empty.")
            return ()
        return tuple(found)

    def number(self, path: Path_) -> float | None:
        found = self.get(path)
        return float(found) if self.right(path, found, (int, float), "a number") else None

    def truth(self, path: Path_) -> bool:
        found = self.get(path)
        return bool(found) if self.right(path, found, bool, "true or false") else False

    def one_of(self, path: Path_, known: Sequence[str], *, needed: bool) -> str:
        found = self.text(path, needed=needed)
        if found and found not in known:
            self.source.fault(path, f"{found!r} is none of them; {_near(found, known)}")
        return found

    def known(
        self, path: Path_, data: Mapping[str, Any], keys: Sequence[str], what: str = "key"
    ) -> None:
        for key in data:
            if key not in keys:
                self.source.fault((*path, key), f"unknown {what}; {_near(key, keys)}")

    def well_named(self, path: Path_) -> None:
        if not NAME.fullmatch(str(path[-1])):
            self.source.fault(path, "use small letters, digits and _ in names.")


def _near(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1, 0.5)
    return f"did you mean {near[0]!r}?" if near else "there are " + (", ".join(names) or "none")
