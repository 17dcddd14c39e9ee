"""Notes about the user → the same said to the user: The user's dog is old → Your dog is old."""

from __future__ import annotations

import re
from functools import lru_cache

_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go"}
_USER_VERB = re.compile(
    r"\bthe user (?P<adverbs>(?:\w+ly |also |always |never |still |just |now |often |usually )*)"
    r"(?P<verb>\w+)",
    re.I,
)
_OWN_WORDS = re.compile(
    r"I (?P<verb>am(?= (?:an?|the) (?!.*(?:assistant|program|model)))|(?:really )?"
    r"(?:like|love|hate|prefer|live|work|take|drink|eat)\b)",
    re.I,
)
_YOURS = {"am": "are"}
_OF_MYSELF = re.compile(r"\b(?:my|i)\b", re.I)
_OF_YOU = re.compile(r"\byour?\b", re.I)
_PLAIN = ("used", "can", "could", "will", "would", "should", "might", "must", "may")


@lru_cache(1024)
def to_you(text: str) -> str:
    """Second person for all sentences of a text, in English and Chinese."""
    # "You are called Alex" makes a small model answer "I am Alex" to "Who are you?".
    text = re.sub(r"\b(the) (user is called)\b", r"\1_\2", text, flags=re.I)
    text = _USER_VERB.sub(_verb, text)
    text = re.sub(r"\bthe user's\b", "your", text, flags=re.I)
    text = re.sub(r"\bthe user\b", "you", text, flags=re.I)
    text = re.sub(r"(^|[.!?\n]\s*)(you)", lambda m: m[1] + m[2].capitalize(), text)
    text = re.sub(r"\b(the)_(user)", r"\1 \2", text, flags=re.I)
    return re.sub("用户(?!叫)", "你", text)


def told_to_you(text: str) -> str:
    """The same for what is told to the user word for word, by no model: the name as well."""
    text = re.sub(r"\bthe user is called\b", "you are called", to_you(text), flags=re.I)
    text = re.sub(r"(^|[.!?\n]\s*)(you)", lambda m: m[1] + m[2].capitalize(), text)
    return text.replace("用户叫", "你叫")


def to_asker(text: str, question: str) -> str:
    """The beginning of an answer, said to the one who asked.

    A small model echoes the asker: 我在哪里工作？ → 我在医院工作。 What begins an answer in the
    first person as it stands in the question is about the asker.
    """
    own = _OWN_WORDS.match(text)
    if own and _OF_MYSELF.search(question) and not _OF_YOU.search(question):
        return f"You {_YOURS.get(own['verb'].lower(), own['verb'])}{text[own.end() :]}"
    if text[:1] == "我" and len(text) > 1 and text[:2] in question:
        return f"你{text[1:]}"
    owned = re.match(r"my (?P<what>\w+)", text, re.I)
    if owned and re.search(rf"\bmy (?:\w+ )?{owned['what']}\b", question, re.I):
        return f"Your{text[2:]}"
    return text


def _verb(match: re.Match[str]) -> str:
    verb = match["verb"]
    return f"you {match['adverbs']}{_VERBS.get(verb, _base(verb))}"


def _base(verb: str) -> str:
    """ "prefers" → "prefer", "flies" → "fly"; past tense and modals stay."""
    if verb in _PLAIN or not verb.endswith("s") or verb.endswith("ss"):
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if re.search(r"(?:sh|ch|x|ss|zz|o)es$", verb):
        return verb[:-2]
    return verb[:-1]
