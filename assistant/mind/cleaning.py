"""Spoken English without fillers, stuttered words and false starts (V13).

The word lists are data: prompts/en.toml, [grammar]. Chinese: mind/chinese.py.
"""

from __future__ import annotations

import re

from assistant.mind.texts import prompts
from assistant.mind.values import values

_WORDS = prompts("en")["grammar"]


def _any(name: str) -> str:
    return "(?:" + "|".join(_WORDS[name]) + ")"


_FILLER = re.compile(rf"\b{_any('fillers')}\b[,.]*\s*", re.I)
_REPEAT = re.compile(r"\b((?:[a-z']+ ){0,2}[a-z']+)[,.]? (?=\1\b)", re.I)
_RESTART = re.compile(rf"[,.]?\s*(?:-\s*)?\b{_any('restarts')}\b[,.]*\s+", re.I)


def clean(text: str) -> str:
    """Without fillers, stuttered words and false starts: what the person meant to say (V13)."""
    text = text.replace("’", "'")
    text = _FILLER.sub("", text)
    while (shorter := _REPEAT.sub("", text)) != text:
        text = shorter
    for match in reversed(list(_RESTART.finditer(text))):
        text = _restarted(text, match)
    return re.sub(r"\s+", " ", text).strip()


def _restarted(text: str, match: re.Match[str]) -> str:
    """ "the blue one, no the green one" → "the green one"; unchanged when nothing fits together."""
    before, after = text[: match.start()], text[match.end() :]
    if not before.strip() or not after:
        return text
    sentence = max(before.rfind(mark) for mark in ".!?") + 1
    tail = before[sentence:]
    new = [value for value in values("at " + after) if value.start <= 6]
    if new:
        same = [value for value in values(tail) if value.kind == new[0].kind]
        if same:
            old = same[-1]
            rest = _without_preposition(after) if _preposition(tail, old.start) else after
            return before[:sentence] + tail[: old.start] + rest
    names = re.search(r"\b[A-Z]\w+$", before), re.match(r"[A-Z]\w+", after)
    if names[0] and names[1]:  # "Spanish, no Italian"
        return before[: names[0].start()] + after
    first = re.match(r"(?:the|a|an|at|on|in|to|for|with|my|from)\b", after, re.I)
    if first:
        places = list(re.finditer(rf"\b{first.group()}\b", tail, re.I))
        if places:
            return before[:sentence] + tail[: places[-1].start()] + after
    return text


def _preposition(text: str, end: int) -> bool:
    return re.search(r"\b(?:at|on|for|in)\s+$", text[:end], re.I) is not None


def _without_preposition(text: str) -> str:
    return re.sub(r"^(?:at|on|for|in)\s+", "", text, flags=re.I)
