"""A local voice assistant that does not forget."""

import os

__version__ = "0.4.0"

# Threads that wait for each other at every step of a network: without any spinning each of them is
# put to sleep and woken (a token 69 ms instead of 50, Whisper's decoding 230 instead of 100); with
# unbounded spinning two engines, or another busy program, bring them down to a twentieth. So they
# spin for some 25 microseconds. Read when the OpenMP library is loaded, hence before every engine.
os.environ.setdefault("OMP_WAIT_POLICY", "active")
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
os.environ.setdefault("KMP_BLOCKTIME", "1")
# No engine may ask a model hub for anything.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
