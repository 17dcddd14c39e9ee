"""The slots of a task out of what was said: typed values, ordinals, what is left over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.mind.cues import compiled, hits, longest, of
from assistant.mind.dialogue import Done, Filled, Task, fill, frozen
from assistant.mind.flows import Intent, Slot
from assistant.mind.slots import SURE, Found, read
from assistant.mind.view import MAX_EARLIER, View

MORE_WORDS = 3
MORE_CHARACTERS = 6
"""of "and flour": more words are a sentence"""
HOURS = ("time", "time_range")
ORDER = (
    "code", "choice", "time_range", "date", "money", "duration", "quantity", "number", "time",
    "flag", "name", "text",
)  # fmt: skip
"""Of two types that claim the same words, the earlier one gets them."""
_NUMBER_WORDS = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty"
    r"|fifty|sixty|seventy|eighty|ninety|hundred|thousand|dozen)\b",
    re.I,
)
_NOT = re.compile(
    r"(?:\b(?:not|except|but|instead of|rather than)\s+(?:the |on |at |in |for |room )*"
    r"|不要|不是|除了|别订?)$",
    re.I,
)
"""before a value: it is the one not meant"""
_BECOMES = r"(?:should be|is now|becomes|to|is|was|=|:|：|改成|改为|换成|应该是|是)"
_SPAN = re.compile(r"\w\s*(?:\b(?:to|till|til|until|and)\b|[-–—到至])\s*\w", re.I)
REST_EDGES = {
    "en": re.compile(
        r"^(?:(?:to|that|about|of|for|a|an|the|some|please|me|and|called|named|on|at|in|by|with)\b\s*)+"
        r"|(?:\s*\b(?:to|that|about|of|for|a|an|the|please|and|on|at|in|by|with|my|from|off|onto|into|down|too|costing))+$",
        re.I,
    ),
    "zh": re.compile(r"^[我的在到把叫是，,、要]+|[的在到给把，,、。]+$"),
}
"""Words at the edges of what is left that belong to what was taken out."""


@dataclass(frozen=True, slots=True)
class Read:
    """What one text says about a task's slots."""

    sure: Mapping[str, Filled]
    maybe: Mapping[str, Filled]
    spans: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sure or self.maybe)


NOTHING = Read({}, {})


def slots_of(view: View, intent: Intent) -> list[Slot]:
    flow = view.book.flows[intent.flow]
    return [flow.slots[name] for name in intent.slots]


def read_slots(
    view: View,
    slots: Sequence[Slot],
    wanted: Iterable[str] = (),
    *,
    free: bool = False,
    needed: Iterable[str] = (),
) -> Read:
    """Values for all slots. `free`: text slots are read although nobody asked for them.

    `needed`: slots whose bare number counts; others need their word beside it ("for 8 people").
    """
    asked, needed = frozenset(wanted), frozenset(needed)
    claims: list[tuple[tuple[int, ...], Slot, Found]] = []
    for slot in slots:
        bare = slot.name in asked
        if slot.type == "text" and not (bare or free):
            continue
        for place, found in enumerate(view.values(slot, wanted=bare)):
            if slot.type != "text" and _refused(view, slot, found):
                continue
            foreign = slot.type == "number" and not bare and slot.name not in needed
            if foreign and not _counts(view, slot, found):
                continue
            rank = (not bare or slot.type == "text", ORDER.index(slot.type), place)
            claims.append((tuple(map(int, rank)), slot, found))
    sure: dict[str, Filled] = {}
    maybe: dict[str, Filled] = {}
    spans: list[tuple[int, int]] = []
    kinds: dict[str, list[tuple[int, int]]] = {"day": [], "hour": [], "": [], "?": []}
    for _, slot, found in sorted(claims, key=lambda claim: (claim[2].sure < SURE, claim[0])):
        if slot.name in sure or slot.name in maybe:
            continue
        # "This afternoon", "six tonight": a day and a time share their words.
        kind = "day" if slot.type == "date" else "hour" if slot.type in HOURS else ""
        other = {"day": "hour", "hour": "day"}.get(kind, "?")
        shared = [] if slot.type == "date" and slot.name in asked else kinds[other]
        if _overlaps(found, [span for span in spans if span not in shared]):
            continue
        spans.append((found.start, found.end))
        if not (slot.type == "date" and slot.name in asked):
            kinds[kind].append(spans[-1])
        (sure if found.sure >= SURE else maybe)[slot.name] = Filled(
            found.value, found.spoken, view.turn
        )
    return Read(sure, maybe, tuple(spans))


def _refused(view: View, slot: Slot, found: Found) -> bool:
    """ "Not A302", "but not today", "anything but ten": named only to be ruled out."""
    return slot.type != "flag" and _NOT.search(view.text[: found.start]) is not None


