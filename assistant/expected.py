"""Words that are likely to be said: which of them fit a prompt, and was one really heard?

Whisper that is told a word writes it too readily: "A302" for a plain "two", or for noise. So an
expected word is believed only where the plain text holds something that sounds like it. Pure
functions on texts; they know no model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

BUDGET = 40
"""tokens of a prompt: about ten names"""
MOST = 32
"""words looked at"""
LONGEST = 40
"""characters; longer is no word but a sentence"""
ALIKE = 0.4
"""least share of letters in common: "Shabel" and "Szabo" have 0.55, "two" and "A302" 0.4 at most"""
_NUMERALS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *"零一二三四五六七八九",
)
_DIGIT = {word: str(number % 10) for number, word in enumerate(_NUMERALS)}
_SAME_SOUND = str.maketrans("cqzyvj", "kksiwg")
_CJK = re.compile(r"[\u3400-\u9fff]")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_CODE = re.compile(r"[a-z]+\d+")
_INSIDE = re.compile(r"(?<=\w)['’.:\-](?=\w)")


def tidied(words: Iterable[str]) -> tuple[str, ...]:
    """Each usable word once, in order."""
    flat = (" ".join(word.split()) for word in words)
    good = (word for word in flat if 1 < len(word) <= LONGEST and any(map(str.isalnum, word)))
    return tuple(dict.fromkeys(good))[:MOST]


def prompt_tokens(
    words: Sequence[str], language: str, encode: Callable[[str], list[int]], budget: int = BUDGET
) -> list[int]:
    """Tokens of the first words that fit the budget; Chinese ones for Chinese only.

    A full stop ends them: without it Whisper leaves out the punctuation of what it hears.
    """
    fitting: list[str] = []
    tokens: list[int] = []
    for word in words:
        if language != "zh" and _CJK.search(word):
            continue
        longer = encode(" " + ", ".join([*fitting, word]) + ".")
        if len(longer) > budget:
            continue
        fitting.append(word)
        tokens = longer
    return tokens


def spans(text: str) -> list[str]:
    """Comparable tokens: lower case, digits for spoken ones, each Chinese character alone."""
    flat = _INSIDE.sub(" ", unicodedata.normalize("NFKC", text).lower())
    return [_DIGIT.get(token, token) for token in _TOKEN.findall(flat)]


def place(word: str, tokens: Sequence[str]) -> tuple[int, int] | None:
    """Where a word stands whole: "A302" in "a 302", not in "A3021"."""
    wanted = "".join(spans(word))
    for start in range(len(tokens)):
        joined = ""
        for end in range(start, len(tokens)):
            joined += tokens[end]
            if joined == wanted:
                return start, end + 1
            if not wanted.startswith(joined):
                break
    return None


def holds(text: str, word: str) -> bool:
    """Is the word in the text, however it is spaced and hyphenated?"""
    return place(word, spans(text)) is not None


def believed(plain: str, told: str, words: Sequence[str]) -> bool:
    """Is the text heard with `words` expected better than the one heard without?

    Only when it has a word that the plain one lacks, and each such word stands where something
    like it was heard anyway.
    """
    before, after = spans(plain), spans(told)
    gained = [found for word in words if (found := place(word, after)) and not place(word, before)]
    return bool(gained) and all(_alike(before, after, *found) for found in gained)


def _alike(before: Sequence[str], after: Sequence[str], start: int, end: int) -> bool:
    """What stands at after[start:end] against what stood there before."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    old: list[str] = []
    new: list[str] = []
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if new_to <= start or new_from >= end:
            continue
        if kind == "equal":  # the part of it inside the word only
            first, last = max(new_from, start), min(new_to, end)
            old += after[first:last]
            new += after[first:last]
        else:
            old += before[old_from:old_to]
            new += after[new_from:new_to]
    one, other = (_sound(part) for part in (old, new))
    if _another_code(old, one, other):
        return False
    # a word is not heard in half its length: "two" is no "A302"
    if 2 * min(len(one), len(other)) < max(len(one), len(other)):
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE


def _another_code(old: Sequence[str], one: str, other: str) -> bool:
    """Was a code of its own heard? "D416" is not the known "B416", "1009" not "O-1019"."""
    if any(len(token) == len(other) and _CODE.fullmatch(token) for token in old):
        return True
    heard, known = (re.sub(r"\D", "", text) for text in (one, other))
    return len(heard) >= len(known) > 0 and known not in heard


def _sound(tokens: Sequence[str]) -> str:
    return "".join(tokens).translate(_SAME_SOUND)
