"""What a listening test compares: the letters, but for a word that was misheard."""

from __future__ import annotations

from difflib import SequenceMatcher

ENDS = 12
"""letters at the beginning and the end, where a sound is cut off"""


def letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalpha())


def sounds_like(heard: str, said: str) -> bool:
    """The same letters but for a few: "Francis Paris" is how "France is Paris" may be heard."""
    return _share(letters(heard), letters(said)) > 0.85


def heard_whole(heard: str, said: str) -> bool:
    """Sounds like it, and nothing but a little word is missing at the beginning or the end."""
    one, other = letters(heard), letters(said)
    ends = ((one[:ENDS], other[:ENDS]), (one[-ENDS:], other[-ENDS:]))
    return sounds_like(heard, said) and all(_share(*pair) > 0.6 for pair in ends)


def _share(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
