"""Flags, names and free text: values that are known by the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from assistant.mind.flows import Choice, Slot
from assistant.mind.slot_choices import read_choices
from assistant.mind.slot_view import Candidate, View, either, words

GAP = "{}"
"""stands in a slot's word for the value itself: "remind me to {}", "add {} to", 提醒我{}"""

_SHORT_ANSWER = 8
"""Chinese characters, or twice the words, of an answer in which a yes may stand anywhere"""

# ── flags ──


def read_flags(view: View, slot: Slot, wanted: bool) -> Iterator[Candidate]:
    """Whether what the flag is about is wished for: "with a window", 不要靠窗; then yes and no."""
    about = [word for said in slot.words.values() for word in said if GAP not in word]
    named = list(read_choices(view, [Choice("yes", {"": tuple(about)})], wanted))
    named = [item for item in named if view.plain[item.start : item.end] != "yes"]
    for item in named:
        start, end, value = _negated(view, item)
        yield Candidate(value, start, end, item.sure)
    if named or not wanted:
        return
    yield from _yes_or_no(view)


def _negated(view: View, item: Candidate) -> tuple[int, int, str]:
    before, after = _negations(view.language)
    match = before.search(view.plain, 0, item.start)
    if match:
        return match.start(), item.end, "no"
    match = after.match(view.plain, item.end)
    return (item.start, match.end(), "no") if match else (item.start, item.end, "yes")


