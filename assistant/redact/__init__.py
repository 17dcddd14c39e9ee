"""Secrets out of a text before it is stored, logged or put into a prompt (M12).

Knows what a secret looks like and how it is announced, in English and Chinese; knows nothing of
who said it or where the text goes. What counts as a secret is data: prompts/secrets.toml.
"""

from __future__ import annotations

from dataclasses import dataclass

from assistant.redact.lexicon import plain, table
from assistant.redact.shapes import Span, beside_cards, shaped
from assistant.redact.spoken import announced, answered

__all__ = ["Redacted", "redact", "warm"]


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets."""

    text: str
    """each secret stands as its kind: "my PIN is [PIN]" """
    kinds: tuple[str, ...] = ()
    """what was taken out, in order"""


def redact(text: str, after: str = "") -> Redacted:
    """Replace every secret; never raises. A text without one comes back as it is.

    `after`: what was said just before. When that asks for a secret ("What is your PIN?") or breaks
    off before it ("my password is"), the text itself is taken as the secret.
    """
    low = plain(text)
    spans = answered(low, plain(after)) if after else []
    spans = spans or announced(low, text)
    spans += shaped(low, text)
    if not spans:
        return Redacted(text)
    spans += beside_cards(low, spans)
    return _replaced(text, spans)


def warm() -> None:
    """Load words, patterns and check digits, so that the first turn need not wait for them."""
    for text in table()["warm"]:
        redact(text, text)


def _replaced(text: str, spans: list[Span]) -> Redacted:
    pieces: list[str] = []
    kinds: list[str] = []
    end = 0
    for span in _merged(spans):
        pieces += [text[end : span.start], f"[{span.kind}]"]
        kinds.append(span.kind)
        end = span.end
    return Redacted("".join([*pieces, text[end:]]), tuple(kinds))


def _merged(spans: list[Span]) -> list[Span]:
    """In order, without overlaps: of those that touch one another the first one's kind stays."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), last.kind)
        else:
            merged.append(span)
    return merged
