"""What the assistant said about the user and the user confirmed with a bare yes, as the user's own
words: "Your sister lives in Berlin, right?" + "yes" → "My sister lives in Berlin"."""

from __future__ import annotations

import re

from assistant.mind.described import phrase
from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk

_ASKED = re.compile(
    r"^(?P<verb>is|are|was|were|does|do|did|has|have|will|can)\s+"
    r"(?P<who>you|your [\w'-]+(?: (?-i:[A-Z])[\w-]*)?|(?-i:[A-Z])[\w-]+)\s+(?P<rest>.+)$",
    re.I,
)
_TO_ME = (
    (r"\byou are\b|\byou're\b", "I am"), (r"\byou were\b", "I was"),
    (r"\byou have\b|\byou've\b", "I have"),
    (r"\byours\b", "mine"), (r"\byour\b", "my"), (r"^you\b|(?<=and )you\b|(?<=that )you\b", "I"),
    (r"\byou\b", "me"),
)  # fmt: skip


def confirmed(said: str, last_reply: str) -> str:
    """The statement in the first person, "" when nothing was confirmed."""
    language = "zh" if is_cjk(last_reply) else "en"
    yes = "|".join(prompts("memories")["zh" if is_cjk(said) else "en"]["words"]["yes"])
    if not re.fullmatch(rf"\W*(?:(?:{yes})\W*)+", said, re.I) or not last_reply.strip():
        return ""
    last = re.findall(r"[^.!?。！？]+[.!?。！？]*", last_reply.strip())[-1].strip()
    if phrase(language, "own").search(_without_tag(last, language)):
        return ""
    statement = _zh(last) if language == "zh" else _en(last)
    return statement


def _without_tag(last: str, language: str) -> str:
    bare = last.rstrip(" .!?。！？")
    tags = "|".join(prompts("memories")[language]["words"]["tags"])
    return re.sub(tags, "", bare, flags=re.I).strip(" ,，")


def _en(last: str) -> str:
    bare = re.sub(
        r"^(?:so|and|then|ah|oh|okay|well)[, ]+", "", _without_tag(last, "en"), flags=re.I
    )
    if not re.search(r"\byou", bare, re.I):
        return ""
    asked = _ASKED.match(bare)
    if asked:
        bare = _stated(asked)
    elif last.endswith("?") and re.match(r"(?:what|who|when|where|why|how|which)\b", bare, re.I):
        return ""
    for pattern, own in _TO_ME:
        bare = re.sub(pattern, own, bare, flags=re.I)
    return bare[:1].upper() + bare[1:] + "."


def _stated(asked: re.Match[str]) -> str:
    """ "Does your sister live in Rome" → "your sister lives in Rome"."""
    verb, who, rest = asked["verb"].lower(), asked["who"], asked["rest"]
    if verb in ("do", "does"):
        first, _, tail = rest.partition(" ")
        if who.lower() != "you" and verb == "does":
            first = {"have": "has", "do": "does", "go": "goes"}.get(first, first + "s")
        return f"{who} {first} {tail}".strip()
    return "" if verb == "did" else f"{who} {verb} {rest}"


def _zh(last: str) -> str:
    bare = re.sub(r"^(?:那么?|所以|哦|噢|好的)[，, ]*", "", _without_tag(last, "zh"))
    return re.sub(r"您|你", "我", bare) + "。" if re.search(r"你|您", bare) else ""
