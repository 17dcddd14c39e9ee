"""The key of a data folder: made once, kept in the system's keyring or in a file beside the banks.

`vault.json` says where the key is, `key` holds it when it is kept in a file. Knows no database.
A key that is lost is said so: another one in its place would make the memory unreadable for good.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from filelock import FileLock, Timeout

from assistant.errors import StorageError
from assistant.sealed import KEY_BYTES
from assistant.workers import Worker

log = logging.getLogger(__name__)

SERVICE = "keepsake"
"""what the entry in the keyring is filed under; its user name is the vault's id"""
SECONDS = 20.0
"""a keyring that is locked may ask a person, who may not be there"""
VAULT, KEY = "vault.json", "key"


@dataclass(frozen=True, slots=True)
class Vault:
    """What vault.json holds."""

    id: str
    kept: str
    """keyring or file"""


class Unusable(Exception):
    """Why there is no keyring to rely on: a clause without a full stop."""


def open_vault(folder: Path, wanted: str, warn: Callable[[str], None], *, used: bool) -> bytes:
    """The key that belongs to `folder`, 32 bytes; it is made when nothing is encrypted yet.

    wanted: memory.key: keyring, file, or auto (an existing key stays where it is)
    used: something here is encrypted already, so that no new key may be made
    Raises StorageError.
    """
    try:
        _make_private(folder)
        with FileLock(folder / "vault.lock", timeout=3 * SECONDS):
            vault = _load(folder)
            if vault is None:
                return _begin(folder, wanted, warn, used)
            key = _key(folder, vault)
            if wanted not in ("auto", vault.kept):
                _move(folder, vault, wanted, key)
            return key
    except Timeout:
        raise StorageError(
            f"{folder}: another program holds the vault; end it, or use --data DIR."
        ) from None
    except OSError as error:
        raise StorageError(
            f"{folder}: the key of the memory cannot be read or written "
            f"({error.strerror or error}); mend the folder's permissions, or use --data DIR."
        ) from None


def _make_private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if os.name == "posix":
        folder.chmod(0o700)


def _load(folder: Path) -> Vault | None:
    path = folder / VAULT
    try:
        vault = Vault(**json.loads(path.read_text(encoding="utf-8")))
        if vault.kept not in ("keyring", "file") or not isinstance(vault.id, str):
            raise ValueError
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        _refuse(folder, f"cannot be found, because {path} is damaged")
    return vault


def _begin(folder: Path, wanted: str, warn: Callable[[str], None], used: bool) -> bytes:
    """The first start; or one after it was cut off between the key file and vault.json."""
    if (folder / KEY).exists():
        key = _read_file(folder)
        _write(folder / VAULT, json.dumps(asdict(Vault(secrets.token_hex(8), "file"))))
        return key
    if used:
        _refuse(folder, f"cannot be found, because {folder / VAULT} is missing")
    vault, key = Vault(secrets.token_hex(8), "file"), secrets.token_bytes(KEY_BYTES)
    why = ""
    if wanted != "file":
        try:
            _to_keyring(vault.id, key, any_backend=wanted == "keyring")
            vault = Vault(vault.id, "keyring")
        except Unusable as error:
            if wanted == "keyring":
                _no_keyring(error)
            why = str(error)
    if vault.kept == "file":
        _write(folder / KEY, key.hex())
    _write(folder / VAULT, json.dumps(asdict(vault)))
    if why:
        warn(
            f"The system has no keyring to rely on ({why}), so the key of the memory is kept in "
            f"{folder / KEY}: whoever can copy that file and the memory can read it."
        )
    return key


