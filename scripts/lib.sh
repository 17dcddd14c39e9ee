# Read by scripts/run and scripts/test: makes sure that everything is set up. Plain sh, also that of macOS.
#
# The set-up leaves a stamp in the virtual environment: a key over all that it depends on, then the
# files that must exist. While both hold, a start costs a few milliseconds and no Python.
#
# ASSISTANT_WEIGHTS   what to fetch: default (unless set), small, all, none, or names
# ASSISTANT_MODELS    where the weights are kept, if not in models/
# ASSISTANT_CMAKE_ARGS  build llama.cpp with these flags instead of those chosen for the CPU

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
if [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
    VENV=$VIRTUAL_ENV
else
    VENV=$ROOT/.venv
fi
PYTHON=$VENV/bin/python
STAMP=$VENV/keepsake-ready
SETUP_LOG=$VENV/keepsake-setup.log

say() { echo "$*" >&2; }
fail() { say "$*"; exit 2; }

cpu() {
    grep -m1 -E '^(flags|Features)' /proc/cpuinfo 2>/dev/null ||
        sysctl -n machdep.cpu.brand_string 2>/dev/null || uname -m
}

stamp_key() {
    {
        cat "$ROOT"/scripts/*.lock "$ROOT"/scripts/*.py "$ROOT/models/catalog.toml"
        cpu
        command -v nvcc || true
        readlink -f "$PYTHON" || true
        echo "${ASSISTANT_WEIGHTS:-} ${ASSISTANT_MODELS:-} ${ASSISTANT_CMAKE_ARGS:-}"
    } 2>/dev/null | cksum
}

is_ready() {
    [ -x "$PYTHON" ] && [ -r "$STAMP" ] || return 1
    {
        IFS= read -r saved && [ "$saved" = "$1" ] || return 1
        while IFS= read -r file; do
            [ -s "$file" ] || return 1
        done
    } <"$STAMP"
}

has_sound_server() { # what the tests on a virtual sound card need
    [ "$(uname)" != Linux ] || { command -v pulseaudio && command -v pactl &&
        ls /usr/lib/*/alsa-lib/libasound_module_pcm_pulse.so; } >/dev/null 2>&1
}

fits() { # a Python that every locked package has wheels for
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1
}

find_python() {
    for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
        for path in "$(command -v "$name")" "/usr/bin/$name"; do
            [ -x "$path" ] && fits "$path" && echo "$path" && return
        done
    done
    return 1
}

step() { # step TITLE COMMAND...: one line before and, with the time, after
    title=$1
    shift
    began=$(date +%s)
    say "• $title …"
    "$@" || { say "✗ $title"; return 1; }
    say "✓ $title ($(($(date +%s) - began)) s)"
}

system_packages() { SETUP_LOG=/dev/null "$ROOT/scripts/system-packages" "$@"; }

install_python() { # Debian-like systems only
    command -v apt-get >/dev/null || return 1
    step "Python" system_packages python3 python3-venv
    find_python >/dev/null || step "Python 3.11" system_packages python3.11 python3.11-venv
}

make_venv() {
    if ! base=$(find_python); then
        install_python || true
        base=$(find_python) ||
            fail "Python 3.11, 3.12, 3.13 or 3.14 is needed; install one of them and start again."
    fi
    if ! "$base" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        needed=python$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
        step "Python's venv module" system_packages "$needed" ||
            fail "$base cannot make virtual environments; install $needed and start again."
    fi
    step "virtual environment in $VENV ($base)" "$base" -m venv --clear "$VENV" ||
        fail "The virtual environment $VENV could not be made."
}

ensure_ready() { # ensure_ready run|test
    key=$(stamp_key)
    if is_ready "$key" && { [ "$1" = run ] || has_sound_server; }; then
        return
    fi
    if [ "$VENV" != "$ROOT/.venv" ]; then
        fits "$PYTHON" || fail "The active virtual environment $VENV has no Python 3.11 to 3.14; deactivate it and start again."
    elif ! fits "$PYTHON" || ! "$PYTHON" -c 'import encodings, pip' >/dev/null 2>&1; then
        make_venv
        key=$(stamp_key)
    fi
    export SETUP_LOG
    "$PYTHON" "$ROOT/scripts/setup.py" "$1" "$key" "$STAMP" || exit $?
}
