"""Gives the model instructions with the files that they are for: AGENTS.md of folders in the project, and rules.

Those that the user trusts come with the conversation; others are read when the model works in their folder, and inform.

They follow the result of the tool that reads or changes a file, so that the prompt and its cache stay as they are. What
the conversation has is not given again: its messages tell, also after a resume, a compaction or a way back.
"""

import posixpath
from collections.abc import Callable, Sequence

import msgspec

from kaa.builtin.prompt import opening_tag, quoted
from kaa.core.messages import AssistantMessage, Message, TextContent, ToolCall, ToolResultMessage
from kaa.core.tool import ToolResult
from kaa.ext.api import ContextFile
from kaa.shell.project_files import MAX_UNTRUSTED_BYTES, Texts
from kaa.shell.trust.instructions import CONTEXT_NAMES, LOCAL_NAME, text_in
from kaa.shell.trust.nested import is_foreign
from kaa.workspace.protocol import Workspace

_MAX_LEVELS = 32
_MAX_CHARACTERS = 64 * 1024  # with one result; what is left comes with the next one


class NestedInstructions:
    """Those of one conversation or agent.

    Args:
        files: gives the files that the model gets, with their rules.
        notify: told, in a sentence, what is not used.
    """

    def __init__(
        self,
        workspace: Workspace,
        files: Callable[[], Sequence[ContextFile]],
        messages: Callable[[], Sequence[Message]],
        notify: Callable[[str], None],
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._messages = messages
        self._notify = notify
        self._of_folders: dict[str, tuple[ContextFile, ...]] = {}
        self._under_way: set[str] = set()  # given with results of the reply `_replies`, which are no messages yet
        self._replies = 0

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult | None:
        """The result of a tool that works on a file, with what is new to the model; None if nothing is."""
        path = call.arguments.get("path")
        if result.is_error or not isinstance(path, str):
            return None
        root = self._workspace.root
        path = posixpath.normpath(posixpath.join(root, path))
        if not path.startswith(f"{root.rstrip('/')}/"):
            return None
        relative = posixpath.relpath(path, root)
        given = [file for file in self._files() if file.paths and file.path != path and _applies(file, relative)]
        known = {file.path for file in given}
        nested = [file for file in await self._above(relative) if file.path != path and file.path not in known]
        text = quoted(self._new([*nested, *given]))
        return None if text is None else msgspec.structs.replace(result, content=(*result.content, TextContent(text)))

    async def _above(self, path: str) -> list[ContextFile]:
        """The files in the folders of the project that a file is in, the most general first."""
        parts = path.split("/")[:-1][:_MAX_LEVELS]
        own = next((at for at, part in enumerate(parts) if is_foreign(part)), len(parts))
        folders = [posixpath.join(self._workspace.root, *parts[: at + 1]) for at in range(own)]
        if unknown := [folder for folder in folders if folder not in self._of_folders]:
            await self._read(unknown)
        return [file for folder in folders for file in self._of_folders[folder]]

    async def _read(self, folders: Sequence[str]) -> None:
        """Read the files of folders, in one request; which links they are is asked for those that exist."""
        names = (*CONTEXT_NAMES, LOCAL_NAME)
        paths = [posixpath.join(folder, name) for folder in folders for name in names]
        read = await self._workspace.read_existing(paths, MAX_UNTRUSTED_BYTES + 1)
        found = {path: text for path, data in read.items() if (text := text_in(data, MAX_UNTRUSTED_BYTES)).strip()}
        known = {file.text.strip() for file in self._files() if not file.paths}
        for folder in folders:
            used = [path for name in CONTEXT_NAMES if (path := posixpath.join(folder, name)) in found][:1]
            used += [path for path in [posixpath.join(folder, LOCAL_NAME)] if path in found]
            files = [file for path in used if (file := await self._file(path, found[path])) is not None]
            self._of_folders[folder] = tuple(file for file in files if file.text.strip() not in known)
            self._name_untrusted(self._of_folders[folder])

    def _name_untrusted(self, files: Sequence[ContextFile]) -> None:
        """Say that new files of a trusted project only inform; without trust, that is so for all."""
        given = {file.path for file in self._files() if file.trusted}
        if not any(path.startswith(f"{self._workspace.root.rstrip('/')}/") for path in given):
            return
        for path in (file.path for file in files if file.path not in given):
            self._notify(
                f"{' '.join(path.split())}: the model gets this as information, not as instructions, because you have"
                " not trusted this text. /trust in the terminal shows it and asks"
            )

    async def _file(self, path: str, data: bytes) -> ContextFile | None:
        """A file as information: nobody trusts it."""
        texts = Texts()
        info, folder = await self._workspace.stat(path), await self._workspace.stat(posixpath.dirname(path))
        text = None
        if b"\0" in data:
            texts.notices.append(f"{path} is not used: it is a binary file")
        elif info is None or folder is None or not info.real_path.startswith(f"{folder.real_path}/"):
            texts.notices.append(f"{path} is not used: it links to a file elsewhere")
        else:
            text = texts.read(path, data, MAX_UNTRUSTED_BYTES)
        for notice in texts.notices:
            self._notify(" ".join(notice.split()))
        return None if text is None or not text.strip() else ContextFile(path, text, trusted=False)

    def _new(self, files: Sequence[ContextFile]) -> list[ContextFile]:
        """Those that the model does not have, as many as there is room for."""
        if not files:
            return []
        messages = self._messages()
        replies = sum(isinstance(message, AssistantMessage) for message in messages)
        if replies != self._replies:
            self._under_way, self._replies = set(), replies
        had = [
            block.text
            for message in messages
            if isinstance(message, ToolResultMessage)
            for block in message.content
            if isinstance(block, TextContent)
        ]
        new: list[ContextFile] = []
        room = _MAX_CHARACTERS
        for file in files:
            tag = opening_tag(file)
            if tag in self._under_way or any(tag in text for text in had):
                continue
            room -= len(file.text)
            if room < 0:
                break
            self._under_way.add(tag)
            new.append(file)
        return new


def _applies(file: ContextFile, path: str) -> bool:
    from kaa.components.rule import matches  # lazy: few projects have rules

    return matches(file.paths, path)
