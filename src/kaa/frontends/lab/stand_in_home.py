"""The home of kaa in a run: the models, keys and few choices of the user, the settings of the variant, nothing else."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kaa.core.messages import Json
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError, read_values

# What the user chose about models and the way to them; everything else would differ between users.
_KEPT = ("defaultProvider", "defaultModel", "defaultThinkingLevel", "httpProxy", "httpIdleTimeoutMs", "retry")
_MODELS, _KEYS = "models.json", "auth.json"


def furnish(folder: Path, user: Home, settings: Mapping[str, Json], hidden: tuple[Path, ...]) -> None:
    """Make a home.

    Logins stay where they are: two copies of one would end each other when they renew it.

    Args:
        folder: the home to be; it exists.
        user: the user's own.
        settings: of the variant.
        hidden: what the agent must not see.

    Raises:
        SettingsError: the user's files cannot be used.
        OSError: the home cannot be written.
    """
    chosen = {name: value for name, value in read_values(user.settings).items() if name in _KEPT}
    merged = {**chosen, **settings}
    sandbox = merged.get("sandbox", {})
    merged["sandbox"] = {**sandbox, "hidden": [*sandbox.get("hidden", []), *map(str, hidden)]}
    _write(folder / "settings.json", msgspec.json.encode(merged))
    if (user.path / _MODELS).is_file():
        _write(folder / _MODELS, (user.path / _MODELS).read_bytes())
    if keys := _keys(user.path / _KEYS):
        _write(folder / _KEYS, msgspec.json.encode(keys))


def _keys(path: Path) -> dict[str, Json]:
    try:
        entries = msgspec.json.decode(PrivateFile(path).read() or b"{}", type=dict[str, Json])
    except (PrivateFileError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}") from error
    return {name: one for name, one in entries.items() if isinstance(one, dict) and one.get("type") == "api_key"}


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
