"""Who has the floor: our voice waits while a person speaks over it, then goes on or is cut.

Knows what was said only as far as it has to: "uh-huh", a wish for silence, or a turn.
"""

from __future__ import annotations

from collections.abc import Callable

from assistant.barge_in import Kind, kind_of
from assistant.events import Transcript
from assistant.mouth import Mouth
from assistant.stages import Clock


class Floor:
    """One reply at a time; from any thread, but one person speaks at a time."""

    def __init__(
        self,
        mouth: Mouth,
        clock: Clock,
        give_way: Callable[[float], None],
        asked: Callable[[], bool],
    ) -> None:
        """`give_way` cuts the reply for the words that end then; `asked`: it is a question."""
        self._mouth = mouth
        self._clock = clock
        self._give_way = give_way
        self._asked = asked
        self._verdict: tuple[float, Kind] = (-1.0, "turn")
        """end of the last words said over our voice, and what they were"""
        self._over = False
        """what is being said began over our voice"""
        self._spoken = -1.0
        """when somebody last began to speak, or spoke on"""
        self.held = False
        """playback waits: somebody speaks, and it is not yet known what"""

    def taken(self, at: float, *, anew: bool) -> bool:
        """Somebody speaks since `at`. True when our voice was in the air; it waits now.

        `anew`: it is no going on after a pause.
        """
        self._spoken = at
        heard = self.held or self._mouth.busy_until > self._clock.now()
        self._over = heard or (self._over and not anew)
        if self.held or not heard:
            return heard
        self.held = True
        self._mouth.hold()
        return True

    def give_back(self) -> None:
        """It was nothing: our voice goes on."""
        if self.held:
            self.held = False
            self._mouth.resume()

    def due(self, said: Transcript, end: float) -> bool:
        """Whether an answer is due to these words; a waiting reply goes on, or is cut for good."""
        return bool(said.text) and self.kind(said, end, self._give_way) == "turn"

    def kind(self, said: Transcript, end: float, give_way: Callable[[float], None]) -> Kind:
        """What the words that end at `end` were; judged once. Anything but an "uh-huh" cuts."""
        if self._verdict[0] == end:
            return self._verdict[1]
        if not self._over:
            return "turn"
        kind = kind_of(said.text, said.language, asked=self._asked())
        self._verdict = (end, kind)
        if kind == "backchannel" and self._spoken > end:
            return kind  # somebody speaks again already
        if kind == "backchannel":
            self.give_back()
        else:
            self.lost(end, give_way)
        return kind

    def lost(self, end: float, give_way: Callable[[float], None]) -> None:
        """Our voice does not go on, because of the words that end at `end`."""
        if self.held:
            self.held = False
            give_way(end)
