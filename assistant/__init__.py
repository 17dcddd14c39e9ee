"""A local voice assistant that does not forget."""

import os

__version__ = "0.3.0"

# Two OpenMP pools that spin against each other on few cores collapse (10 -> 0.5 tokens/s measured).
# These are read when the OpenMP library is loaded, so they stand before every engine import.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")
os.environ.setdefault("KMP_BLOCKTIME", "0")
# No engine may ask a model hub for anything.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
