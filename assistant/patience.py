"""How long a silence must be before it is the end: from what the words and the sound say.

Pure: signs in, milliseconds out. Recognition, the network and the endpoint are elsewhere.

The table (rows: the words; columns: smart-turn's probability that the person has finished):

    words                       sound: done   unsure    goes on    not judged
    answer to what was asked    short         brief     default    brief
    command, question           short         default   longer     default
    wish ("I'd like …")         brief         default   longer     default
    sentence by its full stop   default       default   long       default
    a piece with a full stop    default       longer    long       default
    a piece without             longer        longer    long       longer
    heard unclearly             default       long      long       longer
    hardly heard at all         long          long      long       long
    unfinished                  longer        long      long       long
    not judged                  default       default   longer     default

With the defaults: short 250, brief 425, default 600, longer 1050, long 1500 ms. A sound alone never
closes early: at a fifth of the pauses inside sentences the network is sure of an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from assistant.config import EndpointConfig
from assistant.mind.finished import Finish

SOUND_DONE = 0.9
"""smart-turn's probability from which the melody says: finished. At 49 of 60 ends of commands it is
above, at 8 of 38 pauses inside English sentences, and at 1 of 5 inside words."""
SOUND_GOES_ON = 0.5
CLEAR = 0.7
"""mean token probability from which the form of a text is believed: words that were cut are heard
as others ("for three" as "for it", 0.6)"""
GARBLED = 0.4
"""below it the words are none, and somebody is probably in the middle of one"""
SETTLED = frozenset({"run", "confirm", "cancelled", "undone", "restarted", "rollback"})
"""acts of policy decisions that need nothing more from the person"""


class Level(IntEnum):
    """Steps of patience."""

    SHORT = 0
    BRIEF = 1
    DEFAULT = 2
    LONGER = 3
    LONG = 4


_TABLE = {
    "asked": (Level.SHORT, Level.BRIEF, Level.DEFAULT, Level.BRIEF),
    "form": (Level.SHORT, Level.DEFAULT, Level.LONGER, Level.DEFAULT),
    "wish": (Level.BRIEF, Level.DEFAULT, Level.LONGER, Level.DEFAULT),
    "sentence": (Level.DEFAULT, Level.DEFAULT, Level.LONG, Level.DEFAULT),
    "piece": (Level.DEFAULT, Level.LONGER, Level.LONG, Level.DEFAULT),
    "piece without end": (Level.LONGER, Level.LONGER, Level.LONG, Level.LONGER),
    "unclear": (Level.DEFAULT, Level.LONG, Level.LONG, Level.LONGER),
    "garbled": (Level.LONG,) * 4,
    "open": (Level.LONGER, Level.LONG, Level.LONG, Level.LONG),
    "not judged": (Level.DEFAULT, Level.DEFAULT, Level.LONGER, Level.DEFAULT),
}
_FINISHED = {"form": "form", "wish": "wish", "mark": "sentence"}


@dataclass(frozen=True, slots=True)
class Limits:
    """Silences that close a turn, in milliseconds."""

    short: int = 250
    """surely complete"""
    default: int = 600
    long: int = 1500
    """trailing off"""

    @classmethod
    def of(cls, config: EndpointConfig) -> Limits:
        """Of the settings; what is short or long never lies on the wrong side of the default."""
        default = config.silence_ms
        return cls(min(config.short_ms, default), default, max(config.long_ms, default))

    def ms(self, level: Level) -> int:
        """The silence of a step; the steps between lie half-way."""
        steps = {
            Level.SHORT: self.short,
            Level.BRIEF: (self.short + self.default) // 2,
            Level.DEFAULT: self.default,
            Level.LONGER: (self.default + self.long) // 2,
            Level.LONG: self.long,
        }
        return steps[level]


@dataclass(frozen=True, slots=True)
class Signs:
    """What is known at a pause; None: not known (yet)."""

    finish: Finish | None = None
    """what the words say"""
    confidence: float = 1.0
    """the recogniser's mean token probability, 0 to 1"""
    sound: float | None = None
    """smart-turn's probability that the person has finished, 0 to 1"""
    act: str = ""
    """what the policy would do with these words"""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and why (for the log and the turn's record)."""

    ms: int
    why: str

    @property
    def seconds(self) -> float:
        return self.ms / 1000


def patience(signs: Signs, limits: Limits) -> Patience:
    """The closing silence for a pause with these signs."""
    row = _row(signs)
    column = _column(signs.sound)
    level = _TABLE[row][column]
    heard = "not judged" if signs.sound is None else f"{signs.sound:.2f}"
    said = signs.finish.why if signs.finish is not None else row
    return Patience(limits.ms(level), f"words: {row} ({said}); sound: {heard}")


def _row(signs: Signs) -> str:
    finish = signs.finish
    if finish is None:
        return "not judged"
    if finish.state == "finished" and finish.by == "flow":
        return "asked"
    if signs.confidence < GARBLED:
        return "garbled"
    if finish.state == "open":
        return "open"
    return "form" if signs.act in SETTLED else _by_form(finish, signs.confidence)


def _by_form(finish: Finish, confidence: float) -> str:
    if confidence < CLEAR:
        return "unclear"
    if finish.state == "unknown":
        return "piece" if finish.by else "piece without end"
    return _FINISHED[finish.by]


def _column(sound: float | None) -> int:
    if sound is None:
        return 3
    if sound >= SOUND_DONE:
        return 0
    return 1 if sound >= SOUND_GOES_ON else 2
