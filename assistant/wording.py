"""Every sentence the program says or shows by itself: data in words/*.toml, one language a file."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

WORDS = Path(__file__).parent / "words"


@cache
def _table(language: str) -> dict[str, str]:
    path = WORDS / f"{language}.toml"
    if not path.is_file():
        path = WORDS / "en.toml"
    with path.open("rb") as file:
        return dict(tomllib.load(file))


def words(key: str, language: str = "en", **values: object) -> str:
    """The sentence for a key with its values filled in; KeyError when there is none."""
    return _table(language)[key].format(**values)
