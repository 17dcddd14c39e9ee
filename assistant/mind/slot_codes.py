"""Codes of letters and digits, written ("AP-1001") or spelled ("a three oh two", A三零二)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from assistant.mind.flows import Choice, Slot
from assistant.mind.slot_view import Candidate, View, words

_CODE = re.compile(r"[A-Za-z]{1,4}[- ]?\d{1,8}")
_SUFFIX = 2
"""digits at least of a code said without its letters, where nobody had asked for one"""


def looks_like_code(value: str) -> bool:
    """Whether a value is said as letters and digits."""
    return bool(_CODE.fullmatch(value))


def read_codes(
    view: View, slot: Slot, known: Sequence[Choice], wanted: bool
) -> Iterator[Candidate]:
    """Every code; where codes are known, or the slot has a pattern, in the form it has there."""
    codes = tuple(c.value for c in known if looks_like_code(c.value))
    strict = slot.type == "choice"
    for match in _spelled(view.language).finditer(view.digits):
        letters = _letters(view.language, match["letters"])
        digits = _digits(match["number"])
        written = bool(re.search(r"[a-z]-?\d", match[0]))
        found = _resolve(letters, digits, codes, slot.pattern, strict)
        if not found or not (found[1] or written or _clear(match, digits, wanted)):
            continue
        value, in_list = found
        yield view.candidate(value, match, 1.0 if in_list or not codes else 0.9)
    yield from _numbers(view, slot, codes, wanted)


def _clear(match: re.Match[str], digits: str, wanted: bool) -> bool:
    """A spelled code that stands in no list: an article and a number ("a ten") is none."""
    return wanted or (len(digits) > 2 and match["letters"].strip(" -") not in ("a", "i"))


def _numbers(
    view: View, slot: Slot, codes: tuple[str, ...], wanted: bool
) -> Iterator[Candidate]:
    """A code of which only the digits were said: "room 302"."""
    for match in _DIGITS.finditer(view.digits):
        digits = _digits(match[0])
        ends = [code for code in codes if re.sub(r"\D", "", code).endswith(digits)]
        whole = [code for code in ends if re.sub(r"\D", "", code) == digits]
        chosen = whole or ends
        if len(digits) < _SUFFIX or (not whole and len(digits) < 2):
            continue
        if not (wanted or (len(digits) > 2 and _named(view, slot, match.start()))):
            continue
        if len(chosen) == 1:
            yield view.candidate(chosen[0], match, 0.9)
        elif len(chosen) > 1:
            for code in chosen:
                yield view.candidate(code, match, 0.7)
        elif not codes and slot.pattern and re.fullmatch(slot.pattern, digits):
            yield view.candidate(digits, match, 0.9)
        elif not codes and slot.pattern and (letters := _prefix(slot.pattern)):
            for value in (f"{letters}-{digits}", f"{letters}{digits}"):
                if re.fullmatch(slot.pattern, value):
                    yield view.candidate(value, match, 0.9)
                    break


def _named(view: View, slot: Slot, start: int) -> bool:
    """Whether the slot's own word stands before: "room 302"."""
    before = view.digits[:start].rstrip(" :#")
    said = [word.lower() for word in slot.words.get(view.language, ()) if "{" not in word]
    return any(before.endswith(word) for word in said)


def _prefix(pattern: str) -> str:
    """The letters that every code of a pattern begins with: "E" of "E-?[0-9]{4}"."""
    found = re.match(r"\^?([A-Z]{1,4})(?=-|\[|\\d|\(|$)", pattern)
    return found[1] if found else ""


def _resolve(
    letters: str, digits: str, codes: tuple[str, ...], pattern: str, strict: bool
) -> tuple[str, bool] | None:
    """(value, whether it is in the list); None when there can be no such code."""
    key = letters + digits
    for code in codes:
        if re.sub(r"[^A-Z\d]", "", code.upper()) == key:
            return code, True
    if strict or not letters:
        return None
    if not pattern:
        return (f"{letters}-{digits}" if _hyphened(codes) else key), False
    for value in (f"{letters}-{digits}", key, f"{letters} {digits}", key.lower()):
        if re.fullmatch(pattern, value):
            return value, False
    return None


def _hyphened(codes: tuple[str, ...]) -> bool:
    return bool(codes) and all("-" in code for code in codes)


_OH = r"(?:oh|o|幺)"
_GROUPS = rf"\d(?:\d|,(?=\d{{3}}))*(?:[ -](?:{_OH}[ -]?)*\d+|[ -]?{_OH}[ -]?\d+)*"
_DIGITS = re.compile(rf"(?<![\w.:/€$£¥-])(?<!\d )(?:{_OH} )?{_GROUPS}(?![\w:/%]|\.\d)")


def _digits(said: str) -> str:
    """ "3 oh 2" → "302", "1,001" → "1001", "10 oh 1" → "1001"."""
    return re.sub(r"\D", "", re.sub(r"oh|o", "0", said).replace("幺", "1"))


@cache
def _spelled(language: str) -> re.Pattern[str]:
    table = words(language)["letters"]
    names = [name for said in table.values() for name in said]
    letter = "(?:" + "|".join(sorted((*names, "[a-z]"), key=len, reverse=True)) + ")"
    if language == "zh":
        letters = r"[a-z]{1,4}|[a-z](?: [a-z]){1,3}|" + ("|".join(names) or "(?!)")
        joint = r"\s*(?:[-]|杠|横杠)?\s*"
    else:
        letters = rf"[a-z]{{1,3}}|{letter}(?:[ .-]{{1,2}}{letter}){{0,3}}"
        joint = r"[ .,]{0,2}(?:-|dash|hyphen|minus)?[ ]{0,2}"
    return re.compile(
        rf"(?<![a-z'-])(?P<letters>{letters}){joint}(?P<number>(?:{_OH}[ -]?)?{_GROUPS})"
        r"(?![a-z:%]|\.\d)"
    )


@cache
def _letters(language: str, said: str) -> str:
    """ "ay" → "A", "a p" → "AP", "ap" → "AP"."""
    table = {name: letter for letter, names in words(language)["letters"].items() for name in names}
    said = said.strip(" .-")
    if said in table:
        return str(table[said]).upper()
    parts = [part for part in re.split(r"[ .-]+", said) if part]
    return "".join(str(table.get(part, part)) for part in parts).upper()
