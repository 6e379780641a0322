"""What a workspace is without its sandbox: views of the same directory, made when they are needed."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kaa.host.programs import host_programs

if TYPE_CHECKING:
    from kaa.workspace.local import LocalWorkspace
    from kaa.workspace.sandbox.sandbox import Sandbox


class OutsideViews:
    """The views of one workspace, and of those that are narrower.

    Args:
        new_view: makes a view in such a sandbox, with variables.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        new_sandbox: "Callable[[], Sandbox]",
        new_view: "Callable[[Sandbox, Mapping[str, str]], LocalWorkspace]",
    ) -> None:
        self._environment = environment
        self._new_sandbox = new_sandbox
        self._new_view = new_view
        self._unconfined: LocalWorkspace | None = None
        self._unattended: tuple[dict[str, str], LocalWorkspace] | None = None  # with its variables
        self._former: list[LocalWorkspace] = []

    @property
    def unconfined(self) -> "LocalWorkspace":
        """With the user's programs."""
        if self._unconfined is None:
            sandbox = self._new_sandbox()
            sandbox.start()
            self._unconfined = self._new_view(sandbox, self._environment)
        return self._unconfined

    @property
    def unattended(self) -> "LocalWorkspace":
        """With programs that commands cannot write."""
        environment = host_programs(self._environment).environment()
        if self._unattended is None or self._unattended[0] != environment:  # more may be written by now
            if self._unattended is not None:
                self._former.append(self._unattended[1])
            self._unattended = environment, self._new_view(self.unconfined.sandbox, environment)
        return self._unattended[1]

    async def close(self) -> None:
        for view in (*self._former, *([self._unattended[1]] if self._unattended else ())):
            await view.close_view()
        if self._unconfined is not None:
            await self._unconfined.close()
