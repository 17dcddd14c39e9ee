"""The language model asked for slots that the rules leave open; a value it invents is refused.

One prompt: the open slots with what they mean, the assistant's last words, the user's. A value has
to stand in the user's words, or be one of the slot's choices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from assistant.bench.sgd_data import Exchange, spaced
from assistant.bench.sgd_slots import NOW, Moment, informable
from assistant.config import Config
from assistant.llm import Context, Weights
from assistant.mind.dialogue import Filled
from assistant.mind.flows import Slot
from assistant.mind.slots import SURE, read
from assistant.stages import Message
from assistant.weights import find
from assistant.workers import CancelToken

CONTEXT = 1024
MOST_TOKENS = 40
MOST_SLOTS = 5
RULES = (
    "You fill in a form from what the user says. For every field the user gives, write one line: "
    "field = value, in the user's own words. A field the user does not give is left out. "
    "If there is none, write: none"
)
EXAMPLES = (
    (
        ("town: Town of the match", "kind: Kind of event (Concert, Match)"),
        "Where shall I look?",
        "Around Lyon, and I'd love to hear some live jazz.",
        "town = Lyon\nkind = Concert",
    ),
    (
        ("writer: Person who wrote the book", "subject: Subject of the book", "pages: Pages"),
        "What kind of book do you want?",
        "Something about whales by Herman Melville.",
        "writer = Herman Melville\nsubject = whales",
    ),
    (("day: Day of the visit", "pet: Pet (Dog, Cat)"), "Is that right?", "Yes, great.", "none"),
)
_LINE = re.compile(r"^\W*([\w ]+?)\s*[=:]\s*(.+?)\W*$")


@dataclass(slots=True)
class Asker:
    """A model with a prompt; counts what it was asked."""

    context: Context
    note: Callable[[str], None]
    turns: int
    calls: int = 0
    values: int = 0
    seconds: float = 0.0
    seen: int = 0

    def __call__(
        self,
        turn: Exchange,
        moment: Moment,
        values: Mapping[str, Filled],
        unsure: Mapping[str, float],
    ) -> dict[str, Filled]:
        """Values for slots that are open, wanted or nearly found; {} where the rules are sure."""
        self.seen += 1
        self.note(f"slots: model, turn {self.seen} of about {self.turns}, {self.calls} calls")
        names = open_slots(moment, values, unsure)
        if not names:
            return {}
        slots = [moment.flow.slots[name] for name in names]
        pieces = self.context.stream(
            messages(slots, turn.said, moment.text), CancelToken(), max_tokens=MOST_TOKENS
        )
        answer = "".join(pieces)
        self.calls += 1
        self.seconds += self.context.stats.seconds
        found = accepted(answer, slots, moment.text, [value.spoken for value in values.values()])
        self.values += len(found)
        return found

    def figures(self) -> dict[str, float]:
        """What it cost."""
        return {
            "model_calls": self.calls,
            "model_values": self.values,
            "model_s_per_call": round(self.seconds / max(1, self.calls), 3),
        }


def open_slots(
    moment: Moment, values: Mapping[str, Filled], unsure: Mapping[str, float]
) -> list[str]:
    """Wanted ones first, then those whose best candidate was nearly a value."""
    asks = "?" in moment.text  # "does it have wifi?" gives nothing
    rest = [
        name
        for name in informable(moment.flow)
        if name in unsure
        and name not in values
        and name not in moment.filled
        and (name in moment.wanted or not (asks and moment.flow.slots[name].type == "flag"))
    ]
    rest.sort(key=lambda name: (name not in moment.wanted, -unsure[name]))
    return rest[:MOST_SLOTS]


def messages(slots: Sequence[Slot], said: str, text: str) -> list[Message]:
    """The prompt; everything before the last message is the same each time."""
    made: list[Message] = [{"role": "system", "content": RULES}]
    for fields, before, words, answer in EXAMPLES:
        made.append({"role": "user", "content": _form(fields, before, words)})
        made.append({"role": "assistant", "content": answer})
    form = _form([_field(slot) for slot in slots], said, text)
    return [*made, {"role": "user", "content": form}]


def _form(fields: Sequence[str], said: str, text: str) -> str:
    return "\n".join((*fields, f"Assistant: {said or 'Hello.'}", f"User: {text}"))


def _field(slot: Slot) -> str:
    meaning = slot.words.get("en", (slot.name,))[-1]
    options = ["yes", "no"] if slot.type == "flag" else [one.value for one in slot.choices]
    return f"{spaced(slot.name)}: {meaning}" + (f" ({', '.join(options)})" if options else "")


def accepted(
    answer: str, slots: Sequence[Slot], text: str, used: Sequence[str]
) -> dict[str, Filled]:
    """The lines of an answer that name a slot and a value that was said."""
    by_name = {spaced(slot.name): slot for slot in slots}
    taken = [one.lower() for one in used]
    found: dict[str, Filled] = {}
    for line in answer.splitlines():
        match = _LINE.match(line)
        slot = by_name.get(match.group(1).strip().lower()) if match else None
        if match is None or slot is None or slot.name in found:
            continue
        value = _value(slot, match.group(2), text)
        if value is None or any(value.spoken.lower() in one for one in taken):
            continue
        found[slot.name] = value
        taken.append(value.spoken.lower())
    return found


def _value(slot: Slot, said: str, text: str) -> Filled | None:
    low = said.strip().lower()
    if slot.type == "flag":
        return Filled(low, low, 0) if low in ("yes", "no") else None
    for choice in slot.choices:
        if choice.value.lower() == low:
            return Filled(choice.value, choice.value, 0)
    place = re.search(rf"(?<!\w){re.escape(low)}(?!\w)", text.lower())
    if place is None:
        return None
    spoken = text[place.start() : place.end()]
    if slot.type == "name":
        return Filled(spoken, spoken, 0)
    values = [one for one in read(slot, spoken, "en", NOW, wanted=True) if one.sure >= SURE]
    return Filled(values[0].value, spoken, 0) if values else None


@contextmanager
def asked(config: Config, note: Callable[[str], None], turns: int) -> Iterator[Asker]:
    """The model of config.toml, loaded. Raises ModelError."""
    path = find(config.llm.model, "llm")
    with Weights.load(config.llm, path, gpu_layers=config.llm.gpu_layers) as weights:
        context = weights.context(CONTEXT)
        context.prepare(messages([], "", ""), CancelToken())
        yield Asker(context, note, turns)
