"""Codes of letters and digits, written ("AP-1001") or spelled ("a three oh two", A三零二)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from assistant.mind.flows import Choice, Slot
from assistant.mind.slot_clocks import grammar
from assistant.mind.slot_view import Candidate, View, words

_CODE = re.compile(r"[A-Za-z]{1,4}[- ]?\d{1,8}")
_SUFFIX, _WHOLE = 2, 3
"""digits at least of a code said without its letters, where it was asked for and where not"""


_ALIKE = ("BCDEGPTVZ", "AHJK", "MN", "FSX", "IY", "QU")
"""letters that are heard one for another"""
_EIGHT = "A"
"""the letter that is heard as 8"""


def looks_like_code(value: str) -> bool:
    """Whether a value is said as letters and digits."""
    return bool(_CODE.fullmatch(value))


def read_codes(
    view: View, slot: Slot, known: Sequence[Choice], wanted: bool
) -> Iterator[Candidate]:
    """Every code; where codes are known, or the slot has a pattern, in the form it has there."""
    if _prefix(slot.pattern) == _ZERO:
        yield from _with_letter_o(view, slot)
        return
    codes = tuple(c.value for c in known if looks_like_code(c.value))
    strict = slot.type == "choice"
    for match in _spelled(view.language).finditer(view.digits):
        letters = _letters(view.language, match["letters"])
        found, end = _longest(view, match, letters, (codes, slot.pattern, strict))
        digits = _digits(view.digits[match.start("number") : end])
        clear = _clear(view, match, digits, wanted)
        if not found:
            yield from _misheard(view, match, (letters, digits), codes)
        elif found[1] or slot.pattern or clear:
            sure = 1.0 if found[1] or not codes else 0.9
            yield Candidate(found[0], *view.span(match.start(), end), sure)
    yield from _numbers(view, slot, codes, wanted)


def _with_letter_o(view: View, slot: Slot) -> Iterator[Candidate]:
    """ "O-1002", "o one thousand and two", "oh 1002": here the letter is no zero."""
    for match in _AFTER_O.finditer(view.digits):
        digits = _digits(match["number"]).lstrip("0")
        for value in (f"{_ZERO}-{digits}", f"{_ZERO}{digits}"):
            if re.fullmatch(slot.pattern, value):
                yield Candidate(value, *view.span(*match.span()), 1.0)


_Resolved = tuple[str, bool]
"""(value, whether it is in the list)"""


def _longest(
    view: View, match: re.Match[str], letters: str, rules: tuple[tuple[str, ...], str, bool]
) -> tuple[_Resolved | None, int]:
    """The longest code at the beginning of a run of numbers ("A302 10-12"), and where it ends."""
    codes, pattern, strict = rules
    start = match.start("number")
    ends = [start + gap.start() for gap in re.finditer(r"[ -]", match["number"])]
    for end in (match.end(), *reversed(ends)):
        said = view.digits[start:end]
        found = _resolve(letters, _digits(said), codes, pattern, strict)
        if found and (found[1] or (pattern and "." not in said)):
            return found, end
    if pattern or strict or "." in match["number"]:
        return None, match.end()
    end = ends[0] if ends and ends[0] - start > _SUFFIX else match.end()
    return _resolve(letters, _digits(view.digits[start:end]), codes, pattern, strict), end


def _misheard(
    view: View, match: re.Match[str], said: tuple[str, str], codes: tuple[str, ...]
) -> Iterator[Candidate]:
    """The one known code with the same digits and another letter: to be asked."""
    letters, digits = said
    near = [code for code in codes if re.sub(r"\D", "", code) == digits]
    if len(near) != 1 or len(digits) < 2:
        return
    own = re.sub(r"[^A-Z]", "", near[0].upper())
    alike = len(own) == len(letters) and all(map(_sound_alike, own, letters))
    if alike or re.search(r"[a-z]-?\d", match[0]):
        yield view.candidate(near[0], match, 0.8 if alike else 0.65)


def _sound_alike(one: str, other: str) -> bool:
    return one == other or any(one in group and other in group for group in _ALIKE)


def _clear(view: View, match: re.Match[str], digits: str, wanted: bool) -> bool:
    """A spelled code that stands in no list: neither an article ("a ten") nor a word ("for 8")."""
    start, end = view.span(*match.span("letters"))
    letters = view.text[start:end].strip(" -")
    if letters in ("a", "A", "I") and not wanted:
        return False
    if not letters.isascii():
        return False
    if re.search(r"[a-z]-?\d", match[0]):
        return True
    single = len(letters) == 1 or all(len(part) == 1 for part in letters.split())
    capitals = letters.isupper() and not view.text.isupper()
    return (single or capitals) and (wanted or len(digits) > 2)


def _numbers(view: View, slot: Slot, codes: tuple[str, ...], wanted: bool) -> Iterator[Candidate]:
    """A code of which only the digits were said: "room 302", and 302 where only one ends so."""
    for match in _DIGITS.finditer(view.digits):
        named = _named(view, slot, match)
        ends = [gap.start() for gap in re.finditer(r"[ -]", match[0])]
        for length in (len(match[0]), *reversed(ends)):
            digits = _digits(match[0][:length])
            if len(digits) < (_SUFFIX if wanted else _WHOLE):
                continue
            found = list(_completed(digits, codes, slot.pattern))
            span = view.span(match.start(), match.start() + length)
            if not (wanted or named):
                alone = _alone(view, digits, codes, match.start() + length)
                found = [(code, 0.75) for code, _ in found if alone]
            yield from (Candidate(code, *span, sure) for code, sure in found)
            if found:
                break


def _alone(view: View, digits: str, codes: tuple[str, ...], end: int) -> bool:
    """Whether a bare number is all the digits of a known code and counts nothing."""
    known = any(re.sub(r"\D", "", code) == digits for code in codes)
    return known and not grammar(view.language).counted.match(view.digits, end)


def _completed(digits: str, codes: tuple[str, ...], pattern: str) -> Iterator[tuple[str, float]]:
    """Digits → the codes that they can stand for, with how sure that is."""
    if codes:
        ends = [code for code in codes if re.sub(r"\D", "", code).endswith(digits)]
        chosen = [code for code in ends if re.sub(r"\D", "", code) == digits] or ends
        for code in chosen:
            yield code, 0.9 if len(chosen) == 1 else 0.7
        eight = not chosen and digits.startswith("8")
        if eight and (found := _resolve(_EIGHT, digits[1:], codes, "", True)):
            yield found[0], 0.8
    elif pattern:
        letters = _prefix(pattern)
        for value in (digits, f"{letters}-{digits}", f"{letters}{digits}"):
            if re.fullmatch(pattern, value):
                yield value, 0.9
                return


def _named(view: View, slot: Slot, match: re.Match[str]) -> bool:
    """Whether the slot's own word stands beside: "room 302", 三零二会议室."""
    before, after = view.digits[: match.start()].rstrip(" :#"), view.digits[match.end() :]
    said = [word.lower() for word in slot.words.get(view.language, ()) if "{" not in word]
    if any(before.endswith(word) for word in said):
        return True
    return view.language == "zh" and any(after.startswith(word) for word in said)


