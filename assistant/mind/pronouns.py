"""Whom "she" means: the last one spoken of whom it fits, or nobody when two would fit.

English only; in Chinese he, she and it sound alike (mind/chinese.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assistant.mind.texts import prompts

_WORDS = prompts("en")["grammar"]
_ALL = ("he", "she", "they", "it")
_BASE = {"his": "he", "him": "he", "her": "she", "hers": "she", "their": "they", "them": "they"}
_BASE |= {"its": "it"} | {word: word for word in _ALL}


def _any(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(_WORDS[name])})\b", re.I)


_WOMEN, _MEN, _ANIMALS, _SEVERAL = (_any(n) for n in ("women", "men", "animals", "several"))
RELATIONS = _any("relations")
"""Words for people and animals of the user's."""
_KIN = f"(?:{'|'.join(_WORDS['relations'])})"
_NAME = r"(?-i:[A-Z])[\w'-]+"
_OWN = re.compile(
    rf"^(?P<np>the user's (?:(?-i:[a-z])[\w-]+ ){{0,2}}?{_KIN}(?![-\w])(?: {_NAME}){{0,2}})"
    r"(?P<rest>.*)$",
    re.I,
)
_HAS = re.compile(
    rf"^the user (?:also )?(?:has|has got|adopted|got) (?:an?|one) (?:[\w-]+ )?(?P<who>{_KIN})\b"
    rf"(?:,? (?:called|named) (?P<name>{_NAME}))?",
    re.I,
)
_CALLED = re.compile(rf"^(?:'s name is|is (?:called|named)) (?P<name>{_NAME})", re.I)
_NAMED = re.compile(rf"^(?P<np>{_NAME}(?: {_NAME})?) (?:is|was|has|lives|works|likes|loves)\b")
_NOBODY = frozenset(("it", "the", "he", "she", "they", "there", "this", "that"))


def base(pronoun: str) -> str:
    """ "her" → "she"; "" for what is no pronoun of the third person."""
    return _BASE.get(pronoun.lower(), "")


def fits(words: str) -> tuple[str, ...]:
    """The pronouns that can mean "the user's sister Anna"."""
    bare = re.sub(r"^the user's ", "", words, flags=re.I)
    if _SEVERAL.search(bare):
        return ("they",)
    if _ANIMALS.search(bare):
        return _ALL
    if _WOMEN.search(bare):
        return ("she", "they")
    if _MEN.search(bare):
        return ("he", "they")
    if RELATIONS.search(bare) or bare[:1].isupper():
        return ("he", "she", "they")
    return ()


def person(note: str) -> str:
    """Whom a note is about, as words of a note; "" when it is the user or a thing."""
    own = _OWN.match(note)
    if own:
        words = own["np"][0].lower() + own["np"][1:]
        called = _CALLED.match(own["rest"].lstrip())
        return f"{words} {called['name']}" if called else words
    has = _HAS.match(note)
    if has:
        return f"the user's {has['who'].lower()}" + (f" {has['name']}" if has["name"] else "")
    named = _NAMED.match(note)
    return named["np"] if named and named["np"].lower() not in _NOBODY else ""


def antecedents(turns: Iterable[Sequence[str]]) -> dict[str, str]:
    """Pronoun → whom it means, from the notes of the last turns, the newest turn first.

    A pronoun that fits two of one turn means nobody.
    """
    found: dict[str, str] = {}
    for notes in turns:
        people = _merged([words for words in map(person, notes) if words])
        for pronoun in _ALL:
            able = [words for words in people if pronoun in fits(words)]
            if able and pronoun not in found:
                found[pronoun] = able[0] if len(able) == 1 else ""
    return {pronoun: words for pronoun, words in found.items() if words}


def _merged(people: Sequence[str]) -> list[str]:
    """ "the user's sister" and "the user's sister Anna" are one."""
    kept: list[str] = []
    for words in sorted(set(people), key=len, reverse=True):
        if not any(set(words.split()) <= set(other.split()) for other in kept):
            kept.append(words)
    return kept
