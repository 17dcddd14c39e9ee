"""The words of prompts/secrets.toml as patterns, and the plain text they are looked for in.

Plain text is as long as the text, character by character: lower case, half width, simplified.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "prompts" / "secrets.toml"
CJK = "\u4e00-\u9fff"
ZH_DIGITS = dict(zip("零〇一二两三四五六七八九幺", "0012234567891", strict=True))
SEPARATORS = r"\s,、\-–—_/·\u200b\ufe0f\u20e3"


@dataclass(frozen=True, slots=True)
class Cue:
    """What announces a secret."""

    gives: str
    said: str
    """words, many, code, token or bare"""
    least: int
    """digits"""
    hints: tuple[str, ...]
    noun: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a name and its value stand together in one language."""

    after: tuple[re.Pattern[str], re.Pattern[str]]
    """from the end of the name to the value: at once, and over what the name belongs to"""
    here: re.Pattern[str]
    """the same over the end of a sentence: "my password? It's " """
    before: re.Pattern[str]
    """from the value to the name: " is my " """
    lead: re.Pattern[str]
    not_before: re.Pattern[str]
    not_after: re.Pattern[str]
    innocent: re.Pattern[str]
    """what may be said of a secret without telling it"""


@cache
def table() -> dict[str, Any]:
    """The whole file."""
    with FILE.open("rb") as file:
        return tomllib.load(file)


def either(parts: Iterable[str]) -> str:
    """Alternatives; matches nothing when there are none."""
    return "(?:" + ("|".join(parts) or r"(?!)") + ")"


def word(parts: Iterable[str]) -> str:
    """Alternatives that are whole words where they begin and end in Latin letters."""
    return rf"(?<![a-z0-9]){either(parts)}(?![a-z0-9])"


@cache
def cues() -> tuple[Cue, ...]:
    """In the order of the file, most specific first."""
    found = []
    for row in table()["cue"]:
        noun = either([*row["zh"], word(row["en"])])
        found.append(
            Cue(
                row["gives"],
                row["said"],
                row.get("least", 0),
                tuple(row["hints"]),
                re.compile(noun),
            )
        )
    return tuple(found)


@cache
def grammars() -> tuple[Grammar, Grammar]:
    """English and Chinese."""
    en, zh = (table()[name]["grammar"] for name in ("en", "zh"))
    return _english(en), _chinese(zh)


def _english(en: dict[str, list[str]]) -> Grammar:
    gap = rf"[ ,]+{either(en['gap'])}(?![a-z])(?: [a-z'-]+){{0,6}}?"
    aside = r",[^,.;!?0-9]{1,40},"
    gap = rf"(?:{gap}(?:{aside})?|{aside})"
    signs = [one for one in en["links"] if not one[-1].isalpha() and one[-1] not in ")s"]
    names = [one for one in en["links"] if one not in signs]
    direct, link = (_link(names + more, signs) for more in (en["uses"], []))
    lead = rf"(?:[\s,]*{word(en['leads'])})*"
    owner = rf"(?:{either(en['owner'])}\s+)?(?:{either(en['new'])}\s+)*(?:[a-z-]+\s+)?"
    degree, state, tail = (either(en[name]) for name in ("degrees", "states", "tails"))
    return Grammar(
        after=(
            re.compile(rf"{direct}{lead}[\s,:=]*"),
            re.compile(rf"{gap}{link}{lead}[\s,:=]*"),
        ),
        here=re.compile(rf"[^.!?。\n]{{0,40}}[.!?]\s+{either(en['here'])}(?![a-z]){lead}[\s,:]*"),
        before=re.compile(rf"(?:\s*(?<![a-z]){either(en['for_it'])}|'s)\s+{owner}$"),
        lead=re.compile(rf"{lead}[\s,:=]*"),
        not_before=re.compile(either(en["not_before"])),
        not_after=re.compile(either(en["not_after"])),
        innocent=re.compile(
            rf"(?:{degree} )*{state}(?![a-z])\s*(?={tail})|{either(en['places'])}|"
            rf"{either(en['asides'])}|(?:{either(en['polite'])}[\s,.!?]*)+$|(?:{degree}[\s,.!?]*)+$"
        ),
    )


def _link(names: list[str], signs: list[str]) -> str:
    """What comes right before a value, with the blanks before it."""
    whole = rf"(?<![a-z0-9']){either(names)}(?![a-z0-9'])"
    return rf"[\s,]*(?:{whole}|'s(?![a-z])|{either(signs)})"


