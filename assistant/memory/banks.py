"""One encrypted database for each person, found by a name in any spelling (C1).

A bank never sees another one: each is a file of its own. An unknown person is a guest, whose bank
lives in memory and is gone with the last connection. Knows nothing of what is in a bank.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
import uuid
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout
from sqlite_utils import Database

from assistant.errors import ConfigError, DataInUse, StorageError
from assistant.memory import db as tables
from assistant.memory.takeover import remove, seal, take_over_memory
from assistant.memory.vault import open_vault
from assistant.sealed import SqlError, connect, is_plain
from assistant.workers import Lock

MAX_BYTES = 120
"""of an id in UTF-8: a file's name may have 255, the database's side files among them"""
OFFICE = "office.db"
REFUSED: tuple[type[Exception], ...] = (*SqlError, OSError)
OLD = "assistant.db"
"""all banks together and unencrypted, as versions before 0.3 kept them"""

_PHONE = re.compile(r"(?:tel:)?[ (]*(\+|00)?([\d ()./-]+)")
_TRUNK = re.compile(r"\(0\)")
"""in "+49 (0)171": dialled only within the country"""
_APART = "'\"’‘‛ʼ`“”„«»‹›,·・‧、()[]{}"
"""one person's name is written with and without them: they part words like a space"""
_AROUND = " -.,;:!?…。！？、"
"""nobody's name: what writing and recognition put around one"""
_KEPT = "@+_"
"""part of an account's name, and of a file's name on every system"""
_DEVICES = {"con", "prn", "aux", "nul", *(f"{n}{d}" for n in ("com", "lpt") for d in range(10))}
"""no file's name under Windows, whatever follows the first dot"""


def bank_id(name: str) -> str:
    """A stable id, fit for a file's name: of an id it is that id. ConfigError for no name at all.

    "Alex", " ALEX " → alex · "+49 171 234-567", "0049171234567" → tel-49171234567 ·
    "(0171) 234567" → tel-0171234567 · "Alex@Example.com" → alex@example.com. What sets accounts
    apart (@ . + _) is kept; any other sign that does so leaves a hash.
    """
    folded = _folded(name)
    if phone := _phone(folded):
        return phone
    words, odd = _words(folded)
    if not any(unicodedata.category(char)[0] in "LN" for char in words):
        raise ConfigError(f"memory.bank {name!r} holds no letter or digit; give the bank a name.")
    if words.split(".")[0] in _DEVICES:
        words, odd = words.replace(".", "-"), True
    if odd:
        words = f"{words}-{_hash(folded)}"
    if len(words.encode()) > MAX_BYTES:
        start = words.encode()[: MAX_BYTES - 20].decode(errors="ignore").rstrip("-.")
        words = f"{start}-{_hash(words)}"
    return words


def _folded(name: str) -> str:
    """Unicode's NFKC_Casefold, dashes and white space in one form each, nothing around it."""
    text = "".join(char for char in name if unicodedata.category(char) != "Cf")
    for _ in range(3):  # until nothing changes: folding can undo the normal form
        text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join("-" if unicodedata.category(char) == "Pd" else char for char in text)
    return " ".join(unicodedata.normalize("NFC", text).split())


def _phone(text: str) -> str:
    """The id of a phone number, "" for anything else (ITU-T E.164: at most 15 digits)."""
    text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    match = _PHONE.fullmatch(text.strip(_AROUND))
    if match is None:
        return ""
    abroad, rest = match.groups()
    digits = re.sub(r"\D", "", _TRUNK.sub("", rest) if abroad else rest)
    if not 7 <= len(digits) <= 15 or (abroad and digits.startswith("0")):
        return ""
    # Without its country a number that could be one with it is kept apart.
    return f"tel-{digits}" if abroad or digits.startswith("0") else f"tel-local-{digits}"


def _words(text: str) -> tuple[str, bool]:
    """The words joined by hyphens, and whether a sign was lost that sets names apart."""
    text = "".join(" " if char in _APART else char for char in text).strip(_AROUND)
    kept, odd = [], False
    for at, char in enumerate(text):
        if _is_kept(char) or (char == "." and _is_kept(text[at - 1]) and _is_kept(text[at + 1])):
            kept.append(char)
        else:
            odd = odd or char not in " -."
            kept.append(" ")
    return "-".join("".join(kept).split()), odd


