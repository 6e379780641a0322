"""What of the user's own files counts as the user's although it lies in a project, whose commands may have written it.

Many keep skills, hooks and extensions in repositories, and work on them there with kaa. Such a file has the user's
rights only as the user approved it: the record is that of trust in projects, by content.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.host.linked_settings import written_in
from kaa.shell.home import Home

if TYPE_CHECKING:
    from kaa.shell.trust.configuration import ProjectConfiguration
    from kaa.shell.trust.store import TrustStore

_PARTS = "hooks and allowed-tools in projects"  # in place of the directory of a project
_TITLE = "Run these hooks with your rights?"
_TITLE_OF_SCRIPTS = "Are these hooks yours?"
_TITLE_OF_GRANTS = "Use these hooks and `allowed-tools` as yours?"
_WITHOUT = (
    "Their files lie in a project, so commands of the model could have changed them. Without a yes, the hooks run in"
    " the sandbox, and `allowed-tools` grant nothing."
)


class OwnPart(NamedTuple):
    """What a file of the user's does besides instructing the model.

    Attributes:
        path: of the file, absolute.
        data: the part of it that counts: what may change besides is not asked about.
        lines: what it does, for people.
        has_rights: whether any of that is more than the project could do.
    """

    path: str
    data: bytes
    lines: tuple[str, ...]
    has_rights: bool


class OwnParts:
    """The decisions about hooks and grants in such files."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._declined: set[str] = set()  # digests, until kaa ends
        self._asking = asyncio.Lock()

    async def foreign(self, parts: Sequence[OwnPart], asker: Asker, notify: Callable[[str], None]) -> frozenset[str]:
        """The paths of the files whose parts get no rights of the user's. The person is asked about those with some.

        Args:
            notify: told, in a sentence, what was not approved.
        """
        inside = {part: project for part in parts if (project := written_in(part.path, self._home.path))}
        if not inside:
            return frozenset()
        # Lazy: few users have such files.
        from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration, TrustError
        from kaa.shell.trust.store import TrustStore

        files = tuple(ConfigurationFile(part.path, "file", part.data) for part in inside)
        configuration, store = ProjectConfiguration(_PARTS, files), TrustStore(self._home)
        async with self._asking:
            try:
                approved = store.trusted_files(configuration)
                new = {part: project for part, project in inside.items() if part.path not in approved}
                asked = {part: project for part, project in new.items() if part.has_rights}
                if asked and await self._approves(asked, configuration, store, asker):
                    store.trust(configuration)
                    return frozenset()
            except TrustError as error:
                notify(str(error))
                return frozenset(part.path for part in inside)
        if asked:
            part, project = next(iter(asked.items()))
            more = f", and in {len(asked) - 1} more of your files," if len(asked) > 1 else ""
            notify(
                f"Hooks in {part.path}{more} run in the sandbox, and `allowed-tools` there grant nothing: commands"
                f" could write them in {project}. kaa asks in the terminal whether to use them as yours"
            )
        return frozenset(part.path for part in new)

    async def _approves(
        self, asked: "dict[OwnPart, str]", configuration: "ProjectConfiguration", store: "TrustStore", asker: Asker
    ) -> bool:
        from kaa.shell.trust.store import Changed  # lazy, as above

        if not asker.can_ask or configuration.digest in self._declined:
            return False
        lines, diff = [_WITHOUT], ""
        for part, project in asked.items():
            lines += [f"{part.path}, in the project {project}:", *(f"- {one}" for one in part.lines)]
        grants = any(line.startswith("allowed-tools:") for part in asked for line in part.lines)
        has_rights = any("with your rights" in line for part in asked for line in part.lines)
        title = _TITLE_OF_GRANTS if grants else _TITLE if has_rights else _TITLE_OF_SCRIPTS
        state = store.state(configuration)
        if isinstance(state, Changed) and (state.difference.changed or state.difference.removed):
            lines.append("What changed since you said yes:")
            diff = state.difference.diff
        try:
            approves = await confirm(asker, title, "\n".join(lines), only_person=True, diff=diff)
        except NobodyToAskError:
            return False
        if not approves:
            self._declined.add(configuration.digest)
        return approves
