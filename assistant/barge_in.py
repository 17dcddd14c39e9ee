"""Is a person speaking over our own voice, and is it more than "uh-huh"?

First sound: evidence of one frame after another becomes a suspicion, then certainty. Then words:
what was said is a backchannel, a wish for silence, or a turn. Knows nothing of playback.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Literal

from assistant.audio.echo import Cleaned, EchoCanceller
from assistant.audio.echo_engines import missing
from assistant.audio.echo_reference import Reference
from assistant.config import VadConfig
from assistant.events import Frame
from assistant.stages import SpeechDetector
from assistant.vad import Find, load_vad

log = logging.getLogger(__name__)

WINDOW = 8
"""frames of 32 ms that are weighed together"""
SUSPECTED_AT, SURE_AT = 2.0, 4.5
"""Evidence in the window. In 30 minutes of echo alone it is never SURE (`bench echo`)."""
SPEECH = 0.5
"""probability on the sound without echo from which a frame is speech"""
EITHER = 0.3
"""the same on the mean of both sounds, when the level speaks for a person as well"""
LOUD_DB = 6.0
"""that much louder than the rest of our echo cannot be our echo"""
SUPPRESSED = 0.02
"""probability below which the other canceller is certain that it is echo"""
LEFT = 0.2
"""probability on the sound that keeps all speech, below which there is none to suppress"""
DOUBTFUL_DB, DOUBTFUL = 2.0, 0.6
"""speech that is hardly louder than the rest of our echo, or of unknown level, counts less"""
CLEAR, UNLEARNT = 0.8, 0.4
"""While the filter is still learning both cancellers leave more than later: what is not that
probable on both sounds counts still less, and never enough by itself (WINDOW of it)."""
RELEASE = 24
"""frames without any evidence after which nobody speaks any more"""

LONGEST = 60
"""characters; nobody hums for longer"""
WORDS = Path(__file__).parent / "prompts" / "barge_in.toml"
Kind = Literal["backchannel", "stop", "turn"]


class Stage(IntEnum):
    """How sure it is that a person speaks over us."""

    NOBODY = 0
    SUSPECTED = 1
    """the reply may be made quieter"""
    SURE = 2
    """the reply must stop"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a frame says about a person while we speak."""

    sure: float
    """speech probability of the sound without echo, 0 to 1"""
    speech: float
    """speech probability of the sound with a rest of echo, 0 to 1"""
    excess_db: float
    """loudness of that sound above the rest of echo expected in it"""
    aligned: bool
    """`excess_db` and `speech` mean something: the echo has been found"""
    steady: bool
    """and there is no more of it left than is expected"""


def weight(evidence: Evidence) -> float:
    """0 (our echo, or nothing) to 1 (a person)."""
    known = evidence.aligned
    mean = (evidence.sure + evidence.speech) / 2
    suppressed = evidence.sure < SUPPRESSED and not evidence.steady
    if known and not suppressed and evidence.excess_db > LOUD_DB and mean > EITHER:
        return 1.0
    if evidence.sure <= SPEECH or (known and evidence.speech <= LEFT):
        return 0.0
    if known and evidence.excess_db > DOUBTFUL_DB:
        return 1.0
    clear = evidence.steady or min(evidence.sure, evidence.speech) > CLEAR
    return DOUBTFUL if clear or not known else UNLEARNT


class BargeIn:
    """Weighs frame after frame while our own voice is in the room."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._idle = 0
        self.stage = Stage.NOBODY

    def reset(self) -> None:
        """We begin to speak, or speak on after all: nobody has interrupted yet."""
        self._window.clear()
        self._idle = 0
        self.stage = Stage.NOBODY

    def feed(self, evidence: Evidence) -> Stage:
        """Take the next frame. SURE stays until nobody has spoken for a while."""
        self._window.append(weight(evidence))
        total = sum(self._window)
        self._idle = 0 if self._window[-1] else self._idle + 1
        if total >= SURE_AT or (self.stage is Stage.SURE and self._idle < RELEASE):
            self.stage = Stage.SURE
        else:
            self.stage = Stage.SUSPECTED if total >= SUSPECTED_AT else Stage.NOBODY
        return self.stage


@dataclass(frozen=True, slots=True)
class Overheard:
    """A frame as the endpoint should hear it."""

    frame: Frame
    """without our own voice"""
    probability: float
    """of a person's speech; 0 while it can only be our echo"""
    stage: Stage
    """always NOBODY while we are silent"""
    playing: bool
    """our own voice may be in the room"""