def _counts(view: View, slot: Slot, found: Found) -> bool:
    """The number's own word stands beside it: "8 people", "people: 8", "八个人"; or "for 8"."""
    after, before = view.text[found.end : found.end + 12], view.text[: found.start]
    names = of(slot.words, view.language)
    near = f"{before[-12:]} \x00 {after}".lower()
    return any(name.lower() in near for name in names) or (
        re.search(r"\bfor\s+$", before, re.I) is not None
        and re.match(r"\s*(?:$|[.,!?]|(?:on|at|in|from|tomorrow|today|next|with|please)\b)", after)
        is not None
    )


def distinct(view: View, slot: Slot) -> tuple[str, ...]:
    """Different values named side by side for one slot: "A302 or B105"."""
    if slot.type not in ("choice", "code"):
        return ()
    found = [
        one for one in view.values(slot, wanted=True)
        if one.sure >= SURE and not _refused(view, slot, one)
    ]  # fmt: skip
    return tuple(dict.fromkeys(one.value for one in sorted(found, key=lambda one: one.start)))


def renamed(view: View, slots: Sequence[Slot]) -> dict[str, Filled]:
    """ "Change the reason to airport": a field of free text, named, with its new value."""
    found = {}
    for slot in slots:
        if slot.type not in ("text", "name"):
            continue
        names = "|".join(re.escape(word) for word in (*of(slot.words, view.language), slot.name))
        match = re.search(rf"(?:{names})\s*(?:{_BECOMES})\s*(?P<new>.+)$", view.text, re.I)
        if match and (new := match["new"].strip(" .。!！,，")):
            found[slot.name] = Filled(new, new, view.turn)
    return found


def _overlaps(found: Found, spans: Iterable[tuple[int, int]]) -> bool:
    return any(found.start < end and start < found.end for start, end in spans)


def _guessed(view: View, intent: Intent, slot: Slot, found: Read, cue: str) -> dict[str, Filled]:
    """What is left of a request is read as the value it lacks: "order ten *tona*"."""
    rest = _rest(view, intent, found, cue)
    size = len(rest) if view.language == "zh" else len(rest.split())
    if not rest or size > MORE_WORDS * (2 if view.language == "zh" else 1):
        return {}
    near = read(slot, rest, view.language, view.now, view.choices(slot), wanted=True)
    return {slot.name: Filled(near[0].value, rest, view.turn)} if near else {}


def _first_field(text: str, slots: Sequence[Slot], own: Slot, view: View) -> str:
    """ "label printer, price: 200" is a label printer: the next field's name ends this one."""
    names = [
        re.escape(word)
        for slot in slots
        if slot is not own
        for word in (*of(slot.words, view.language), slot.name)
    ]
    ends = re.search(rf"[,;，；]\s*(?:the )?(?:{'|'.join(names)})\b", text, re.I) if names else None
    return text[: ends.start()].strip() if ends else text


def covered(view: View, found: Read) -> float:
    """The share of the words that are values, 0 to 1."""
    telling = view.plain
    for name in ("opener", "filler", "polite"):
        telling = view.common.without(name, telling)
    letters = sum(char.isalnum() for char in telling)
    inside = sum(char.isalnum() for start, end in found.spans for char in view.text[start:end])
    return min(1.0, inside / letters) if letters else float(bool(inside))


def begun(view: View, intent: Intent, cue: str, *, left: bool = True) -> Read:
    """The slots of a request that begins a task; `cue` is the pattern that recognised it.

    `left`: a slot that takes the rest gets it.
    """
    slots = slots_of(view, intent)
    view = _without_condition(view, intent)
    loose = [slot.name for slot in slots if slot.type == "time_range" and _spans_time(view)]
    needed = intent.slots if intent.kind == "read" else intent.required
    found = read_slots(view, slots, loose, needed=needed)
    sure, maybe = dict(found.sure), dict(found.maybe)
    for slot in slots:
        if slot.type == "text" and slot.name not in sure:
            labelled = [value for value in view.values(slot, wanted=False) if value.sure >= SURE]
            text = _first_field(labelled[0].value, slots, slot, view) if labelled else ""
            if text:
                sure[slot.name] = Filled(text, text, view.turn)
    for slot in slots if left else ():
        if (
            slot.type == "choice"
            and slot.name in intent.required
            and not {slot.name}
            & {
                *sure,
                *maybe,
            }
        ):
            maybe |= _guessed(view, intent, slot, found, cue)
    for slot in slots if left else ():
        if slot.rest and slot.name not in sure and slot.name not in maybe:
            if rest := _rest(view, intent, found, cue):
                sure[slot.name] = Filled(rest, rest, view.turn)
            break
    return Read(sure, maybe, found.spans)


