"""What the loop tells, as lines for a person or as one JSON object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from assistant.events import Failed, Turn
from assistant.loop import Finished, Notice, Replied, Said, Shown
from assistant.workers import Lock


def turn_record(turn: Turn) -> dict[str, Any]:
    """The fields of M13 as JSON values."""
    return {"event": "turn", **asdict(turn)}


class Console:
    """Shows each event of a conversation once, whichever thread it comes from."""

    def __init__(
        self, *, as_json: bool, spoken: bool, details: bool = False, trace: bool = False
    ) -> None:
        """`spoken`: words come from speech, so what was heard is shown too. `details`: state and
        latency after each turn. `trace`: what memory did (C7)."""
        self._trace = trace
        self._json = as_json
        self._spoken = spoken
        self._details = details
        self._lock = Lock()
        self._shown: dict[int, str] = {}
        self._open = ""
        """what stands on a line that is not yet ended"""

    def show(self, event: Shown) -> None:
        with self._lock:
            if isinstance(event, (Failed, Notice)):
                self._end_line()
            if isinstance(event, Failed):
                self._failed(event)
            elif isinstance(event, Notice):
                print(event.text, file=sys.stderr, flush=True)
            elif self._json:
                if isinstance(event, Finished):
                    self._line(json.dumps(turn_record(event.turn), ensure_ascii=False))
            elif isinstance(event, Said):
                if self._spoken and event.transcript.text:
                    self._line(f"You: {event.transcript.text}")
            elif isinstance(event, Replied):
                self._replied(event.turn)
            else:
                self._finished(event.turn)

    def say(self, text: str) -> None:
        """A piece of a reply that is shown as it comes (chat), all pieces on one line."""
        if not self._json:
            with self._lock:
                gap = "" if not self._open or self._open[-1] in "。！？；，" else " "
                print(gap + text, end="", flush=True)
                self._open = text

    def _replied(self, turn: Turn) -> None:
        self._end_line()
        if self._spoken and turn.turn not in self._shown:
            self._line(f"Assistant: {turn.reply}")
        elif turn.interrupted:
            self._line(f"  (interrupted after: {turn.heard or 'nothing'})")
        self._shown = {turn.turn: turn.reply}

    def _finished(self, turn: Turn) -> None:
        if self._trace:
            self._traced(turn)
        elif self._details:
            self._detailed(turn)

    def _detailed(self, turn: Turn) -> None:
        state = turn.state_after
        if state is None:
            self._line("  state: still being updated")
        else:
            for kind in ("facts", "preference"):
                for key, fact in state[kind].items():
                    self._line(f"  {kind}: {key} = {fact['value']}")
            if state["history_summary"]:
                self._line(f"  summary: {state['history_summary']}")
        stages = "  ".join(f"{name} {value:.0f}" for name, value in turn.latency_ms.items())
        self._line(f"  ms: {stages}")

    def _traced(self, turn: Turn) -> None:
        for line in turn.searched or ["nothing was looked up"]:
            self._line(f"[RECALL] {line}")
        for line in turn.recalled or ["no memory in the prompt"]:
            self._line(f"[INJECT] {line}")
        rule = "; ".join(f"{one['act']} {one['intent']}".strip() for one in turn.decisions)
        self._line(f"[LLM] {turn.raw.strip() or 'not asked: ' + rule}")
        for line in turn.retained or ["nothing kept"]:
            self._line(f"[RETAIN] {line}")

    def _failed(self, event: Failed) -> None:
        if self._json:
            self._line(
                json.dumps({"event": "failed", "stage": event.stage, "error": str(event.error)})
            )
        print(f"{event.stage}: {event.error}", file=sys.stderr, flush=True)

    def _line(self, text: str) -> None:
        self._end_line()
        print(text, flush=True)

    def _end_line(self) -> None:
        if self._open:
            self._open = ""
            print(flush=True)


@contextmanager
def loading(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr that names what is being loaded."""
    from rich.console import Console as Screen

    screen = Screen(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda step: None
        return
    with screen.status("Loading …") as status:
        yield lambda step: status.update(f"Loading: {step} …")
