"""Build llama-cpp-python for the CPU at hand, once, and keep the wheel.

The package has no wheels, and a build for the "native" CPU crashes on some (AMX), so the
instruction sets are named one by one. Wheels are kept under a key of version, flags, Python and
system, because pip's own cache would hand out one that was built with other flags.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steps import Failed, Steps

HERE = Path(__file__).resolve().parent
ALWAYS = ("-DLLAVA_BUILD=OFF", "-DMTMD_BUILD=OFF")
LEAN = "set(LLAMA_BUILD_COMMON OFF)\n"
"""Read by CMake inside llama.cpp: leaves out a library that the package builds and never loads,
40 % of the compiling. The package forces the option on, so that -D cannot say it."""
OFFLINE = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Network is unreachable",
    "ProxyError",
    "Connection refused",
)
"""signs in pip's output that no package index can be reached"""


@dataclass(frozen=True)
class Plan:
    """One way to build: the instruction sets it may use."""

    name: str
    flags: tuple[str, ...]

    def key(self, version: str) -> str:
        """Names a wheel: nothing that would make another wheel is left out."""
        parts = [
            version,
            LEAN,
            *self.flags,
            sysconfig.get_platform(),
            sys.implementation.cache_tag or "",
        ]
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
        return f"llama-cpp-python-{version}-{self.name}-{digest}"


