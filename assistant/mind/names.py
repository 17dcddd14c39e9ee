"""Names in the state: words that recognition would not guess by itself."""

from __future__ import annotations

import re

from assistant.mind.state import State

MOST = 12
_NAME = re.compile(r"(?<=[a-z'’,] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
"""capitals inside a note, not those that begin it"""


def names(state: State) -> tuple[str, ...]:
    """People, places and codes that were told, newest first."""
    facts = [*state.preference.items(), *state.facts.items()]
    found: dict[str, None] = {}
    for key, fact in reversed(facts):
        if key.endswith("name"):
            found[fact.value] = None
        found |= dict.fromkeys(_NAME.findall(fact.note))
    return tuple(found)[:MOST]