def _is_kept(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM" or char in _KEPT


def _hash(text: str) -> str:
    return hashlib.blake2s(text.encode(errors="surrogatepass"), digest_size=5).hexdigest()


def old_bank_id(name: str) -> str:
    """The id that versions before 0.3 gave a name."""
    return re.sub(r"\W+", "-", unicodedata.normalize("NFKC", name).casefold()).strip("-_")


class Banks:
    """The banks of one data folder. Nothing is made before the first one is opened."""

    def __init__(
        self,
        folder: Path,
        key: str = "auto",
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """folder: the data folder; key: memory.key; warn: gets a sentence for the person."""
        self.home = folder
        self.folder = folder / "banks"
        self._wanted = key
        self._warn = warn
        self._key: bytes | None = None
        self._lock = Lock()
        self._guest = ""

    @property
    def key(self) -> bytes:
        """The folder's key, made when there is none yet. Raises StorageError."""
        with self._lock:
            if self._key is None:
                self._key = open_vault(self.folder, self._wanted, self._warn, used=self._used())
            return self._key

    def _used(self) -> bool:
        office = self.home / OFFICE
        sealed = office.is_file() and office.stat().st_size > 0 and not is_plain(office)
        return sealed or bool(self.names())

    def path(self, bank: str) -> Path:
        """Where a person's bank is, by id or name; it need not be there."""
        return self.folder / f"{bank_id(bank)}.db"

    def exists(self, bank: str) -> bool:
        return self.path(bank).is_file()

    def names(self) -> list[str]:
        """The ids of all banks, sorted."""
        # Some file systems give names back in another normal form.
        return sorted(unicodedata.normalize("NFC", p.stem) for p in self.folder.glob("*.db"))

    def connect(self, bank: str) -> Database:
        """Open a bank for writing; it is made when it is not there. Raises StorageError."""
        return tables.connect(self.path(bank), self.key)

    def read(self, bank: str) -> Database:
        """Open a bank that nothing can be written to, beside its writer. Raises StorageError."""
        path = self.path(bank)
        if not path.is_file():
            known = ", ".join(self.names()) or "nobody"
            raise StorageError(f"{path}: nothing is remembered of {bank_id(bank)}; known: {known}.")
        return connect(path, self.key, read_only=True)

    def guest(self) -> Database:
        """A new, empty bank in memory, gone with its last connection."""
        self._guest = f"file:/guest-{uuid.uuid4().hex}?vfs=memdb"
        return tables.connect(self._guest, None)

    def guest_reader(self) -> Database:
        """A second connection to the newest guest bank. Raises StorageError."""
        if not self._guest:
            raise StorageError("There is no guest whose memory could be read.")
        return connect(self._guest, None, read_only=True)

    def delete(self, bank: str) -> None:
        """Delete a person's bank, to be called when it is closed; nothing of it is left.

        Raises StorageError.
        """
        remove(self.path(bank))

    def claim(self) -> FileLock:
        """Keep the data folder for this process until the lock is released.

        Raises DataInUse, StorageError.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            if os.name == "posix":
                self.home.chmod(0o700)
            lock = FileLock(self.home / "lock", timeout=0, thread_local=False)
            lock.acquire()
        except Timeout:
            raise DataInUse(
                f"{self.home}: another assistant is already running on this data; "
                "end it first, or give this one its own folder with --data DIR."
            ) from None
        except OSError as error:
            raise StorageError(
                f"{self.home}: the data folder cannot be used ({error.strerror or error}); "
                "choose another with --data DIR."
            ) from None
        return lock

    def take_over(self, name: str = "") -> None:
        """Encrypt what an earlier version left plain. The folder must be claimed.

        name: a person as the settings spell it, whose old id does not say all
        Raises StorageError.
        """
        old, office = self.home / OLD, self.home / OFFICE
        known = {old_bank_id(name): bank_id(name)} if name else {}
        try:
            take_over_memory(old, lambda bank: known.get(bank) or bank_id(bank), self.connect)
            if is_plain(office):
                seal(office, self.key)
        except REFUSED as error:
            raise StorageError(
                f"{self.home}: the memory of an earlier version could not be encrypted ({error}); "
                "nothing was lost: free some disk space, end other programs that use the folder, "
                "and start again, or use --data DIR."
            ) from None