@cache
def _negations(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    before, after = either(language, "negations"), either(language, "negations_after")
    if language == "zh":
        breaks = "|".join(words(language)["clause_breaks"])
        return (
            re.compile(rf"(?<![有要用是能]){before}(?:(?!{breaks})[^\s,.;!?]){{0,4}}$"),
            re.compile(rf"(?:的|设备|座|位|房间?|会议室)?[,\s]?{after}"),
        )
    breaks = "|".join(words(language)["clause_breaks"])
    return (
        re.compile(rf"\b{before}(?:[ ](?!(?:{breaks})\b(?! the| a))[a-z']+){{0,5}}?[ ]$"),
        re.compile(rf"(?: [a-z]+)?,? {after}\b"),
    )


def _yes_or_no(view: View) -> Iterator[Candidate]:
    """A yes or no with which the answer begins, or anywhere in a short one."""
    if re.search(either(view.language, "open"), view.plain):
        return
    chinese = view.language == "zh"
    edges = ("", "") if chinese else (r"(?<![a-z])", r"(?![a-z])")
    length = len(view.plain) if chinese else 2 * view.plain.count(" ")
    start = 0
    if length > _SHORT_ANSWER:
        start, end = _trim(view.plain, 0, len(view.plain), _edges(view.language, False))
        if start >= end:
            return
    hits = []
    for name in ("no", "yes"):
        word = f"{edges[0]}{either(view.language, name)}{edges[1]}"
        if length <= _SHORT_ANSWER:
            match = re.search(word, view.plain)
        else:
            follows = rf"(?=\s*(?:[^\w\s']|$|{either(view.language, 'answer_follows')}{edges[1]}))"
            match = re.compile(word + follows).match(view.plain, start)
        if match:
            hits.append((match.start(), -match.end(), match, name))
    if hits:
        _, _, match, name = min(hits, key=lambda hit: hit[:2])
        yield Candidate(name, match.start(), match.end(), 0.95)


# ── names and texts ──


def read_texts(view: View, slot: Slot, wanted: bool, free: str) -> Iterator[Candidate]:
    """What stands in the gap of one of the slot's words, after its label, or all there is.

    `free` is the plain text with dates and times blanked out: a slot whose words have a gap is
    about something that happens at a time, which is no part of it ("call Anna tomorrow").
    """
    found = list(gaps(view, slot, free))
    found = found or list(_labelled(view, slot))
    if not found and wanted:
        gapped = any(GAP in word for word in slot.words.get(view.language, ()))
        found = list(_whole(view, slot, free if gapped else view.plain))
    yield from found


def gaps(view: View, slot: Slot, plain: str) -> Iterator[Candidate]:
    """ "remind me to {}" in "remind me to call Anna" → "call Anna"."""
    for word in slot.words.get(view.language, ()):
        if GAP not in word:
            continue
        for match in _gap(word, view.language).finditer(plain):
            start, end = _trim(plain, *match.span("gap"), _edges(view.language, False))
            if start < end:
                yield Candidate(view.text[start:end], start, end)
                return


@lru_cache(maxsize=512)
def _gap(word: str, language: str) -> re.Pattern[str]:
    before, _, after = word.lower().partition(GAP)
    spaced = [r"\s+".join(re.escape(part) for part in side.split()) for side in (before, after)]
    edge = r"\b" if before.isascii() else ""
    close = r"\b" if after.isascii() else ""
    gap = r"[^.!?;\n]+?" if spaced[1] else r"[^!?;\n]+"
    tail = rf"\s*{close}{spaced[1]}{close}" if spaced[1] else ""
    return re.compile(
        rf"{edge}{spaced[0]}[\s,:]*(?P<gap>{gap}){tail}" if spaced[0] else rf"(?P<gap>{gap}){tail}"
    )


def _labelled(view: View, slot: Slot) -> Iterator[Candidate]:
    label = label_pattern(slot, view.language, strict=True)
    match = label.search(view.plain) if label else None
    if match:
        end = _clause_end(view, match.end())
        start, end = _trim(view.plain, match.end(), end, _edges(view.language, True))
        if start < end:
            yield Candidate(view.text[start:end], start, end)


def _whole(view: View, slot: Slot, plain: str) -> Iterator[Candidate]:
    edges = _edges(view.language, True)
    start, end = _trim(plain, 0, len(plain), edges)
    label = label_pattern(slot, view.language, strict=False)
    if label and (match := label.match(plain, start)):
        start, end = _trim(plain, match.end(), end, edges)
    if start < end:
        yield Candidate(view.text[start:end], start, end, 0.9)


def _clause_end(view: View, start: int) -> int:
    match = re.compile(r"[!?;\n]|\.(?=\s|$)").search(view.plain, start)
    return match.start() if match else len(view.plain)


@lru_cache(maxsize=512)
def _label_words(said: tuple[str, ...], language: str, strict: bool) -> re.Pattern[str] | None:
    names = [re.escape(word.lower()) for word in said if GAP not in word]
    if not names:
        return None
    body = "|".join(sorted(names, key=len, reverse=True))
    marks = words(language)["labels"]
    signs = "|".join(m for m in marks if not m[0].isalnum() and m != ",")
    verbs = "|".join(sorted((m for m in marks if m[0].isalnum()), key=len, reverse=True))
    if language == "zh":
        verbs = f"\\s*(?:{verbs}|,)"
        return re.compile(rf"(?:{body})(?:\s*(?:{signs})|{verbs})\s*{'' if strict else '?'}")
    article = rf"(?:{either(language, 'articles')} )?"
    mark = rf"(?:\s*(?:{signs})\s*|\s+(?:{verbs})\b[\s,:]*)"
    return re.compile(rf"\b{article}(?:{body})\b{mark}{'' if strict else '?'}[\s,]*")


def label_pattern(slot: Slot, language: str, *, strict: bool) -> re.Pattern[str] | None:
    """ "reason: ", "the reason is "; without `strict` the bare word as well."""
    said = slot.words.get(language, ()) or (slot.name,)
    return _label_words(tuple(said), language, strict)


_Edges = tuple[re.Pattern[str], re.Pattern[str]]


def _trim(plain: str, start: int, end: int, edges: _Edges) -> tuple[int, int]:
    """Without fillers, politeness, lead-ins and quotation marks at both ends."""
    lead, tail = edges
    while match := lead.match(plain, start, end):
        if match.end() == start or match.end() >= end:
            break
        start = match.end()
    while match := tail.search(plain, start, end):
        if match.end() <= match.start() or match.start() <= start:
            break
        end = match.start()
    while start < end and plain[start] in " ,.:;!?\"'-":
        start += 1
    while end > start and plain[end - 1] in " ,.:;!?\"'-":
        end -= 1
    return start, end


@cache
def _edges(language: str, leads: bool) -> _Edges:
    lead = either(language, "fillers", "polite")
    if leads:
        lead = "|".join([either(language, "text_leads"), either(language, "leads"), lead])
    tail = either(language, "fillers", "polite")
    if language == "zh":
        return re.compile(rf"(?:{lead}|[\s,.:!?-])[\s,.:!?]*"), re.compile(
            rf"[\s,.!?]*(?:{tail}|[\s,.!?])$"
        )
    return (
        re.compile(rf"(?:{lead}(?![\w'])|[\s,.:!?-])[\s,.:!?]*"),
        re.compile(rf"(?:[\s,.!?]+(?:{tail})[\s,.!?]*|[\s,.!?]+)$"),
    )
