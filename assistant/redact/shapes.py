"""Secrets that give themselves away: check digits, token forms, random characters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from assistant.redact.lexicon import (
    CODE,
    NUMERAL,
    ZH_DIGITS,
    digits_in,
    either,
    number_word,
    table,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A secret: text[start:end]."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Item:
    start: int
    end: int
    text: str
    """digits, or one letter"""


ENTROPY = 3.5
"""bits a character from which 20 mixed characters are no word"""
SHORTEST_CARD, LONGEST_CARD = 13, 19
_BETWEEN = re.compile(r"[\s,、.\-–—·\u200b\ufe0f\u20e3]*")
_RIC = re.compile(r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dx]")
_SSN = re.compile(r"(?<![0-9-])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9-])")
_IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}[0-9]{2}(?:[ -]?[a-z0-9]{1,4}){3,8}(?![a-z0-9])")
_HEX = re.compile(r"[0-9a-f]{32,}", re.I)
_ENOUGH = re.compile(r"[0-9]{3}-[0-9]{2}-|[a-z]{2}[0-9]{2}")


def shaped(low: str, text: str) -> list[Span]:
    """Every secret that needs nobody to name it. `low`: the plain text."""
    spans = [*_tokens(text)]
    if len(low) >= SHORTEST_CARD or len(low) >= 8:
        for run in _runs(low):
            spans += _numbers(low, run)
    if _ENOUGH.search(low):
        spans += [*_forms(low)]
    return spans


# ── numbers ──


def _runs(low: str) -> Iterator[list[_Item]]:
    """Rows of digits and single letters with nothing but separators between them."""
    run: list[_Item] = []
    times = 0
    for match in NUMERAL.finditer(low):
        if run and not _BETWEEN.fullmatch(low, run[-1].end, match.start()):
            yield run
            run, times = [], 0
        if match["times"]:
            times = 2 if match["times"] == "double" else 3
            continue
        value = _value(match) * (times or 1)
        times = 0
        last = run[-1] if run else None
        if last and _tens(last.text, value) and match["word"] and low[last.start].isalpha():
            run[-1] = _Item(last.start, match.end(), last.text[0] + value)
        else:
            run.append(_Item(match.start(), match.end(), value))
    if run:
        yield run


def _value(match: re.Match[str]) -> str:
    if match["word"]:
        return number_word(match["word"])
    if match["zh"]:
        return ZH_DIGITS[match["zh"]]
    if match["letter"]:
        return "0" if match["letter"] == "o" else match["letter"]
    return match["digits"]


def _tens(last: str, value: str) -> bool:
    return len(last) == 2 and last[1] == "0" and last[0] >= "2" and len(value) == 1 and value > "0"


def _numbers(low: str, run: Sequence[_Item]) -> list[Span]:
    if sum(len(item.text) for item in run) < SHORTEST_CARD:
        return []
    spans: list[Span] = []
    index = 0
    while index < len(run):
        found = _number_at(low, run, index)
        if found is None:
            index += 1
        else:
            stop, kind = found
            spans.append(Span(run[index].start, run[stop].end, kind))
            index = stop + 1
    return spans


def _number_at(low: str, run: Sequence[_Item], first: int) -> tuple[int, str] | None:
    """(last item, kind) of the longest number with a right check digit that begins here."""
    best: tuple[int, str] | None = None
    text = ""
    for index in range(first, len(run)):
        text += run[index].text
        if len(text) > 34:
            break
        kind = _kind(text) if len(text) >= SHORTEST_CARD else ""
        if kind and not (kind == "card number" and _other_number(low, run[first].start)):
            best = (index, kind)
            if len(text) in (16, 18):
                break
    return best


def _kind(digits: str) -> str:
    from stdnum import iban, luhn
    from stdnum.iso7064 import mod_11_2

    if len(digits) == 18 and _RIC.fullmatch(digits):
        return "ID number" if mod_11_2.is_valid(digits.upper()) else ""
    if digits.isdigit():
        card = len(digits) <= LONGEST_CARD and digits[0] in "2345689" and luhn.is_valid(digits)
        return "card number" if card and len(set(digits)) > 1 else ""
    if digits[:2].isalpha() and digits[2:4].isdigit() and iban.is_valid(digits):
        return "account number"
    return ""


@cache
def _phone() -> re.Pattern[str]:
    return re.compile(either(table()["cards"]["phone"]))


def _other_number(low: str, start: int) -> bool:
    """What stands before it says that it is a telephone or an order number, or part of a name."""
    before = low[start - 1 : start]
    if before in ("/", "_") or (before.isascii() and before.isalpha()):
        return True
    return _phone().search(low[max(0, start - 48) : start]) is not None


def _forms(low: str) -> Iterator[Span]:
    from stdnum import iban
    from stdnum.us import ssn

    for match in _SSN.finditer(low):
        if ssn.is_valid(match.group()):
            yield Span(match.start(), match.end(), "ID number")
    for match in _IBAN.finditer(low):
        end = match.end()
        while end - match.start() >= 15:
            if iban.is_valid(low[match.start() : end]):
                yield Span(match.start(), end, "account number")
                break
            end = max(low.rfind(" ", 0, end), low.rfind("-", 0, end))


# ── tokens ──


@cache
def _token_forms() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    shapes = table()["shapes"]
    return (
        re.compile(either(shapes["token"])),
        re.compile(shapes["login"]),
        re.compile(shapes["long"]),
    )


def _tokens(text: str) -> Iterator[Span]:
    if len(text) < 12:
        return
    token, login, long = _token_forms()
    for match in token.finditer(text):
        yield Span(match.start(), match.end(), "key")
    if "://" in text:
        for match in login.finditer(text):
            yield Span(match.start("secret"), match.end("secret"), "password")
    for match in long.finditer(text):
        if random_looking(match.group()) and not _in_address(text, match.start()):
            yield Span(match.start(), match.end(), "key")


def _in_address(text: str, at: int) -> bool:
    """Part of the path of a file or of a web address, not of what is asked for there."""
    begin = max(text.rfind(one, 0, at) for one in " \t\n") + 1
    before = text[begin:at]
    return "?" not in before and ("://" in before or text.startswith(("/", "~/", "./"), begin))


def random_looking(chunk: str) -> bool:
    """Letters and digits mixed as no word, path or date mixes them."""
    if _HEX.fullmatch(chunk):
        return any(one.isdigit() for one in chunk) and any(one.isalpha() for one in chunk)
    kinds = [str.isupper, str.islower, str.isdigit]
    if not all(any(kind(one) for one in chunk) for kind in kinds):
        return False
    counts = Counter(chunk)
    bits = -sum(n / len(chunk) * math.log2(n / len(chunk)) for n in counts.values())
    return bits >= ENTROPY


# ── beside a card ──


@cache
def _expiry() -> re.Pattern[str]:
    cards = table()["cards"]
    cue = either([rf"(?<![a-z]){either(cards['expiry_en'])}(?![a-z])", *cards["expiry_zh"]])
    month = rf"(?:{either(cards['months'])}(?![a-z])[\s,]*(?:of\s+)?)"
    zh = r"(?:[0-9零〇一二三四五六七八九十]{1,4}年)?[0-9一二三四五六七八九十]{1,2}月(?:[0-9]{2,4})?"
    return re.compile(rf"{cue}[\s,:]*(?P<when>{zh}|{month}?(?:{CODE.pattern})|{month})")


_AFTER_CARD = re.compile(
    r"[\s,;.]*(?P<expiry>[0-9]{1,2}\s*[/-]\s*[0-9]{2,4})?(?:[\s,;.]+(?P<cvv>[0-9]{3,4})(?![0-9]))?"
)


def beside_cards(low: str, spans: Sequence[Span]) -> list[Span]:
    """Expiry dates and security codes that stand with a card number."""
    cards = [span for span in spans if span.kind == "card number"]
    found: list[Span] = []
    if not cards and all(span.kind != "security code" for span in spans):
        return found
    for card in cards:
        match = _AFTER_CARD.match(low, card.end)
        for name, kind in (("expiry", "expiry"), ("cvv", "security code")):
            if match and match[name]:
                found.append(Span(match.start(name), match.end(name), kind))
    for match in _expiry().finditer(low):
        if digits_in(match["when"]) or not match["when"].isascii() or match["when"].isalpha():
            found.append(Span(match.start("when"), match.end("when"), "expiry"))
    return found
