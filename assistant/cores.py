"""How many processor cores this process has, and how many of them others keep busy."""

from __future__ import annotations

import os
import time
from pathlib import Path

LOOK_SECONDS = 0.25
"""between two looks at what others do"""


def physical_cores() -> int:
    """Cores this process may use, hyper-threads counted once; at least 1."""
    allowed: set[int] = set(range(os.cpu_count() or 1))
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
    cores = set()
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text())
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))


class Others:
    """Cores that other programs keep busy: a thread that has to share its core stops all."""

    def __init__(self) -> None:
        self._looked, self._busy = self._look()
        self.cores = 0.0

    def free(self, cores: int) -> int:
        """How many of `cores` nobody else uses, at least 1. Cheap to ask at every step."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            before, busy = self._looked, self._busy
            self._looked, self._busy = self._look()
            self.cores = max(0.0, (self._busy - busy) / (self._looked - before))
        return max(1, cores - round(self.cores))

    def _look(self) -> tuple[float, float]:
        """The time, and seconds of processor that all programs but this one have used."""
        import psutil

        spent = psutil.cpu_times()
        own = psutil.Process().cpu_times()
        idle = spent.idle + getattr(spent, "iowait", 0.0)
        return time.monotonic(), sum(spent) - idle - own.user - own.system
