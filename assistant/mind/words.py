"""Words of a sentence in a form that can be compared: is this note made of what was said?"""

from __future__ import annotations

import re
from dataclasses import dataclass

CJK = r"\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{CJK}]|\d+(?:[.:]\d+)*|[^\W\d_{CJK}]+(?:['’-][^\W\d_{CJK}]+)*")
_CONTRACTIONS = (
    (r"\bcan['’]t\b|\bcannot\b", "can not"),
    (r"\bwon['’]t\b", "will not"),
    (r"n['’]t\b", " not"),
    (r"\bi['’]?m\b", "i am"),
    (r"['’]re\b", " are"),
    (r"['’]ve\b", " have"),
    (r"['’]ll\b", " will"),
    (r"\b(i|you|he|she|we|they)['’]d\b", r"\1 would"),
    (r"\b(he|she|it|that|there|what|who|where)['’]s\b", r"\1 is"),
    (r"\bgonna\b", "going to"),
    (r"\bwanna\b", "want to"),
)
_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen"""
_TIES = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS = {word: str(value) for value, word in enumerate(_UNITS.split())} | {
    word: str(value * 10) for value, word in enumerate(_TIES.split(), 2)
}
_TENS = frozenset(str(ten) for ten in range(20, 100, 10))
_ONES = frozenset("123456789")
_IRREGULAR = {
    "has": "have", "had": "have", "having": "have", "am": "be", "is": "be", "are": "be",
    "was": "be", "were": "be", "been": "be", "being": "be", "does": "do", "did": "do",
    "goes": "go", "went": "go", "going": "go", "hates": "hate", "lives": "live", "loves": "love",
    "likes": "like", "wants": "want", "called": "call", "named": "name", "moved": "move",
    "dies": "die", "lies": "lie", "ties": "tie",
}  # fmt: skip
_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_WIDE_NUMBER = re.compile("[零〇一二两三四五六七八九十]+")


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement, request or question out of what the user said."""

    text: str
    """the user's own words"""
    note: str = ""
    """the same seen from outside: I → The user, 我 → 用户"""
    subject: str = ""
    """"user", or the lower-case words for whom or what it is about"""
    kind: str = "other"
    """"statement", "request" or "other" (questions, commands, small talk)"""
    sure: bool = False
    """a rule knows that this is worth keeping"""


def tokens(text: str) -> list[str]:
    """Lower-case words, single Chinese characters, numbers as digits, contractions taken apart."""
    text = text.lower()
    for pattern, full in _CONTRACTIONS:
        text = re.sub(pattern, full, text)
    text = _WIDE_NUMBER.sub(lambda match: _arabic(match.group()), text)
    words: list[str] = []
    for word in _TOKEN.findall(text.replace("-", " ")):
        bare = re.sub(r"['’]s?$", "", word)
        number = _NUMBERS.get(bare, bare)
        if words and words[-1] in _TENS and number in _ONES and bare != number:
            words[-1] = str(int(words[-1]) + int(number))  # "thirty four"
        else:
            words.append(number)
    return words


def stem(word: str) -> str:
    """A word without its ending, the same for "live", "lives", "living" and "lived"."""
    word = _IRREGULAR.get(word, word)
    for ending, least in (("ies", 5), ("ied", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word


def stems(text: str) -> list[str]:
    return [stem(word) for word in tokens(text)]


def is_cjk(text: str) -> bool:
    """True when a text is mainly Chinese characters."""
    wide = len(re.findall(f"[{CJK}]", text))
    return wide > 0 and wide * 2 >= len(_TOKEN.findall(text))


def _arabic(number: str) -> str:
    """十一 → 11, 二十 → 20, 两 → 2; a row of single digits stays a row."""
    if "十" not in number:
        return "".join(str(_DIGITS[char]) for char in number)
    tens, _, ones = number.partition("十")
    if "十" in ones or len(tens) > 1 or len(ones) > 1:
        return number
    return str(_DIGITS.get(tens, 1) * 10 + _DIGITS.get(ones, 0))
