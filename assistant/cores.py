"""How many processor cores this process has. Knows no engine."""

from __future__ import annotations

import os
from pathlib import Path


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