def _chinese(zh: dict[str, list[str]]) -> Grammar:
    lead = rf"(?:[\s,]*{either(zh['leads'])})*[\s,:=]*"
    return Grammar(
        after=(
            re.compile(rf"[\s,]*{either(zh['links'] + zh['uses'])}{lead}"),
            re.compile(rf"{either(zh['gap'])}[\s,]*{either(zh['links'])}{lead}"),
        ),
        here=re.compile(rf"[^.!?。\n]{{0,20}}[.!?。]\s*{either(zh['here'])}{lead}"),
        before=re.compile(
            rf"\s*{either(zh['for_it'])}\s*{either(zh['owner'])}?[^是为,.!?。]{{0,5}}$"
        ),
        lead=re.compile(lead),
        not_before=re.compile(either(zh["not_before"])),
        not_after=re.compile(either(zh["not_after"])),
        innocent=re.compile(
            rf"{either(zh['states'])}|{either(zh['sizes'])}|(?:{either(zh['polite'])}[\s,.!?。]*)+$"
        ),
    )


@cache
def _plain_table() -> dict[int, str]:
    traditional = table()["simplified"]
    pairs = dict(zip(map(ord, traditional["from"]), traditional["to"], strict=True))
    wide = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    marks = dict.fromkeys(map(ord, "’‘`´"), "'") | dict.fromkeys(map(ord, "“”「」『』«»„"), '"')
    return {**pairs, **wide, **marks, 0x3000: " ", 0xA0: " "}


def plain(text: str) -> str:
    """The text in lower case, half width and simplified characters, as long as it was."""
    if text.isascii():
        return text.lower()
    text = text.translate(_plain_table())
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(one if len(one.lower()) != 1 else one.lower() for one in text)


_NUMBERS = table()["numbers"]
_SPELLING = table()["spelling"]
NUMBER = either(sorted(_NUMBERS, key=len, reverse=True))
ZH_DIGIT = f"[{''.join(ZH_DIGITS)}]"
LETTER = r"(?<![a-z0-9'])(?:[b-hj-z]|[ai](?!\s+[a-z]{2}))(?![a-z0-9'])"
SINGLE = rf"(?:{LETTER}|(?<![a-z0-9])[0-9](?![a-z0-9])|(?<![a-z]){NUMBER}(?![a-z])|{ZH_DIGIT})"
ITEM = rf"(?:{SINGLE}|(?<![a-z])[a-z]{{0,4}}[0-9]+[a-z0-9]*)"
SIGN = (
    rf"(?:(?<![a-z])(?:{either(_SPELLING['signs'])}|{either(_SPELLING['repeats'])})(?![a-z])|"
    rf"(?:{_SPELLING['signs_zh']})|[#*+])"
)
CODE = re.compile(
    rf"(?:{SIGN}[{SEPARATORS}]*)*{ITEM}"
    rf"(?:[{SEPARATORS}]*(?:{SIGN}|{ITEM})|\.\s?{SINGLE}|(?:\s+(?:and|then)\s+)(?={ITEM}))*\.?#?"
)
"""A code: digits, number words, spelled letters and signs in a row"""
SPELLED = re.compile(rf"{SINGLE}\.?(?:[\s,.\-]{{1,3}}(?:{SINGLE}|{SIGN}))+")
NUMERAL = re.compile(
    rf"(?P<digits>[0-9]+)|(?P<word>(?<![a-z]){NUMBER}(?![a-z]))|(?P<zh>{ZH_DIGIT})|"
    rf"(?P<times>(?<![a-z]){either(_SPELLING['repeats'])}(?![a-z]))|(?P<letter>(?<![a-z'])[a-z](?![a-z0-9']))"
)


def digits_in(piece: str) -> int:
    """How many digits there are in plain text, number words and Chinese ones included."""
    count, times = 0, 1
    for match in NUMERAL.finditer(piece):
        if match["times"]:
            times = 2 if match["times"] == "double" else 3
            continue
        if not match["letter"] or match["letter"] == "o":
            value = _NUMBERS.get(match["word"] or "", match["digits"] or "0")
            count += len(value) * times
        times = 1
    return count


def number_word(text: str) -> str:
    """The digits of an English number word."""
    digits: str = _NUMBERS[text]
    return digits
