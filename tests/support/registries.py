"""A registry with extensions of its own, and an extension that a test writes as it goes."""

from collections.abc import Callable

from kaa.ext.api import Extension, ExtensionAPI
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.context import ConversationContext
from kaa.ext.extensions import Extensions
from kaa.ext.registry import Registry
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import Workspace
from tests.support.extension_ids import named


def _fail(message: str) -> None:
    raise AssertionError(message)


class LoadedRegistry(Registry):
    """All extensions of a process, as one conversation sees them.

    Attributes:
        extensions: of the process.
        api: registers for an extension called `mine`.
    """

    def __init__(
        self, report: Callable[[str], None] = _fail, workspace: Workspace | None = None, asker: Asker = NOBODY
    ) -> None:
        self.extensions = Extensions(report)
        context = ConversationContext(workspace or MemoryWorkspace(), asker)
        super().__init__(self.extensions, context, lambda failure: report(str(failure)))
        self.api: ExtensionAPI
        self.load("mine", self._take)

    def load(self, name: str, extension: Extension, *, built_in: bool = False) -> None:
        """Load an extension."""
        self.extensions.load(named(name), extension, built_in=built_in)

    def _take(self, api: ExtensionAPI) -> None:
        self.api = api
