"""Choosing which tool calls need an approval."""

from collections.abc import Callable, Mapping

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.selectors.lists import ListDialogs
from kaa.tui.components.select_list import SelectItem


class ConversationSelectors:
    """The list of approval modes.

    Args:
        main_view: says what was chosen.
        core: has them, and does what was chosen.
        lists: opens the lists.
        on_failure: shows what went wrong.
    """

    def __init__(
        self,
        main_view: MainView,
        core: CoreThread[Engine],
        lists: ListDialogs,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._main_view = main_view
        self._core = core
        self._lists = lists
        self._on_failure = on_failure

    def approvals(self) -> None:
        """Choose which tool calls need an approval."""

        async def found(engine: Engine) -> tuple[str, Mapping[str, str]]:
            approvals = engine.conversation.approvals
            return approvals.policy, approvals.policies

        self._core.call(found, lambda found: self._open_approvals(*found), self._on_failure)

    def _open_approvals(self, current: str, policies: Mapping[str, str]) -> None:
        items = [SelectItem(name, name, meaning, name == current) for name, meaning in policies.items()]
        self._lists.choose("Approvals", items, self._choose)

    def _choose(self, policy: str) -> None:
        async def change(engine: Engine) -> str:
            chosen = engine.conversation.approvals.choose(policy)
            engine.refresh_status()
            return chosen

        self._core.call(change, lambda now: self._main_view.say(f"approvals: {now}", "success"), self._on_failure)
