"""The set-up without doing it: plans for CPUs, the wheel store, the stamp, and steps that fail."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

import llama
import setup
import steps
from assistant.config import ROOT

AVX2 = frozenset(["sse4_2", "avx", "avx2", "fma", "f16c", "bmi2"])
AVX512 = AVX2 | frozenset([f"avx512{name}" for name in ("f", "cd", "bw", "dq", "vl")])
AMX = AVX512 | frozenset(
    ["avx512vbmi", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"]
)
LOCKS = [ROOT / "scripts" / name for name in ("requirements.lock", "build.lock")]


def named(machine: str, cpu: frozenset[str], *, cuda: bool = False) -> dict[str, str]:
    found = llama.plans("Linux", machine, cpu, cuda=cuda)
    return {plan.name: " ".join(plan.flags) for plan in found}


def test_each_cpu_gets_what_it_has_fastest_first() -> None:
    assert list(named("x86_64", AVX512)) == ["avx512", "avx2", "plain"]
    assert list(named("x86_64", AVX2)) == ["avx2", "plain"]
    assert list(named("x86_64", AVX512 - {"avx512vl"})) == ["avx2", "plain"]
    assert list(named("x86_64", AVX2 - {"fma"})) == ["plain"]
    assert list(named("aarch64", frozenset({"asimd", "asimddp"}))) == ["arm-dotprod", "arm"]
    assert list(named("aarch64", frozenset({"asimd"}))) == ["arm"]
    assert list(named("riscv64", frozenset())) == ["plain"]
    assert list(named("x86_64", AVX2, cuda=True)) == ["cuda", "avx2", "plain"]
    assert [plan.name for plan in llama.plans("Darwin", "arm64", frozenset(), cuda=False)] == [
        *("metal", "metal-plain")
    ]


def test_amx_is_never_switched_on() -> None:
    for flags in named("x86_64", AMX, cuda=True).values():
        assert "-DGGML_NATIVE=OFF" in flags
        assert not re.search(r"AMX\w*=ON", flags)


def test_avx512_extras_follow_the_cpu() -> None:
    full, bare = named("x86_64", AMX)["avx512"], named("x86_64", AVX512)["avx512"]
    for extra in ("VBMI", "VNNI", "BF16"):
        assert f"-DGGML_AVX512_{extra}=ON" in full
        assert f"AVX512_{extra}" not in bare


def test_the_plain_build_uses_nothing_that_an_old_cpu_lacks() -> None:
    flags = named("x86_64", frozenset({"sse2"}))["plain"]
    assert flags.count("=ON") == 0


def test_flags_of_a_person_are_the_only_plan() -> None:
    (plan,) = llama.plans("Linux", "x86_64", AVX2, cuda=False, own="-DGGML_VULKAN=ON")
    assert plan.flags[0] == "-DGGML_VULKAN=ON"


def test_a_key_changes_with_flags_and_version() -> None:
    keys = {
        llama.Plan("avx2", flags).key(version)
        for flags in (("-DA=ON",), ("-DA=OFF",), ("-DA=ON", "-DB=ON"))
        for version in ("1", "2")
    }
    assert len(keys) == 6


def test_a_stored_wheel_comes_back_only_whole_and_under_its_own_key(tmp_path: Path) -> None:
    wheels = llama.Wheels(tmp_path / "cache", AVX2)
    made = tmp_path / "a-1-py3-none-any.whl"
    made.write_bytes(b"wheel")
    wheels.put("k", made)
    kept = wheels.get("k")
    assert kept is not None and kept.read_bytes() == b"wheel"
    assert wheels.get("other") is None
    kept.write_bytes(b"whee")
    assert wheels.get("k") is None


def test_a_refused_build_is_refused_on_this_cpu_only(tmp_path: Path) -> None:
    here, there = llama.Wheels(tmp_path, AVX2), llama.Wheels(tmp_path, AVX512)
    here.refuse("k")
    assert here.refused("k")
    assert not there.refused("k")
    assert not here.refused("other")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_pin_is_exact_and_hashed_and_no_address_is_named(lock: Path) -> None:
    text = lock.read_text()
    assert not re.search(r"://|file:|^-|@ ", text, re.MULTILINE)
    entries = re.findall(r"^\S+.*\n(?:    .*\n?)*", text, re.MULTILINE)
    assert len(entries) >= 4
    for entry in entries:
        assert re.match(r"[a-z0-9][a-z0-9-]*==[0-9]\S*", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_lock_holds_all_that_pyproject_asks_for() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", LOCKS[0].read_text(), re.MULTILINE))
    assert {re.split(r"[><=; \[]", item)[0].lower() for item in asked} <= pinned


def test_llama_is_taken_out_of_the_lock_with_its_hash() -> None:
    version, entry, rest = llama.pin_of(LOCKS[0].read_text(), "llama-cpp-python")
    assert entry.startswith(f"llama-cpp-python=={version}")
    assert "--hash=sha256:" in entry
    assert entry.count("==") == 1
    assert "llama-cpp-python" not in rest
    pins = re.findall(r"^\S+==", LOCKS[0].read_text(), re.MULTILINE)
    assert len(re.findall(r"^\S+==", rest, re.MULTILINE)) == len(pins) - 1


@pytest.fixture
def log(tmp_path: Path) -> steps.Steps:
    return steps.Steps(tmp_path / "setup.log")


def test_a_failing_tool_leaves_its_words_in_the_log(log: steps.Steps) -> None:
    with log.step("a step"):
        status = log.run([sys.executable, "-c", "import sys; print('deep trouble'); sys.exit(3)"])
    assert status == 3
    assert "deep trouble" in log.tail()
    assert str(log.log) in log.tail()


def test_a_tool_that_hangs_is_ended_with_all_it_started(
    log: steps.Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "QUIET_SECONDS", 0.05)
    begin = time.monotonic()
    with log.step("a step"):
        assert log.run(["sh", "-c", "sleep 60 & wait"], limit=0.1) == -signal.SIGALRM
    assert time.monotonic() - begin < 5


def test_compiling_shows_how_far_it_is(
    log: steps.Steps, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "QUIET_SECONDS", 0.1)
    with log.step("compiling"):
        log.run(["sh", "-c", "echo '[3/9] Building x.o'; sleep 0.4"])
    shown = capsys.readouterr().err
    assert "3 of 9" in shown
    assert re.search(r"✓ compiling \(\d+\.\d s\)", shown)


class Engine(setup.Llama):
    """The real decisions; building, installing and proving are what a test says they do."""

    def __init__(self, log: steps.Steps, folder: Path, outcome: dict[str, str]) -> None:
        super().__init__(log, LOCKS[0].read_text(), folder)
        self._wheels = llama.Wheels(folder / "cache", AVX512)
        self.outcome = outcome
        self.built: list[str] = []
        self.now = "foreign"

    def _build(self, plan: llama.Plan, key: str) -> Path | None:
        self.built.append(plan.name)
        if self.outcome[plan.name] == "does not compile":
            return None
        made = self._mark.with_name(f"{plan.name}.whl")
        made.write_text(plan.name)
        return self._wheels.put(key, made)

    def _proven(self, model: Path) -> bool:
        return self.outcome[self.now] == "works"


@pytest.fixture
def engine(log: steps.Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine(log, tmp_path, {})

    def run(command: Sequence[str], **_: object) -> int:
        if "--force-reinstall" in command:
            made.now = next(Path(part).stem for part in command if part.endswith(".whl"))
            monkeypatch.setattr(setup, "installed", lambda _: True)
        return 0

    monkeypatch.setattr(log, "run", run)
    monkeypatch.setattr(setup, "installed", lambda _: False)
    monkeypatch.setattr(
        llama, "plans_here", lambda: llama.plans("Linux", "x86_64", AVX512, cuda=False)
    )
    return made


MODEL = Path("model.gguf")


def test_the_first_build_that_computes_stays(engine: Engine) -> None:
    engine.outcome = {"avx512": "works"}
    assert engine.provide(MODEL)
    assert engine.provide(MODEL)
    assert engine.built == ["avx512"]


def test_a_build_that_crashes_gives_way_to_a_safer_one_for_good(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.outcome = {"avx512": "crashes", "avx2": "works"}
    assert engine.provide(MODEL)
    assert engine.built == ["avx512", "avx2"]
    engine._mark.unlink()
    monkeypatch.setattr(setup, "installed", lambda _: False)
    assert engine.provide(MODEL)
    assert engine.built == ["avx512", "avx2"], "neither is built again: one refused, one stored"


def test_a_build_that_does_not_compile_gives_way_too(engine: Engine) -> None:
    engine.outcome = {"avx512": "does not compile", "avx2": "works"}
    assert engine.provide(MODEL)
    assert engine.now == "avx2"


def test_when_nothing_computes_it_is_one_sentence(engine: Engine) -> None:
    engine.outcome = dict.fromkeys(("avx512", "avx2", "plain"), "crashes")
    with pytest.raises(steps.Failed, match=r"could not be built .*avx512, avx2, plain"):
        engine.provide(MODEL)


def test_a_build_that_somebody_installed_stays_when_it_computes(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "installed", lambda _: True)
    engine.outcome = {"foreign": "works"}
    assert engine.provide(MODEL)
    assert engine.built == []
    engine.outcome = {"foreign": "crashes", "avx512": "works"}
    assert engine.provide(MODEL)
    assert engine.built == ["avx512"]


def test_without_weights_nothing_counts_as_proven(engine: Engine) -> None:
    engine.outcome = {"avx512": "crashes"}
    assert not engine.provide(None)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Retrying after connection broken by 'NewConnectionError'", "go online"),
        ("SSLError CERTIFICATE_VERIFY_FAILED\nERROR: No matching distribution", "certificate"),
        ("ERROR: No matching distribution found for av", "does not offer"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "hash"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
    ],
)
def test_why_pip_failed_is_said(output: str, words: str) -> None:
    assert words in llama.fetch_fault(output)


class Checkout:
    """A copy of the scripts with a Python that only writes down how it was called."""

    def __init__(self, folder: Path, shell: str) -> None:
        self.root = folder / "a checkout"
        self.shell = shell
        self.calls = folder / "calls"
        self.weight = folder / "weight.bin"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        (self.root / "models").mkdir()
        shutil.copy(ROOT / "models" / "catalog.toml", self.root / "models")
        self.environment(self.root / ".venv")

    def environment(self, venv: Path) -> None:
        python = venv / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(
            f'#!/bin/sh\necho "$0 $*" >>"{self.calls}"\n'
            f'case $1 in *setup.py) [ -z "$BROKEN" ] || exit 2; echo weights >"{self.weight}"; '
            f'printf "%s\\n" "$3" "{self.weight}" >"$4";; esac\n'
        )
        python.chmod(0o755)

    def start(self, *arguments: str, **env: str) -> list[str]:
        """How Python was called by one start, without the questions that lib.sh asks it."""
        self.calls.write_text("")
        clean = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        done = subprocess.run(
            [self.shell, str(self.root / "scripts" / "run"), *arguments],
            env={**clean, **env},
            check=False,
            cwd="/",
        )
        self.status = done.returncode
        return [line for line in self.calls.read_text().splitlines() if " -c " not in line]


@pytest.fixture(params=["sh", "bash"])
def checkout(tmp_path: Path, request: pytest.FixtureRequest) -> Checkout:
    return Checkout(tmp_path, request.param)


def test_the_second_start_does_nothing_but_start(checkout: Checkout) -> None:
    first = checkout.start("chat", "--bank", "two words")
    assert ["setup.py run" in first[0], first[-1].split("run.py ")[1]] == [
        *(True, "chat --bank two words")
    ]
    begin = time.monotonic()
    second = checkout.start("chat")
    assert time.monotonic() - begin < 0.7
    assert len(second) == 1 and second[0].endswith("run.py chat")


def test_what_is_missing_or_changed_brings_the_set_up_back(checkout: Checkout) -> None:
    checkout.start()
    checkout.weight.unlink()
    assert len(checkout.start()) == 2
    assert len(checkout.start()) == 1
    with (checkout.root / "scripts" / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    assert len(checkout.start()) == 2
    assert len(checkout.start(ASSISTANT_WEIGHTS="small")) == 2
    assert len(checkout.start(ASSISTANT_WEIGHTS="small")) == 1


def test_a_set_up_that_fails_does_not_start_the_program(checkout: Checkout) -> None:
    assert len(checkout.start(BROKEN="yes")) == 1
    assert checkout.status == 2
    assert len(checkout.start()) == 2, "the next start tries again"


def test_an_active_environment_is_used(checkout: Checkout, tmp_path: Path) -> None:
    active = tmp_path / "active one"
    checkout.environment(active)
    calls = checkout.start("talk", VIRTUAL_ENV=str(active))
    assert all(call.startswith(str(active)) for call in calls)
    assert (active / "keepsake-ready").is_file()


def test_a_proof_that_the_system_kills_refuses_no_build(
    log: steps.Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = setup.Llama(log, LOCKS[0].read_text(), tmp_path)
    monkeypatch.setattr(log, "run", lambda *_, **__: -signal.SIGKILL)
    with pytest.raises(steps.Failed, match="want of memory"):
        engine._proven(MODEL)
    monkeypatch.setattr(log, "run", lambda *_, **__: -signal.SIGSEGV)
    assert not engine._proven(MODEL)
