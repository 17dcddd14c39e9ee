"""Where the key of a data folder is kept, and what is said when it is not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from assistant.errors import StorageError
from assistant.memory import vault
from assistant.memory.banks import Banks
from assistant.memory.vault import SERVICE, open_vault
from assistant.workers import CancelToken


class Entries(KeyringBackend):
    """A keyring that keeps its entries in a dictionary."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.found.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.found[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.found[service, username]


class Forgetful(Entries):
    """Takes everything and gives nothing back."""

    def get_password(self, service: str, username: str) -> str | None:
        return None


class Plain(Entries):
    """One that keeps everything readable."""

    priority = 0.5  # type: ignore[assignment]


class Asking(Entries):
    """Waits for a person who does not come."""

    def __init__(self, gone: CancelToken) -> None:
        super().__init__()
        self._gone = gone

    def get_password(self, service: str, username: str) -> str | None:
        self._gone.wait(10)
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        self._gone.wait(10)


Use = Callable[[KeyringBackend], None]


@pytest.fixture
def use() -> Iterator[Use]:
    """Make this backend the system's keyring until the test ends."""
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


def opened(folder: Path, wanted: str = "auto", *, used: bool = False) -> tuple[bytes, list[str]]:
    warnings: list[str] = []
    return open_vault(folder / "banks", wanted, warnings.append, used=used), warnings


def record(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "banks" / "vault.json").read_text()))


def test_m12_the_key_is_kept_in_the_keyring_and_found_again(tmp_path: Path, use: Use) -> None:
    backend = Entries()
    use(backend)
    key, warnings = opened(tmp_path)
    assert len(key) == 32
    assert warnings == []
    assert record(tmp_path)["kept"] == "keyring"
    assert backend.found == {(SERVICE, record(tmp_path)["id"]): key.hex()}
    assert not (tmp_path / "banks" / "key").exists()
    assert opened(tmp_path, used=True) == (key, [])


@pytest.mark.parametrize("backend", [None, Forgetful(), Plain()])
def test_m12_without_a_keyring_to_rely_on_a_file_is_used_and_said_once(
    tmp_path: Path, use: Use, backend: KeyringBackend | None
) -> None:
    if backend is not None:
        use(backend)
    key, warnings = opened(tmp_path)
    (text,) = warnings
    assert str(tmp_path / "banks" / "key") in text
    assert text.count(". ") == 0, "one sentence"
    assert record(tmp_path)["kept"] == "file"
    assert opened(tmp_path, used=True) == (key, [])


def test_m12_a_file_that_was_asked_for_is_no_warning(tmp_path: Path, use: Use) -> None:
    backend = Entries()
    use(backend)
    key, warnings = opened(tmp_path, "file")
    assert warnings == []
    assert backend.found == {}
    assert opened(tmp_path, "file", used=True)[0] == key


@pytest.mark.parametrize("backend", [None, Forgetful()])
def test_m12_a_keyring_that_was_asked_for_and_is_none_is_refused(
    tmp_path: Path, use: Use, backend: KeyringBackend | None
) -> None:
    if backend is not None:
        use(backend)
    with pytest.raises(StorageError, match=r'no keyring to rely on.*memory\.key to "file"'):
        opened(tmp_path, "keyring")
    assert not (tmp_path / "banks" / "vault.json").exists()
    assert not (tmp_path / "banks" / "key").exists()


def test_c4_a_keyring_that_asks_does_not_hang_the_program(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault, "SECONDS", 0.05)
    gone = CancelToken()
    use(Asking(gone))
    key, warnings = opened(tmp_path)
    assert "did not answer" in warnings[0]
    assert opened(tmp_path, used=True)[0] == key  # in the file: nobody is asked
    gone.cancel()


def test_m12_a_keyring_that_no_longer_answers_makes_no_new_key(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Entries())
    opened(tmp_path)
    before = record(tmp_path)
    monkeypatch.setattr(vault, "SECONDS", 0.05)
    gone = CancelToken()
    use(Asking(gone))
    with pytest.raises(StorageError, match=r"did not answer.*unlock the keyring"):
        opened(tmp_path, used=True)
    gone.cancel()
    assert record(tmp_path) == before