def cpu_features() -> frozenset[str]:
    """What the CPU says of itself on Linux (x86 "flags", ARM "Features"); empty elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    return frozenset(found.group(1).split()) if found else frozenset()


def _switch(on: bool, *names: str) -> list[str]:
    return [f"-DGGML_{name}={'ON' if on else 'OFF'}" for name in names]


def _x86(cpu: frozenset[str]) -> list[Plan]:
    avx2 = cpu >= {"avx", "avx2", "fma", "f16c", "bmi2"}
    avx512 = avx2 and cpu >= {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
    off = _switch(False, "NATIVE", "AMX_TILE", "AMX_INT8", "AMX_BF16")
    base = _switch("sse4_2" in cpu, "SSE42")
    wide = _switch(True, "AVX", "AVX2", "FMA", "F16C", "BMI2")
    plans = []
    if avx512:
        extra = [name for name in ("VBMI", "VNNI", "BF16") if f"avx512_{name.lower()}" in cpu]
        # /proc/cpuinfo writes this one without the underscore.
        extra += ["VBMI"] if "avx512vbmi" in cpu and "VBMI" not in extra else []
        names = ["AVX512", *(f"AVX512_{name}" for name in sorted(extra))]
        plans.append(Plan("avx512", (*off, *base, *wide, *_switch(True, *names))))
    if avx2:
        vnni = _switch("avx_vnni" in cpu, "AVX_VNNI")
        plans.append(Plan("avx2", (*off, *base, *wide, *vnni)))
    narrow = _switch(False, "AVX", "AVX2", "FMA", "F16C", "BMI2")
    return [*plans, Plan("plain", (*off, *base, *narrow))]


def _arm(cpu: frozenset[str]) -> list[Plan]:
    off = _switch(False, "NATIVE")
    plain = Plan("arm", (*off, "-DGGML_CPU_ARM_ARCH=armv8-a"))
    if "asimddp" not in cpu:
        return [plain]
    arch = "armv8.2-a+dotprod"
    arch += "+fp16" if cpu >= {"asimdhp", "fphp"} else ""
    arch += "+i8mm" if "i8mm" in cpu else ""
    return [Plan("arm-dotprod", (*off, f"-DGGML_CPU_ARM_ARCH={arch}")), plain]


def plans(
    system: str, machine: str, cpu: frozenset[str], *, cuda: bool, own: str = ""
) -> list[Plan]:
    """Ways to build, fastest first, each safer than the one before.

    `own`: flags a person chose; then nothing else is tried.
    """
    if own:
        return [Plan("own", tuple(own.split()))]
    if system == "Darwin":
        # The package itself switches Metal on there.
        found = [Plan("metal", ()), Plan("metal-plain", tuple(_switch(False, "NATIVE")))]
    elif machine in ("x86_64", "AMD64", "i686"):
        found = _x86(cpu)
    elif machine in ("aarch64", "arm64"):
        found = _arm(cpu)
    else:
        found = [Plan("plain", tuple(_switch(False, "NATIVE")))]
    if cuda:
        flags = ("-DGGML_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=native")
        found.insert(0, Plan("cuda", (*found[0].flags, *flags)))
    return [Plan(plan.name, (*plan.flags, *ALWAYS)) for plan in found]


def has_cuda() -> bool:
    """An NVIDIA GPU that answers and a compiler for it."""
    if not (shutil.which("nvcc") and shutil.which("nvidia-smi")):
        return False
    found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False, timeout=30)
    return found.returncode == 0 and b"GPU" in found.stdout


def plans_here() -> list[Plan]:
    own = os.environ.get("ASSISTANT_CMAKE_ARGS", "")
    return plans(
        platform.system(), platform.machine(), cpu_features(), cuda=not own and has_cuda(), own=own
    )


def cache_dir() -> Path:
    """This program's folder in the person's cache."""
    mac = Path.home() / "Library/Caches"
    other = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (mac if platform.system() == "Darwin" else other) / "keepsake-assistant"


def pin_of(lock: str, package: str) -> tuple[str, str, str]:
    """The version of a package in a lock, its entry, and the lock without it."""
    found = re.search(rf"^{re.escape(package)}==(\S+).*\n(?:    .*\n?)*", lock, re.MULTILINE)
    if not found:
        raise Failed(f"scripts/requirements.lock has no {package}; get a fresh copy of it.")
    return found.group(1), found.group(0), lock.replace(found.group(0), "")


class Wheels:
    """The wheels built on this machine, and which of them failed their proof on this CPU."""

    def __init__(self, folder: Path, cpu: frozenset[str]) -> None:
        self.folder = folder
        self._cpu = hashlib.sha256(" ".join(sorted(cpu)).encode()).hexdigest()[:12]

    def get(self, key: str) -> Path | None:
        """The wheel of a key, if it is there as it was stored."""
        for wheel in (self.folder / "wheels" / key).glob("*.whl"):
            note = wheel.with_suffix(".sha256")
            if note.is_file() and note.read_text() == _sha256(wheel):
                return wheel
        return None

    def put(self, key: str, wheel: Path) -> Path:
        place = self.folder / "wheels" / key
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        kept = place / wheel.name
        shutil.copyfile(wheel, kept)
        kept.with_suffix(".sha256").write_text(_sha256(kept))
        return kept

    def refuse(self, key: str) -> None:
        """It built but does not compute here: never offer it again on this CPU."""
        shutil.rmtree(self.folder / "wheels" / key, ignore_errors=True)
        self._refusal(key).parent.mkdir(parents=True, exist_ok=True)
        self._refusal(key).touch()

    def refused(self, key: str) -> bool:
        return self._refusal(key).exists()

    def _refusal(self, key: str) -> Path:
        return self.folder / "refused" / f"{key}-{self._cpu}"

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """One process at a time builds a key; the others wait and then find it."""
        (self.folder / "build").mkdir(parents=True, exist_ok=True)
        with (self.folder / "build" / f"{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def jobs() -> int:
    """Compilers at a time: one a core, and a gigabyte of memory for each."""
    cores = os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return cores
    return max(1, min(cores, memory // 1_000_000_000))


class Build:
    """Compiles one plan in a folder of its own. Interrupted, it goes on where it was."""

    def __init__(self, steps: Steps, entry: str, plan: Plan, folder: Path) -> None:
        self._steps = steps
        self._entry = entry
        self._plan = plan
        self._folder = folder
        self._python = folder / "tools" / "bin" / "python"

    def wheel(self) -> Path | None:
        """The wheel, or None when it does not compile. Raises Failed without sources or tools."""
        self._tools()
        source = self._source()
        out = self._folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        lean = self._folder / "lean.cmake"
        lean.write_text(LEAN)
        flags = [*self._plan.flags, f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={lean}"]
        env = {
            **os.environ,
            "CMAKE_ARGS": shlex.join(flags),
            "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs()),
            "PATH": f"{self._python.parent}{os.pathsep}{os.environ['PATH']}",
        }
        command = self._pip("wheel", "--verbose", "--no-deps", "--no-build-isolation")
        command += [f"-Cbuild-dir={self._folder / 'objects'}", "--wheel-dir", str(out), str(source)]
        failed = self._steps.run(command, env=env)
        wheels = list(out.glob("*.whl"))
        return None if failed or len(wheels) != 1 else wheels[0]

    def clean(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pip(self, command: str, *options: str) -> list[str]:
        quiet = ("--no-input", "--disable-pip-version-check", "--no-cache-dir")
        return [str(self._python), "-m", "pip", command, *quiet, *options]

    def _tools(self) -> None:
        """cmake and ninja of locked versions, in an environment that is thrown away afterwards."""
        ready = self._folder / "tools" / "ready"
        if ready.exists():
            return
        base = Path(sys.executable)
        self._must([str(base), "-m", "venv", "--clear", str(self._folder / "tools")], "tools")
        lock = str(HERE / "build.lock")
        options = ("--require-hashes", "--no-deps", "--only-binary=:all:", "-r", lock)
        self._must(self._pip("install", *options), "The tools that compile llama.cpp")
        ready.touch()

    def _source(self) -> Path:
        source = self._folder / "source"
        if source.is_dir():
            return source
        wanted = self._folder / "wanted.txt"
        wanted.write_text(self._entry)
        into = self._folder / "sdist"
        options = ("--require-hashes", "--no-deps", "--no-binary=:all:", "--no-build-isolation")
        command = self._pip("download", *options, "--dest", str(into), "-r", str(wanted))
        self._must(command, "The sources of llama-cpp-python")
        (archive,) = into.glob("*.tar.gz")
        half = self._folder / "unpacking"
        shutil.rmtree(half, ignore_errors=True)
        with tarfile.open(archive) as tar:
            tar.extractall(half, filter="data")
        (inner,) = half.iterdir()
        inner.replace(source)
        return source

    def _must(self, command: Sequence[str], what: str) -> None:
        before = self._steps.position()
        if self._steps.run(command):
            why = fetch_fault(self._steps.since(before))
            raise Failed(f"{what} could not be had: {why}." + self._steps.tail())


def fetch_fault(output: str) -> str:
    """Why pip failed, in a few words, from what it printed."""
    if "No space left" in output:
        return "the disk is full"
    if "DO NOT MATCH THE HASHES" in output:
        return "a file does not have the hash that scripts/requirements.lock names"
    if "CERTIFICATE_VERIFY_FAILED" in output:
        return "the package index shows a certificate that is not trusted here"
    if any(sign in output for sign in OFFLINE):
        return "no package index can be reached; go online and start again"
    if "No matching distribution" in output:
        return "the package index does not offer a file for this system and Python"
    return "pip failed; start again, or see the log"
