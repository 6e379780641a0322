"""The folder of a plugin, in memory."""

import json
from collections.abc import Mapping


class Files:
    """A listing of texts, of objects that become JSON, and of None for links out of the root."""

    def __init__(self, files: Mapping[str, object]) -> None:
        self._files = {path: _encoded(content) for path, content in files.items()}

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def files(self, folder: str) -> list[str]:
        return sorted(path for path in self._files if not folder or path.startswith(f"{folder}/"))


def _encoded(content: object) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()
