"""Everything that can go wrong, drawn as one tree.

AssistantError            one clear sentence for the person, exit code 2
├── ConfigError           a setting is unknown, of the wrong type or out of range
├── InputError            a file or an argument cannot be used
│   └── AudioFormatError  a file is not audio this program can read
├── DeviceError           a microphone or speaker is missing or refused
├── ModelError            weights are missing, corrupt or refused by their engine
│   └── DownloadError     weights could not be fetched
├── StorageError          the database or disk refuses
│   ├── DataInUse         another instance holds the data folder
│   └── StaleWrite        a write was based on an older version of the state
└── Cancelled             work was made old on purpose; not a fault
"""


class AssistantError(Exception):
    """The message is one sentence a person can act on: what, where, what to do."""

    exit_code = 2


class ConfigError(AssistantError):
    """A setting is unknown, of the wrong type or out of range."""


class InputError(AssistantError):
    """A file or an argument cannot be used."""


class AudioFormatError(InputError):
    """A file is not audio this program can read."""


class DeviceError(AssistantError):
    """A microphone or speaker is missing or refused."""


class ModelError(AssistantError):
    """Weights are missing, corrupt or refused by their engine."""


class DownloadError(ModelError):
    """Weights could not be fetched."""


class StorageError(AssistantError):
    """The database or the disk refuses."""


class DataInUse(StorageError):
    """Another instance holds the data folder."""


class StaleWrite(StorageError):
    """A write was based on an older version of the state; read again and retry."""


class Cancelled(AssistantError):
    """Work was made old on purpose; nobody needs to be told."""
