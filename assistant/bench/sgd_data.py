"""Schema-Guided Dialogue as this product sees it: services become flows, turns become values.

Knows the two file formats; knows no gate and no reader.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.errors import InputError
from assistant.mind.flows import Choice, Flow, Intent, Slot

ACTS = {
    "REQUEST": "ask",
    "CONFIRM": "confirm",
    "OFFER": "offer",
    "NOTIFY_SUCCESS": "done",
    "NOTIFY_FAILURE": "failed",
    "INFORM": "inform",
    "INFORM_COUNT": "inform",
    "REQ_MORE": "more",
    "OFFER_INTENT": "suggest",
    "GOODBYE": "bye",
}
"""what this product calls it"""
_TYPES = (
    ("number", r"^number of|\bhow many\b|\blength of stay\b|\bin days\b|\brating\b|\bpercentage\b"),
    ("date", r"\bdate\b|\bday\b"),
    ("duration", r"\bduration\b"),
    ("time", r"\btime\b"),
    ("money", r"\bprice\b|\bfare\b|\bamount\b|\bbalance\b|\brent\b|\bcost\b|\bfee\b"),
    ("number", r"\bnumber of\b|\bnumber\b(?! to| of the)|\bpercentage\b|\bspeed\b|\bhumidity\b"),
)
_FLAG = re.compile(
    r"^(?:has|is|are|free|good|shared|serves|offers)_|^refundable|^furnished|_(?:allowed|welcome)$"
)
"""how yes-or-no slots are called in schemas"""
_SPACED = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a turn is about in one service."""

    service: str
    intent: str = ""
    given: tuple[str, ...] = ()
    """slots whose value is new in this turn"""
    state: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """slot → accepted spellings of its value after this turn"""
    acts: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """(act, slot, values)"""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The assistant's last words and the user's answer."""

    dialogue: str
    said: str
    system: tuple[Frame, ...]
    text: str
    user: tuple[Frame, ...]
    before: tuple[str, ...]
    """services of the user's last turn; empty at the start"""

    @property
    def services(self) -> tuple[str, ...]:
        return tuple(frame.service for frame in self.user)

    @property
    def detach(self) -> bool:
        return bool(self.before) and not set(self.services) & set(self.before)


def family(service: str) -> str:
    """ "Hotels_4" → "Hotels": versions of a service are never used side by side."""
    return re.sub(r"_\d+$", "", service)


def spaced(name: str) -> str:
    """ "GetCarsAvailable", "pickup_date" → words."""
    return _SPACED.sub(" ", name).lower()


def slot_type(name: str, description: str = "", values: Iterable[str] = ()) -> str:
    """One of flows.TYPES for a slot, from what its schema says."""
    values = list(values)
    if values and set(values) <= {"True", "False"}:
        return "flag"
    if values:
        return "number" if all(value.isdigit() for value in values) else "choice"
    if not description and _FLAG.search(name):
        return "flag"
    for text in (description.lower(), spaced(name)):
        for kind, pattern in _TYPES:
            if re.search(pattern, text) and not re.search(r"phone|\bname\b|address", spaced(name)):
                return kind
    return "name"


def slot_of(name: str, description: str = "", values: Iterable[str] = ()) -> Slot:
    values = tuple(values)
    kind = slot_type(name, description, values)
    called = dict.fromkeys(text for text in (spaced(name), description) if text)
    return Slot(name, kind, {"en": tuple(called)}, {}, tuple(Choice(value) for value in values))


def flow_of(service: Mapping[str, Any]) -> Flow:
    """A flow out of one service of schema.json."""
    name = family(service["service_name"])
    slots = {
        slot["name"]: slot_of(slot["name"], slot["description"], slot["possible_values"])
        for slot in service["slots"]
    }
    intents = {
        item["name"]: _intent(
            name,
            item["name"],
            item["description"],
            write=item["is_transactional"],
            required=tuple(item["required_slots"]),
            optional=tuple(item["optional_slots"]),
        )
        for item in service["intents"]
    }
    nouns = {"en": (spaced(name), service["description"])}
    return Flow(name, {"en": spaced(name)}, nouns, slots, intents)


