"""Is what the user asks about themselves in the notes at all? A small model would rather invent it.

Only clear cases count: "my X" where neither X nor a near word stands in any note or recent turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk, stems

_WORDS = prompts("en")["grammar"]
_ASKED = re.compile(
    r"^(?!.*\b(?:do|can|could|should|would|will|did|if) i\b)"
    r".*?\b(?:what|what's|when|when's|where|where's|who|who's|which|how (?:old|many|much))\b.*?"
    r"\bmy (?P<what>[\w' -]+?)"
    r"(?: (?:is|are|was|called|named|again|for|on|at|in|to|start|live)\b.*)?$",
    re.I,
)
_HOW_OLD = re.compile(r"\bhow old am i\b", re.I)
_EMPTY = frozenset(stems("name names full first last the a an of old time day date again next new"))
NEAR = tuple(frozenset(stems(" ".join(group))) for group in _WORDS["near"])


def unknown(question: str, known: Iterable[str]) -> bool:
    """True when the thing asked for is nowhere in the known sentences (same language only)."""
    known = list(known)
    if is_cjk(question) or any(is_cjk(line) for line in known):
        return False
    match = _ASKED.search(question.strip(" .?!"))
    asked = set(stems(match["what"])) - _EMPTY if match else set()
    if _HOW_OLD.search(question):
        asked = set(stems("age"))
    if not asked:
        return False
    said = {word for line in known for word in stems(line)}
    return not any(said & _nearby(word) for word in asked)


def _nearby(word: str) -> frozenset[str]:
    return frozenset([word]).union(*(group for group in NEAR if word in group))