class Listener:
    """Hears a person over our own voice: canceller, two detectors, the decision."""

    def __init__(
        self, canceller: EchoCanceller, detector: SpeechDetector, second: SpeechDetector
    ) -> None:
        """`detector` hears every frame; `second`, one of its own, only while we speak."""
        self._canceller = canceller
        self._detector = detector
        self._second = second
        self._barge_in = BargeIn()
        self._playing = False

    def hear(self, frame: Frame) -> Overheard:
        """Feed every frame of the microphone, in order."""
        cleaned = self._canceller.clean(frame)
        resumed = cleaned.begins and self._barge_in.stage is Stage.SURE
        if cleaned.playing and (resumed or not self._playing):
            self._speaks()
        self._playing = cleaned.playing
        heard = Frame(cleaned.speech, frame.at)
        speech = self._detector.probability(heard)
        if not cleaned.playing:
            return Overheard(heard, speech, Stage.NOBODY, playing=False)
        return self._judge(heard, speech, cleaned)

    def reset(self) -> None:
        """The microphone was away: forget the sound so far."""
        self._detector.reset()
        self._speaks()

    def _speaks(self) -> None:
        """We begin to speak, or speak on after all (it was only an "uh-huh")."""
        self._second.reset()
        self._barge_in.reset()

    def _judge(self, heard: Frame, speech: float, cleaned: Cleaned) -> Overheard:
        sure = self._second.probability(Frame(cleaned.sure, heard.at))
        stage = self._barge_in.feed(
            Evidence(sure, speech, cleaned.excess_db, cleaned.aligned, cleaned.steady)
        )
        probability = max(sure, speech) if stage else 0.0
        return Overheard(heard, probability, stage, playing=True)


def load(find: Find, vad: VadConfig, reference: Reference) -> Listener | None:
    """Listening while we speak; None, logged, where no echo canceller can be loaded.

    `reference` is told by the speaker what is played. Raises ModelError as load_vad does.
    """
    if why := missing():
        log.warning("Nothing is heard while a reply is spoken: %s.", why)
        return None
    return Listener(EchoCanceller(reference), load_vad(vad, find), load_vad(vad, find))


def kind_of(text: str, language: str, *, asked: bool = False) -> Kind:
    """What words said over our voice are, for what happens to the reply.

    backchannel: it goes on and nothing is answered; stop: silence, no answer; turn: an answer is
    due. `asked`: the reply holds a question, so that "okay" is an answer. Nothing is a backchannel.
    """
    plain = re.sub(r"[^\w']+|_", " ", text.casefold().replace("’", "'")).strip()
    plain = re.sub(r"(\w)\1{2,}", r"\1\1", plain)
    if not plain:
        return "backchannel"
    if len(plain) > LONGEST:
        return "turn"
    # short sounds are often taken for another language
    for known in sorted(_phrases(), key=lambda name: name != language):
        phrases = _phrases()[known]
        if _made_of(plain, phrases.all, phrases.stop):
            return "stop"
        if _made_of(plain, phrases.hum if asked else phrases.agree):
            return "backchannel"
    return "turn"


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Each with the gap behind it."""

    hum: list[re.Pattern[str]]
    """says nothing, not even in answer to a question"""
    agree: list[re.Pattern[str]]
    """those, and what goes along with what is said"""
    stop: list[re.Pattern[str]]
    all: list[re.Pattern[str]]
    """those, and what stands beside a wish for silence"""


@cache
def _phrases() -> dict[str, _Phrases]:
    with WORDS.open("rb") as file:
        table = tomllib.load(file)
    found = {}
    for language, words in table.items():
        gap = r"(?:\s+|$)" if words["spaced"] else r"\s*"
        lists = {
            name: [re.compile(f"(?:{phrase}){gap}") for phrase in words[name]]
            for name in ("hum", "agree", "stop", "around_stop")
        }
        agree = lists["hum"] + lists["agree"]
        everything = agree + lists["stop"] + lists["around_stop"]
        found[language] = _Phrases(lists["hum"], agree, lists["stop"], everything)
    return found


def _made_of(
    text: str, phrases: Sequence[re.Pattern[str]], needed: Sequence[re.Pattern[str]] = ()
) -> bool:
    """The text is nothing but phrases, one of `needed` among them (when there are any)."""
    begun = {(0, not needed)}
    open_ends = list(begun)
    while open_ends:
        at, satisfied = open_ends.pop()
        for phrase in phrases:
            match = phrase.match(text, at)
            if match is None:
                continue
            end = (match.end(), satisfied or phrase in needed)
            if end not in begun:
                begun.add(end)
                open_ends.append(end)
    return (len(text), True) in begun