def _without_condition(view: View, intent: Intent) -> View:
    """ "If there are more than ten, order three": the ten is no quantity."""
    span = view.condition
    if intent.kind == "read" or span is None:
        return view
    blank = re.sub(r"\d|[零一二三四五六七八九十百千两]", " ", view.text[slice(*span)])
    for word in _NUMBER_WORDS.findall(blank):
        blank = blank.replace(word, " " * len(word))
    return view.of(view.text[: span[0]] + blank + view.text[span[1] :])


def one_more(view: View, intent: Intent) -> Read:
    """ "And flour": more of what was just added; only a few words, and no question."""
    start = longest(view.common.phrases("more"), view.language, view.plain)
    rest = view.plain[start:].strip() if start else ""
    size = len(rest) if view.language == "zh" else len(rest.split())
    most = MORE_CHARACTERS if view.language == "zh" else MORE_WORDS
    if not rest or size > most or "?" in view.text or "？" in view.text:
        return NOTHING
    for slot in slots_of(view, intent):
        if slot.rest:
            place = view.text.lower().rfind(rest)
            span = (place, place + len(rest)) if place >= 0 else (0, 0)
            return Read({slot.name: Filled(rest, rest, view.turn)}, {}, (span,))
    return NOTHING


def _spans_time(view: View) -> bool:
    """ "ten to twelve": in a request it is a stretch of time, though no "from" stands before it."""
    return _SPAN.search(view.text) is not None


def _rest(view: View, intent: Intent, found: Read, cue: str) -> str:
    """What no cue, noun or value took: "remind me *to call Anna* tomorrow at nine"."""
    text = view.text
    for start, end in sorted(found.spans, reverse=True):
        text = f"{text[:start]} \x00 {text[end:]}"
    flow = view.book.flows[intent.flow]
    nouns = of(flow.nouns, view.language)
    taken = [cue] if "*" not in cue else cue.split("*")
    for number, words in enumerate((*taken, *sorted(nouns, key=len, reverse=True))):
        text = _cut(text, words.strip(), view, "\x00" if number else "\x01")
    before, _, after = text.partition("\x01")
    for part in (after, before):
        pieces = [_trimmed(piece, view.language) for piece in re.split("[\x00\x01]", part)]
        for piece in pieces:
            if piece and not view.common.whole("vague", piece.lower()):
                return piece
    return ""


def _cut(text: str, words: str, view: View, mark: str) -> str:
    """Take out the first place of a pattern from the raw text."""
    if not words:
        return text
    nouns = of({}, view.language)
    body = compiled(words, view.language, nouns).pattern
    return re.sub(body, f" {mark} ", text, count=1, flags=re.I)


def _trimmed(text: str, language: str) -> str:
    edges = REST_EDGES["zh" if language == "zh" else "en"]
    before = ""
    while text != before:
        before = text
        text = edges.sub("", text.strip(" ,.;:!?，。；：！？\n\t"))
    return text


def _same_money(old: Filled | None, new: Filled) -> Filled:
    """ "50 euros", "no, 55": euros still."""
    unit = re.fullmatch(r"[\d.]+ ([A-Z]{3})", old.value) if old else None
    if unit and re.fullmatch(r"[\d.]+", new.value):
        return replace(new, value=f"{new.value} {unit[1]}")
    return new


def filled(view: View, task: Task, found: Read) -> Task:
    """The task with what was said; what was there before is kept for "undo that"."""
    sure = {name: _same_money(task.slots.get(name), one) for name, one in found.sure.items()}
    news = {
        name: value
        for name, value in sure.items()
        if name not in task.slots or task.slots[name].value != value.value
    }
    overwritten = [name for name in news if name in task.slots]
    earlier = (*task.earlier, task.slots)[-MAX_EARLIER:] if news else task.earlier
    maybe = {**task.maybe, **found.maybe}
    # Other wishes, other choices: what was named to choose from is looked up again.
    offered = {name: of for name, of in task.offered.items() if set(news) <= {name}}
    return replace(
        fill(task, news),
        maybe={name: value for name, value in maybe.items() if name not in found.sure},
        offered=frozen(offered),
        earlier=earlier,
        changed=task.changed or bool(overwritten),
        touched=view.stamp,
    )


def mentioned(view: View, done_or_task: Done | Task) -> bool:
    """A noun of its flow stands in the text."""
    task = done_or_task.task if isinstance(done_or_task, Done) else done_or_task
    nouns = of(view.flow(task).nouns, view.language)
    return bool(hits(nouns, view.plain, view.language))