def test_m12_an_entry_that_is_gone_or_wrong_makes_no_new_key(tmp_path: Path, use: Use) -> None:
    backend = Entries()
    use(backend)
    opened(tmp_path)
    (place,) = backend.found
    backend.found[place] = "ab" * 31
    with pytest.raises(StorageError, match=r"is damaged.*put it back"):
        opened(tmp_path, used=True)
    backend.found.clear()
    with pytest.raises(StorageError, match=r"is gone.*keepsake / .*put it back.*--data DIR"):
        opened(tmp_path)
    assert backend.found == {}


@pytest.mark.parametrize("content", ["", "ab" * 31, "ab" * 33, "zz" * 32, "é" * 64])
def test_m12_a_key_file_that_holds_no_key_is_said_so(tmp_path: Path, content: str) -> None:
    opened(tmp_path, "file")
    path = tmp_path / "banks" / "key"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StorageError, match=r"64 hexadecimal digits.*--data DIR"):
        opened(tmp_path, "file", used=True)
    assert path.read_text(encoding="utf-8") == content
    path.unlink()
    with pytest.raises(StorageError, match="is gone"):
        opened(tmp_path, "file")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "1"}', '{"id": "1", "kept": "x"}'])
def test_m12_a_vault_that_cannot_be_read_is_said_so(tmp_path: Path, content: str) -> None:
    opened(tmp_path, "file")
    (tmp_path / "banks" / "vault.json").write_text(content)
    with pytest.raises(StorageError, match=r"vault\.json is damaged"):
        opened(tmp_path, "file", used=True)


def test_m12_a_vault_that_is_gone_makes_no_new_key_over_what_is_encrypted(
    tmp_path: Path, use: Use
) -> None:
    use(Entries())
    banks = Banks(tmp_path)
    banks.connect("alex").close()
    (tmp_path / "banks" / "vault.json").unlink()
    with pytest.raises(StorageError, match=r"vault\.json is missing"):
        Banks(tmp_path).connect("alex")


def test_m12_a_first_start_that_was_cut_off_goes_on_with_its_key(tmp_path: Path) -> None:
    key, _ = opened(tmp_path, "file")
    (tmp_path / "banks" / "vault.json").unlink()
    assert opened(tmp_path, "file", used=True) == (key, [])
    assert record(tmp_path)["kept"] == "file"


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_m12_key_and_vault_are_for_their_owner_only(tmp_path: Path) -> None:
    key, _ = opened(tmp_path, "file")
    folder = tmp_path / "banks"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "vault.json").stat().st_mode & 0o777 == 0o600
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    (folder / "key").chmod(0o644)
    folder.chmod(0o755)
    assert opened(tmp_path, "file", used=True)[0] == key
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_m12_the_key_moves_when_the_setting_does(tmp_path: Path, use: Use) -> None:
    backend = Entries()
    use(backend)
    key, _ = opened(tmp_path, "file")
    assert opened(tmp_path, "keyring", used=True) == (key, [])
    assert not (tmp_path / "banks" / "key").exists()
    assert list(backend.found.values()) == [key.hex()]
    assert opened(tmp_path, "auto", used=True) == (key, [])
    assert opened(tmp_path, "file", used=True) == (key, [])
    assert backend.found == {}
    assert record(tmp_path)["kept"] == "file"


def test_m12_a_move_to_the_keyring_that_was_cut_off_leaves_no_key_behind(
    tmp_path: Path, use: Use
) -> None:
    use(Entries())
    key, _ = opened(tmp_path, "keyring")
    (tmp_path / "banks" / "key").write_text(key.hex())
    assert opened(tmp_path, "keyring", used=True)[0] == key
    assert not (tmp_path / "banks" / "key").exists()


def test_m12_a_move_to_a_keyring_that_is_none_leaves_the_key_where_it_is(tmp_path: Path) -> None:
    key, _ = opened(tmp_path, "file")
    with pytest.raises(StorageError, match="no keyring to rely on"):
        opened(tmp_path, "keyring", used=True)
    assert opened(tmp_path, "file", used=True)[0] == key


def test_m12_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "banks").write_text("a file")
    with pytest.raises(StorageError, match=r"cannot be read or written.*--data DIR"):
        opened(tmp_path, "file")
