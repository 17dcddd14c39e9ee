"""A private PulseAudio with two null sinks: a virtual microphone and a virtual speaker.

PortAudio reads its environment once, so whatever uses the card runs in a child process with `env`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("pulseaudio", "pactl", "paplay", "parecord")

_SERVER = """
load-module module-native-protocol-unix socket={socket} auth-anonymous=1
load-module module-null-sink sink_name=mic_in rate=48000 sink_properties=device.description=mic_in
load-module module-null-sink sink_name=spk_out rate=48000 sink_properties=device.description=spk_out
set-default-sink spk_out
set-default-source mic_in.monitor
"""

_ALSA = """
</usr/share/alsa/alsa.conf>
pcm.!default { type pulse }
ctl.!default { type pulse }
"""


class VirtualCard:
    """Use as a context manager. RuntimeError with a reason when PulseAudio does not start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: subprocess.Popen[bytes] | None = None
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        self._socket = runtime / "native"
        alsa = folder / "alsa.conf"
        alsa.write_text(_ALSA, encoding="ascii")
        self.env = {
            **os.environ,
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(runtime),
            "PULSE_SERVER": f"unix:{self._socket}",
            "ALSA_CONFIG_PATH": str(alsa),
        }

    def __enter__(self) -> VirtualCard:
        script = self._folder / "server.pa"
        script.write_text(_SERVER.format(socket=self._socket), encoding="ascii")
        env = {key: value for key, value in self.env.items() if key != "PULSE_SERVER"}
        with (self._folder / "server.log").open("wb") as log:
            self._server = subprocess.Popen(
                ["pulseaudio", "-n", "-F", str(script), "--daemonize=no", "--use-pid-file=no",
                 "--exit-idle-time=-1", "--realtime=no", "--high-priority=no"],
                env=env, stdout=log, stderr=log,
            )  # fmt: skip
        for _ in range(100):
            if self._server.poll() is not None:
                break
            if self._pactl("info").returncode == 0:
                return self
            time.sleep(0.1)
        self.__exit__()
        raise RuntimeError((self._folder / "server.log").read_text(errors="replace")[-500:])

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(5)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait(5)

    def play(self, wav: Path) -> None:
        """Into the virtual microphone; returns when it has been played."""
        subprocess.run(["paplay", "-d", "mic_in", wav], env=self.env, check=True, timeout=120)

    @contextmanager
    def recording(self, wav: Path) -> Iterator[None]:
        """What the virtual speaker plays meanwhile, as a mono WAV at 16 kHz."""
        command = ["parecord", "-d", "spk_out.monitor", "--file-format=wav", "--rate=16000",
                   "--channels=1", "--format=s16le", "--latency-msec=50", str(wav)]  # fmt: skip
        process = subprocess.Popen(command, env=self.env)
        time.sleep(0.5)
        try:
            yield
        finally:
            time.sleep(0.5)
            process.terminate()
            process.wait(5)

    def unplug(self) -> None:
        """The sound server ends, and every stream with it."""
        self.__exit__()

    def plug_in(self) -> None:
        self.__enter__()

    def _pactl(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["pactl", *arguments], env=self.env, capture_output=True, timeout=10, check=False
        )


def missing() -> str:
    """Why there can be no virtual card here; "" when there can."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"{', '.join(absent)} not installed (Debian: pulseaudio pulseaudio-utils)"
    if not list(Path("/usr/lib").glob("*/alsa-lib/libasound_module_pcm_pulse.so")):
        return "ALSA has no pulse plugin (Debian: libasound2-plugins)"
    return ""
