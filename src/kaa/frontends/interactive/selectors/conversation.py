"""Choosing who is asked before what."""

from collections.abc import Callable
from typing import get_args

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.selectors.lists import Lists
from kaa.shell.settings import ApprovalPolicy
from kaa.tui.components.select_list import SelectItem

_POLICIES = {
    "ask": "reads run, the rest asks unless a rule allows it",
    "auto": "what the sandbox confines runs, the rest asks",
    "never": "nobody is asked: what would need a yes is denied",
    "step": "every call asks",
}


class ConversationSelectors:
    """The list of policies.

    Args:
        desk: says what was chosen.
        core: has them, and does what was chosen.
        lists: opens the lists.
        on_failure: shows what went wrong.
    """

    def __init__(
        self, desk: Desk, core: CoreThread[Engine], lists: Lists, on_failure: Callable[[BaseException], None]
    ) -> None:
        self._desk = desk
        self._core = core
        self._lists = lists
        self._on_failure = on_failure

    def approvals(self, policy: str = "") -> None:
        """Choose who is asked before what."""

        async def current(engine: Engine) -> str:
            return engine.conversation.approvals

        if policy:
            self._set_approvals(policy)
        else:
            self._core.call(current, self._open_approvals, self._on_failure)

    def _open_approvals(self, current: str) -> None:
        items = [SelectItem(name, name, meaning, name == current) for name, meaning in _POLICIES.items()]
        self._lists.choose("Approvals", items, self._set_approvals)

    def _set_approvals(self, wanted: str) -> None:
        policies: tuple[ApprovalPolicy, ...] = get_args(ApprovalPolicy)
        policy = next((policy for policy in policies if policy == wanted), None)
        if policy is None:
            self._desk.say(f"there is no policy {wanted!r}: there are {', '.join(policies)}", "warning")
            return

        async def change(engine: Engine) -> None:
            engine.conversation.set_approvals(policy)
            engine.refresh_status()

        self._core.call(change, lambda _: self._desk.say(f"approvals: {policy}", "success"), self._on_failure)
