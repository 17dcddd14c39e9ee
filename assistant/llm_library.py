"""llama.cpp itself: loaded once, its log kept, its steps left in the middle. Knows no model."""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from typing import Any

ERROR_LEVEL = 4
"""GGML_LOG_LEVEL_ERROR in ggml.h"""
LOGGED: deque[str] = deque(maxlen=8)
"""the last errors"""
_HOOKS: list[Any] = []


def unless_empty(lib: Any, text: Any) -> tuple[Any, Any]:
    """An abort callback that is true while `text` is not empty: the C library's strlen.

    llama.cpp asks at every step of its graph. A Python function would have to wait there for
    whatever thread holds the interpreter.
    """
    strlen = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None).strlen
    callback = ctypes.cast(strlen, lib.ggml_abort_callback)
    return callback, ctypes.cast(text, ctypes.c_void_p)


def library() -> Any:
    """llama.cpp, loaded once, its log kept for error messages instead of printed."""
    from llama_cpp import llama_cpp as lib

    if not _HOOKS:
        hook = lib.llama_log_callback(
            lambda level, text, _: (
                LOGGED.append(text.decode("utf-8", "replace").strip())
                if level == ERROR_LEVEL
                else None
            )
        )
        _HOOKS.append(hook)
        lib.llama_log_set(hook, ctypes.c_void_p(0))
        lib.llama_backend_init()
    return lib
