"""Arrays of numbers, and numpy kept to one core."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def one_core() -> AbstractContextManager[Any]:
    """numpy's products on one thread: on two busy cores two of them took ten times as long."""
    limit: AbstractContextManager[Any] = _pools().limit(limits=1, user_api="blas")
    return limit
