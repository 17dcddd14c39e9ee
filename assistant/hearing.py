"""What hears a person and uses their silences: detector, endpoint, listener, work ahead.

Built here for app.py, around a mind that is built already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant import barge_in
from assistant.ahead import Ahead
from assistant.audio.echo_reference import Reference
from assistant.barge_in import Listener
from assistant.config import Config
from assistant.cores import physical_cores
from assistant.endpoint import Endpoint
from assistant.patience import Limits
from assistant.smart_turn import load as load_smart_turn
from assistant.stages import Clock, SpeechDetector
from assistant.vad import load_vad
from assistant.weights import find
from assistant.wiring import Engines, Mind

FIRST_WORDS_MS = 250
"""More of the sound in front of a start that is found over our own voice, which takes longer:
certainty comes 365 ms after the onset or later in 5 % of the cases."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """The parts that app.py runs."""

    detector: SpeechDetector
    endpoint: Endpoint
    listener: Listener | None
    ahead: Ahead


def build_hearing(
    config: Config, mind: Mind, engines: Engines, clock: Clock, reference: Reference | None
) -> Hearing:
    """`reference`: what is played in the room of the microphone. Raises ModelError."""
    listener = None
    if reference is not None and config.audio.echo == "cancel":
        listener = barge_in.load(find, config.vad, reference)
    pre_roll = config.endpoint.pre_roll_ms + (FIRST_WORDS_MS if listener is not None else 0)
    limits = Limits.of(config.endpoint)
    endpoint = Endpoint(
        replace(config.endpoint, pre_roll_ms=pre_roll), config.vad, judged=limits.long / 1000
    )
    melody = load_smart_turn(find) if config.endpoint.smart_turn else None
    assert engines.recognizer is not None
    ahead = Ahead(
        engines.recognizer,
        mind.turns,
        endpoint.wait,
        clock,
        limits,
        sound=melody.probability if melody is not None else None,
        spare=physical_cores() > 2,
        overheard=mind.loop.floor.due,
    )
    mind.loop.ahead = ahead
    return Hearing(load_vad(config.vad, find), endpoint, listener, ahead)
