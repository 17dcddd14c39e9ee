"""`python -m assistant.bench.latency_child`: one system under test, spoken to over its pipes.

The first line of the standard input is its Setup; what it has to tell goes to the standard output,
whatever engines print there goes to the standard error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import IO, Any

from assistant.bench.latency_peer import Peer, answerer
from assistant.bench.latency_stand import Setup, Stand, System, peak_memory_mb
from assistant.errors import AssistantError
from assistant.workers import Lock, Worker, leave


def made(setup: Setup, stand: Stand) -> System:
    """The system of a name, its engines loaded and warm. Raises AssistantError."""
    if setup.system == "ours":
        from assistant.bench.latency_ours import Ours

        return Ours(setup, stand)
    return Peer(setup, stand, answerer(setup.system)(setup.config))


def serve(lines: IO[str], out: IO[str]) -> int:
    """Until the end is ordered. 0 when nothing broke."""
    lock = Lock()

    def tell(message: dict[str, Any]) -> None:
        with lock:
            more = {"peak_memory_mb": round(peak_memory_mb(), 1)}
            out.write(json.dumps({**message, **more}, ensure_ascii=False) + "\n")
            out.flush()

    setup = Setup.from_dict(json.loads(lines.readline()))
    stand = Stand(setup, tell)
    begin = time.perf_counter()
    try:
        stand.system = made(setup, stand)
        tell({"event": "loaded", "seconds": round(time.perf_counter() - begin, 2)})
        # Whoever speaks to us may be gone without a word: then there is nothing to tidy up.
        Worker("orders", lambda: stand.read(lines, lambda: os._exit(1))).start()
        stand.system.run()
        stand.system.close()
    except AssistantError as error:
        tell({"event": "error", "error": str(error)})
        return error.exit_code
    except Exception as error:
        tell({"event": "error", "error": f"{type(error).__name__}: {error}"})
        raise
    tell({"event": "bye", "failed": stand.system.told().failed})
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    leave(serve(sys.stdin, told))