def _prefix(pattern: str) -> str:
    """The letters that every code of a pattern begins with: "E" of "E-?[0-9]{4}"."""
    found = re.match(r"\^?([A-Z]{1,4})(?=-|\[|\\d|\(|$)", pattern)
    return found[1] if found else ""


def _resolve(
    letters: str, digits: str, codes: tuple[str, ...], pattern: str, strict: bool
) -> _Resolved | None:
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


_OH = r"(?:double[ -]?oh?(?![a-z])|oh|o|幺)"
_GROUPS = (
    r"(?:\d\.\d\d(?!\d)|(?:double[ -]?)?\d(?:\d|,(?=\d{3}))*)"
    rf"(?:[ -](?:{_OH}[ -]?|double[ -]?)*\d+|[ -]?{_OH}[ -]?\d+)*"
    r"(?:(?<=00) ?(?:and|in|an|n|m) ?\d{1,2}(?=\s*(?:$|[.,!?])))?"
)
"""numbers said one after the other, with "oh" and "double"; "1000 in 1" for a thousand and one"""
_DIGITS = re.compile(
    rf"(?<![a-z\d.:/€$£¥-])(?<!\d )(?:{_OH} )*{_GROUPS}(?![a-z\d:/%点月号日]|\.\d)"
)


_ZERO = "O"
"""the letter that is also a way to say 0"""
_AFTER_O = re.compile(
    rf"(?<![a-z\d-])(?:(?:oh|o|0)[ .]{{0,2}}-?[ ]?)?(?P<number>{_GROUPS})(?![a-z:%]|\.\d)"
)


def _digits(said: str) -> str:
    """ "3 oh 2" → "302", "1,001" → "1001", "10 oh 1" → "1001", "1000 in 1" → "1001"."""
    if parts := re.fullmatch(r"([\d,]+00) ?[a-z]+ ?(\d{1,2})", said):
        return str(int(parts[1].replace(",", "")) + int(parts[2]))
    said = re.sub(r"double[ -]?(\d)", r"\1\1", re.sub(r"(?<!d)oh?", "0", said))
    return re.sub(r"\D", "", said.replace("幺", "1"))


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
        rf"(?<![a-z'-])(?!(?:oh|o|double)\b)(?P<letters>{letters}){joint}"
        rf"(?P<number>(?:{_OH}[ -]?)*{_GROUPS})"
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
