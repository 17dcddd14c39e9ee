"""One thing worth knowing beyond the conversation: a frozen value, as it is proposed or stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """A sentence that will still mean the same in a year, with what is known about it.

    Times are seconds since 1970, days are ISO dates. A proposed memory has no id yet.
    """

    text: str
    """a whole sentence, its subject named, its dates absolute:
    "The user has a dentist appointment on 2026-12-01 at ten." """
    subject: str
    """"user", or who or what it is about in lower case: "sister anna" """
    key: str
    """what it says of the subject (mind/keys.py); of a `single` key only one can be true"""
    value: str = ""
    """the words that carry it, a span of what was said"""
    language: str = "en"
    """ISO 639-1 code of the text: the language spoken"""
    lasting: bool = True
    """true beyond a task: name, tastes, family, home"""
    single: bool = False
    """another value of the same key ends this one: a name, a home, a birthday"""
    day: str = ""
    """the day it is about, "" when it is about none; past that day it is history"""
    importance: float = 0.5
    """0 to 1"""
    origin: str = "said"
    """said, confirmed, insight, edited or imported"""
    speaker: str = "user"
    """who said it"""
    session: str = ""
    turn: int = 0
    """where it was last said"""
    id: str = ""
    norm: str = ""
    """content in a form that is equal for equal meaning (mind/norms.py); unique among the active"""
    learned: float = 0.0
    said: float = 0.0
    """when it was last said; repeats refresh it"""
    ended: float | None = None
    """when it ceased to be believed; None: still"""
    why_ended: str = ""
    """superseded, merged, faded"""
    superseded_by: str = ""
    strength: float = 7.0
    """S of the forgetting curve R = exp(-days / (5 S)); grows with use"""
    uses: int = 0
    used: float = 0.0
    pinned: bool = False
    """never fades, always preloaded"""
    sources: tuple[str, ...] = ()
    """of an insight: the ids it was drawn from"""
    version: int = 0
    """rises by one with every change of the row"""
