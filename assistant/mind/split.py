"""One sentence, several tasks: split only on explicit markers (D4). Plain "and" is never split."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assistant.mind.cues import compiled
from assistant.mind.intents import matches
from assistant.mind.view import MAX_QUEUE, View

_CONDITION_END = re.compile(r"[,，]\s*(?:then\b\s*)?")
_EDGES = " ,;:.!，；。、"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a sentence asks for, in order."""

    texts: tuple[str, ...]
    conditional: bool = False
    """the later parts depend on how the earlier ones come out"""
    judged: bool = True
    """False: how they depend on it, no rule can tell ("if there are fewer than ten")"""


def split(view: View) -> Parts:
    """The parts; the whole text alone when no marker stands between two requests."""
    text = view.text
    pieces = _pieces(view, text)
    if len(pieces) < 2 or not _each_asks(view, pieces):
        return Parts((text,))
    judged = not view.common.has("compares", view.plain)
    conditional = judged and view.common.has("if", view.plain)
    return Parts(tuple(pieces[:MAX_QUEUE]), conditional, judged)


def _pieces(view: View, text: str) -> list[str]:
    if view.common.starts("if", view.plain) and (cut := _CONDITION_END.search(text)):
        return [text[: cut.start()].strip(_EDGES), text[cut.end() :].strip(_EDGES)]
    if not any(view.common.has(name, view.plain) for name in ("then", "if_then")):
        return [text]
    text = _from_marker("first", view, text)
    marks = sorted(
        {
            match.span()
            for name in ("then", "if_then")
            for phrase in view.common.phrases(name)
            for match in re.finditer(
                compiled(phrase, view.language).pattern.replace(" ", r"[\s,]+"), text, re.I
            )
        },
        key=lambda span: (span[0], -span[1]),
    )
    pieces, at = [], 0
    for start, end in marks:
        if start < at:
            continue
        pieces.append(text[at:start])
        at = end
    pieces.append(text[at:])
    return [piece for piece in (piece.strip(_EDGES) for piece in pieces) if piece]


def _from_marker(name: str, view: View, text: str) -> str:
    """Without the marker that the text begins with: "first …"."""
    for phrase in view.common.phrases(name):
        match = re.match(compiled(phrase, view.language).pattern, text.strip(_EDGES), re.I)
        if match:
            return text.strip(_EDGES)[match.end() :]
    return text


def _each_asks(view: View, pieces: list[str]) -> bool:
    """Every piece is a request: with a cue of its own, given what the one before was about."""
    near: frozenset[str] = frozenset()
    for piece in pieces:
        found = matches(view.of(piece), near)
        if not found:
            return False
        near = frozenset((found[0].intent.flow,))
    return True