def _key(folder: Path, vault: Vault) -> bytes:
    if vault.kept == "file":
        return _read_file(folder)
    entry = f"the entry {SERVICE} / {vault.id} in the system's keyring"
    try:
        text = _bounded(lambda: _keyring().get_password(SERVICE, vault.id))
    except Unusable as error:
        raise StorageError(
            f"{folder}: the key of this memory is {entry}, which cannot be read ({error}); unlock "
            "the keyring and start again, or use --data DIR."
        ) from None
    if text is None:
        _refuse(folder, f"is gone: there is no longer {entry}")
    key = _decoded(text)
    if key is None:
        _refuse(folder, f"is damaged: {entry} is no key")
    with suppress(FileNotFoundError):  # left by a move to the keyring that was cut off
        if _decoded((folder / KEY).read_text(encoding="ascii", errors="replace")) == key:
            (folder / KEY).unlink()
    return key


def _read_file(folder: Path) -> bytes:
    path = folder / KEY
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            path.chmod(0o600)
            log.warning("%s could be read by others; now it cannot", path)
        key = _decoded(path.read_text(encoding="ascii", errors="replace"))
    except FileNotFoundError:
        _refuse(folder, f"is gone: there is no file {path}")
    if key is None:
        _refuse(folder, f"is damaged: {path} must hold {2 * KEY_BYTES} hexadecimal digits")
    return key


def _decoded(text: str) -> bytes | None:
    with suppress(ValueError):
        key = bytes.fromhex(text.strip())
        if len(key) == KEY_BYTES:
            return key
    return None


def _move(folder: Path, vault: Vault, wanted: str, key: bytes) -> None:
    """The setting was changed: first the new place, then the record, then the old place."""
    if wanted == "keyring":
        try:
            _to_keyring(vault.id, key, any_backend=True)
        except Unusable as error:
            _no_keyring(error)
        _write(folder / VAULT, json.dumps(asdict(Vault(vault.id, wanted))))
        (folder / KEY).unlink()
        return
    _write(folder / KEY, key.hex())
    _write(folder / VAULT, json.dumps(asdict(Vault(vault.id, wanted))))
    try:
        _bounded(lambda: _keyring().delete_password(SERVICE, vault.id))
    except Unusable as error:
        log.warning("the key stays in the keyring as well (%s)", error)


def _write(path: Path, text: str) -> None:
    """Whole or not at all, and from the first byte on for its owner only."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    if os.name == "posix":  # the new name, too, has to survive a power cut
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keyring() -> Any:
    import keyring

    return keyring


def _to_keyring(name: str, key: bytes, *, any_backend: bool) -> None:
    """Store the key and read it back. Raises Unusable."""

    def store() -> str | None:
        keyring = _keyring()
        # Weaker ones (a plain file) only when a person has asked for the keyring.
        if not any_backend and not keyring.core.recommended(keyring.get_keyring()):
            raise Unusable("none that is recommended is set up")
        keyring.set_password(SERVICE, name, key.hex())
        found: str | None = keyring.get_password(SERVICE, name)
        return found

    if _bounded(store) != key.hex():
        raise Unusable("it does not give back what was put in")


def _bounded(call: Callable[[], str | None]) -> str | None:
    """What the keyring answers within the time it has. Raises Unusable."""
    answers: list[str | None] = []
    worker = Worker("keyring", lambda: answers.append(call())).start()
    if not worker.join(SECONDS):
        raise Unusable(f"it did not answer within {SECONDS:g} seconds")
    if worker.error is not None:  # whatever a backend raises: it is not there for us
        first = str(worker.error).split(". ")[0].strip().rstrip(".")
        raise Unusable(first or type(worker.error).__name__) from None
    return answers[0]


def _no_keyring(error: Unusable) -> NoReturn:
    raise StorageError(
        f'memory.key is "keyring", but the system has no keyring to rely on ({error}); set one up, '
        'or set memory.key to "file".'
    ) from None


def _refuse(folder: Path, what: str) -> NoReturn:
    raise StorageError(
        f"{folder}: the key of this memory {what}; put it back from a backup, or move "
        f"{folder.parent} away to start anew, or use --data DIR."
    ) from None
