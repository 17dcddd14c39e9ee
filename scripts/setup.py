"""Do whatever set-up is missing; scripts/run and scripts/test call it with the venv's Python.

    setup.py run|test KEY STAMP

Every step may be interrupted and is taken up again by the next start. On success STAMP holds KEY
and the files that must exist, which is all that later starts look at.
"""

from __future__ import annotations

import ctypes.util
import fcntl
import importlib.metadata
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import llama
from llama import Build, Plan, Wheels
from steps import Failed, Steps

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "scripts" / "requirements.lock"
PROOF_SECONDS = 600
"""a slow board needs a minute; a hanging build never ends"""


def clean_environment() -> None:
    """Settings under which pip would put packages elsewhere than into this environment."""
    for name in ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_NO_BINARY", "PYTHONPATH"):
        os.environ.pop(name, None)


@contextmanager
def alone(folder: Path, steps: Steps) -> Iterator[None]:
    """One set-up at a time in one environment."""
    with (folder / "keepsake-setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            steps.note("• waiting for another set-up of this environment")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def missing_packages(mode: str) -> dict[str, str]:
    """Debian packages that this Linux lacks, each with what does not work without it."""
    wanted: dict[str, str] = {}
    if platform.system() != "Linux":
        return wanted
    # The very search by which the sound library finds it.
    if not ctypes.util.find_library("portaudio"):
        wanted["libportaudio2"] = "no microphone or speaker can be used; files and chat work"
    if not ctypes.util.find_library("gomp"):
        wanted["libgomp1"] = "llama.cpp does not start"
    if mode == "test":
        skipped = "the tests on a virtual sound card are skipped"
        if not (shutil.which("pulseaudio") and shutil.which("pactl")):
            wanted["pulseaudio"] = wanted["pulseaudio-utils"] = skipped
        if not list(Path("/usr/lib").glob("*/alsa-lib/libasound_module_pcm_pulse.so")):
            wanted["libasound2-plugins"] = skipped
    return wanted


def install_system(steps: Steps, names: Iterable[str]) -> bool:
    """Install system packages, as root or with sudo; False, and words on stderr, when it failed."""
    with steps.step("system packages: " + " ".join(names), shares=True):
        # Not through Steps.run: sudo may have to ask on the terminal.
        command = [str(ROOT / "scripts" / "system-packages"), *names]
        done = subprocess.run(command, check=False).returncode == 0
        if not done:
            steps.miss()
        return done


def system_packages(steps: Steps, wanted: dict[str, str]) -> None:
    """What cannot be installed is mentioned, with what then does not work; the rest goes on."""
    if wanted and not install_system(steps, wanted):
        for name, loss in wanted.items():
            steps.note(f"• without {name} {loss}")


def compiler(steps: Steps) -> None:
    """A C++ compiler, only when something is to be compiled. Raises Failed without one."""
    if any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        return
    if platform.system() == "Darwin":
        raise Failed("A C++ compiler is needed: run xcode-select --install, then start again.")
    if not install_system(steps, ["g++"]):
        raise Failed("A C++ compiler is needed to build llama.cpp; install one and start again.")


def pip(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pip", *arguments, "--no-input", "--disable-pip-version-check"]


def python_packages(steps: Steps, rest: str, venv: Path) -> None:
    """Everything in the lock but llama-cpp-python, from wheels with locked hashes."""
    wanted = venv / "keepsake-wanted.txt"
    wanted.write_text(rest)
    options = ("--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(wanted))
    with steps.step("Python packages"):
        before = steps.position()
        if steps.run([sys.executable, "-c", "import pip"]):
            steps.run([sys.executable, "-m", "ensurepip"])
        if steps.run(pip("install", *options)):
            why = llama.fetch_fault(steps.since(before))
            raise Failed(f"The Python packages could not be installed: {why}." + steps.tail())


def installed(version: str) -> bool:
    """llama-cpp-python of this version is in the environment."""
    try:
        return importlib.metadata.version("llama-cpp-python") == version
    except importlib.metadata.PackageNotFoundError:
        return False


class Llama:
    """Brings a llama-cpp-python into the environment that is proven to compute on this CPU."""

    def __init__(self, steps: Steps, lock: str, venv: Path) -> None:
        self._steps = steps
        self._version, self._entry, self.rest = llama.pin_of(lock, "llama-cpp-python")
        self._mark = venv / "keepsake-llama"
        self._wheels = Wheels(llama.cache_dir(), llama.cpu_features())

    def provide(self, model: Path | None) -> bool:
        """True when it is proven; False when there are no weights to prove it with yet."""
        if self._foreign() and (model is None or self._proven(model)):
            self._steps.note("• llama-cpp-python: keeping the build in this environment")
            return model is not None
        plans = llama.plans_here()
        for plan in plans:
            key = plan.key(self._version)
            if self._wheels.refused(key) or not self._install(plan, key):
                continue
            if model is None:
                return False
            if self._proven(model):
                return True
            self._wheels.refuse(key)
            self._mark.unlink(missing_ok=True)
            self._steps.note(f"• the {plan.name} build does not compute here; a safer one is next")
        tried = ", ".join(plan.name for plan in plans)
        raise Failed(
            f"llama-cpp-python could not be built for this CPU (tried: {tried})."
            + self._steps.tail()
        )

    def _foreign(self) -> bool:
        """Somebody else put this version here, for instance with flags of their own."""
        return installed(self._version) and not self._mark.exists()

    def _install(self, plan: Plan, key: str) -> bool:
        """False when this plan does not compile."""
        if installed(self._version) and self._mark.is_file() and self._mark.read_text() == key:
            return True
        with self._wheels.alone(key):
            wheel = self._wheels.get(key) or self._build(plan, key)
        if wheel is None:
            return False
        with self._steps.step(f"llama.cpp, {plan.name} build: installing"):
            self._mark.unlink(missing_ok=True)
            options = ("--no-deps", "--no-index", "--force-reinstall", "--no-cache-dir")
            if self._steps.run(pip("install", *options, str(wheel))):
                raise Failed(f"{wheel} could not be installed." + self._steps.tail())
            self._mark.write_text(key)
        return True

    def _build(self, plan: Plan, key: str) -> Path | None:
        compiler(self._steps)
        build = Build(self._steps, self._entry, plan, self._wheels.folder / "build" / key)
        with self._steps.step(f"llama.cpp, {plan.name} build: compiling (5 to 15 minutes)"):
            wheel = build.wheel()
            kept = self._wheels.put(key, wheel) if wheel else None
            if kept is None:
                self._steps.miss()
        build.clean()
        if kept is None:
            self._steps.note(f"• the {plan.name} build does not compile; see {self._steps.log}")
        return kept

    def _proven(self, model: Path) -> bool:
        """A prompt of 150 tokens gives the right words. A crash or a hang is a no.

        Raises Failed when the system killed it, which says nothing about the build.
        """
        with self._steps.step(f"llama.cpp: proof with {model.name}"):
            script = ROOT / "scripts" / "prove.py"
            status = self._steps.run([sys.executable, script, model], limit=PROOF_SECONDS)
            if status == -signal.SIGKILL:
                raise Failed(
                    f"The system ended the proof with {model.name}, probably for want of memory; "
                    "close other programs and start again, or take ASSISTANT_WEIGHTS=small."
                )
            if status:
                self._steps.miss()
            return status == 0


def weights(steps: Steps, names: list[str]) -> None:
    """Fetch what is missing; shows its own progress."""
    if not names:
        return
    command = [sys.executable, str(ROOT / "run.py"), "models", "pull", *names]
    with steps.step("weights: " + " ".join(names), shares=True):
        done = subprocess.run(command, stdout=sys.stderr, check=False)
        if done.returncode:
            steps.miss()
    if done.returncode:
        raise SystemExit(done.returncode)  # it has said why


def proof_model() -> Path | None:
    """The smallest language model that the catalog knows and that is here."""
    from assistant import weights as known

    ready = [item for item in known.items() if item.kind == "llm" and item.state == "ready"]
    # The catalog's own first: a person's may be of a kind that cannot count.
    ready.sort(key=lambda item: (item.yours, item.size))
    return Path(ready[0].path) if ready else None


def must_exist(names: list[str], venv: Path) -> list[str]:
    """Files whose loss makes the next start do the set-up again."""
    from assistant import weights as known

    files = [str(path) for path in venv.glob("lib/python*/site-packages/llama_cpp/__init__.py")]
    for weight in known.select(names):
        files += [str(known.models_dir() / entry.path) for entry in weight.files]
    return files


def set_up(mode: str, steps: Steps, venv: Path) -> list[str] | None:
    """All steps. The files that must exist, or None when the proof has to wait for weights."""
    if platform.system() == "Darwin" and platform.machine() == "x86_64":
        raise Failed("Intel Macs are not supported: the speech runtime has no build for them.")
    system_packages(steps, missing_packages(mode))
    engine = Llama(steps, LOCK.read_text("utf-8"), venv)
    python_packages(steps, engine.rest, venv)
    chosen = os.environ.get("ASSISTANT_WEIGHTS") or "default"
    names = [name for name in chosen.replace(",", " ").split() if name != "none"]
    weights(steps, names)
    if not engine.provide(proof_model()):
        steps.note("• no language model is here yet, so llama.cpp is not proven")
        return None
    return must_exist(names, venv)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def main(mode: str, key: str, stamp: Path) -> int:
    signal.signal(signal.SIGTERM, interrupted)
    clean_environment()
    sys.path.insert(0, str(ROOT))
    venv = stamp.parent
    steps = Steps(venv / "keepsake-setup.log")
    try:
        with alone(venv, steps):
            steps.log.write_bytes(b"")
            files = set_up(mode, steps, venv)
            if files is not None:
                new = stamp.with_suffix(".new")
                new.write_text("\n".join([key, *files]) + "\n", "utf-8")
                new.replace(stamp)
    except Failed as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nSet-up stopped; the next start goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
