"""A reply in the making: sentences as they are written, each with its sound, ahead of being heard.

Written and spoken on workers of their own. Nothing is audible, kept or told here; whoever delivers
the reply takes the items in order, or drops all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from assistant.events import Audio
from assistant.stages import Cancel, Clock
from assistant.workers import Activity, CancelToken, Closed, Inbox, Worker

SENTENCES = 64
"""that may wait; a reply has a few"""
PIECES = 256
"""sounds of one sentence that may wait"""
SPOKEN_SECONDS = 2.0
"""longest time for which writing waits for the first sentence's sound"""

Sound = Audio | Exception


@dataclass(slots=True)
class Item:
    """A sentence; its sounds come later, or never where none are made."""

    text: str
    written: float
    """when it was complete, session seconds"""
    sounds: Inbox[Sound] = field(default_factory=lambda: Inbox(PIECES))
    """closed after the last; an exception where the voice failed"""
    seconds: float = 0.0
    """of sound made so far"""


class Rendering:
    """Written by `sentences(cancel)`, spoken by `speak(text)`; both may be slow."""

    def __init__(
        self,
        sentences: Callable[[Cancel], Iterator[str]],
        speak: Callable[[str], Iterator[Audio]],
        clock: Clock,
        activity: Activity,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """`ready` is called once: when something can be heard, or nothing will be."""
        self._sentences = sentences
        self._speak = speak
        self._clock = clock
        self._activity = activity
        self._ready: Callable[[], None] | None = ready
        self._items: Inbox[Item] = Inbox(SENTENCES)
        self._spoken: Inbox[Item] = Inbox(SENTENCES)
        self._first = CancelToken()
        """set when the first sentence has its sound"""
        self._dropped = CancelToken()
        self._owner: Cancel | None = None
        self._now: Item | None = None
        """what is being spoken"""
        self.error: Exception | None = None
        """why nothing more was written"""
        self.sound_seconds = 0.0
        """of sound made"""
        for name, work in (("writer", self._write), ("voice", self._voice)):
            activity.begin()
            Worker(name, work).start()

    @property
    def cancelled(self) -> bool:
        """Nobody wants it any more. (It is its own cancel token.)"""
        return self._dropped.cancelled or (self._owner is not None and self._owner.cancelled)

    def adopt(self, owner: Cancel) -> None:
        """It is to be heard; from now on it is also dropped when `owner` is cancelled."""
        self._owner = owner

    def drop(self) -> None:
        """Stop writing and speaking it."""
        self._dropped.cancel()
        self._first.cancel()
        self._items.close()  # who waits for room in them is woken
        self._spoken.close()
        if (item := self._now) is not None:
            item.sounds.close()

    def items(self) -> Iterator[Item]:
        """Sentences in order, as they are written. Ends with the reply, or when it is dropped."""
        yield from self._items

    def _write(self) -> None:
        try:
            for text in self._sentences(self):
                if self.cancelled:
                    break
                item = Item(text, self._clock.now())
                self._items.put(item)
                self._spoken.put(item)
                # The sound of the first sentence has the processor; what follows has the time
                # for which it is heard.
                self._first.wait(SPOKEN_SECONDS)
        except Closed:
            pass
        except Exception as error:
            self.error = error
        finally:
            self._items.close()
            self._spoken.close()
            self._activity.end()

    def _voice(self) -> None:
        try:
            for item in self._spoken:
                self._speak_one(item)
        finally:
            self._tell_ready()
            self._activity.end()

    def _speak_one(self, item: Item) -> None:
        self._now = item
        try:
            for audio in () if self.cancelled else self._speak(item.text):
                item.seconds += audio.seconds
                self.sound_seconds += audio.seconds
                item.sounds.put(audio)
                self._tell_ready()
                if self.cancelled:
                    break
        except Closed:
            pass
        except Exception as error:
            item.sounds.offer(error)
        finally:
            item.sounds.close()
            self._first.cancel()
            self._tell_ready()

    def _tell_ready(self) -> None:
        ready, self._ready = self._ready, None
        if ready is not None:
            ready()