def _intent(
    flow: str,
    name: str,
    title: str = "",
    *,
    write: bool = False,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> Intent:
    return Intent(
        flow,
        name,
        "write" if write else "read",
        "high" if write else "low",
        f"{flow}.{name}",
        {"en": title or spaced(name)},
        required,
        optional,
        cues={"en": (spaced(name),)},
    )


def read_schema(path: Path) -> dict[str, Flow]:
    """Service → flow. Raises InputError."""
    return {item["service_name"]: flow_of(item) for item in _load(path)}


def guess_flows(turns: Iterable[Exchange]) -> dict[str, Flow]:
    """Flows of services without a schema, from the names that occur in their turns."""
    slots: dict[str, dict[str, None]] = {}
    intents: dict[str, dict[str, dict[str, None]]] = {}
    """service → intent → slots given under it"""
    for turn in turns:
        for frame in (*turn.system, *turn.user):
            names = [*frame.given, *(slot for _, slot, _ in frame.acts if slot)]
            slots.setdefault(frame.service, {}).update(dict.fromkeys(names))
            if frame.intent not in ("", "NONE"):
                given = intents.setdefault(frame.service, {}).setdefault(frame.intent, {})
                given.update(dict.fromkeys(frame.given))
    return {
        service: Flow(
            family(service),
            {"en": spaced(family(service))},
            {"en": (spaced(family(service)),)},
            {name: slot_of(name) for name in names if name not in ("intent", "count")},
            {
                name: _intent(family(service), name, optional=tuple(given))
                for name, given in intents.get(service, {}).items()
            },
        )
        for service, names in slots.items()
    }


def read_dialogues(path: Path) -> list[Exchange]:
    """User turns of dialogues.json. Raises InputError."""
    return [turn for dialogue in _load(path) for turn in _exchanges(dialogue)]


def _exchanges(dialogue: Mapping[str, Any]) -> Iterator[Exchange]:
    said, system, before = "", tuple[Frame, ...](), tuple[str, ...]()
    state: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for turn in dialogue["turns"]:
        if turn["speaker"] == "SYSTEM":
            said = turn["utterance"]
            system = tuple(
                Frame(item["service"], acts=tuple(_act(act) for act in item["actions"]))
                for item in turn["frames"]
            )
            continue
        user = tuple(_user_frame(item, state) for item in turn["frames"])
        yield Exchange(dialogue["dialogue_id"], said, system, turn["utterance"], user, before)
        before = tuple(frame.service for frame in user)


def _act(act: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    return act["act"], act["slot"], tuple(act["values"])


def _user_frame(item: Mapping[str, Any], state: dict[str, Mapping[str, tuple[str, ...]]]) -> Frame:
    service = item["service"]
    old = state.get(service, {})
    new = {name: tuple(values) for name, values in item["state"]["slot_values"].items()}
    state[service] = new
    given = tuple(name for name, values in new.items() if not set(values) & set(old.get(name, ())))
    acts = tuple(_act(act) for act in item["actions"])
    return Frame(service, item["state"]["active_intent"], given, new, acts)


def read_train(path: Path) -> list[Exchange]:
    """User turns of train_turns.jsonl.gz. Raises InputError."""
    result: list[Exchange] = []
    dialogue, said, system, before = "", "", tuple[Frame, ...](), tuple[str, ...]()
    for turn in _lines(path):
        if turn["d"] != dialogue:
            dialogue, said, system, before = turn["d"], "", (), ()
        if turn["who"] == "SYSTEM":
            said = turn["text"]
            system = tuple(
                Frame(item["service"], acts=tuple(_named(act) for act in item["acts"]))
                for item in turn["frames"]
            )
            continue
        user = tuple(
            Frame(item["service"], item["intent"], tuple(item["given"])) for item in turn["frames"]
        )
        result.append(Exchange(dialogue, said, system, turn["text"], user, before))
        before = tuple(frame.service for frame in user)
    return result


def _named(act: str) -> tuple[str, str, tuple[str, ...]]:
    name, _, slot = act.partition(":")
    return name, slot, ()


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    yield json.loads(line)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from None
