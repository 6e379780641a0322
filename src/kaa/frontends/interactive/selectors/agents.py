"""The agents of the conversation as a tree, which is kept up to date: to look at their work, steer and stop them."""

from collections.abc import Callable, Sequence

from kaa.builtin.amounts import shown_duration
from kaa.ext.agents import AgentStatus
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.footer import short_count
from kaa.frontends.interactive.transcript_viewer import TranscriptViewer
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.transcript import Transcript
from kaa.tui.components.text import truncated
from kaa.tui.components.tree import Tree, TreeActions, TreeNode
from kaa.tui.context import Context
from kaa.tui.events import Input
from kaa.tui.sanitize import squeezed
from kaa.tui.style import Span, paint

_FOLDING = TreeActions(fold_or_up="app.tree.foldOrUp", unfold_or_down="app.tree.unfoldOrDown")
_KEYS = (
    ("tui.select.confirm", "shows its work"),
    ("app.agents.steer", "tells it something"),
    ("app.agents.stop", "stops it"),
    ("tui.select.cancel", "closes"),
)
# How often what is shown is looked up anew.
_SECONDS = 1.0

_TOKENS = {"working": "accent", "done": "success"}
_WORKING = "working"


class AgentTree:
    """The tree, and below it the whole of what the selected agent is to do and does.

    Args:
        on_open: called with the one whose work is to be shown.
        on_steer: called with the one that is to be told something.
        on_cancel: called when the tree is to be closed.
    """

    def __init__(
        self,
        context: Context,
        agents: Sequence[AgentStatus],
        *,
        on_open: Callable[[AgentStatus], None],
        on_steer: Callable[[AgentStatus], None],
        on_stop: Callable[[AgentStatus], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._context = context
        self._on_steer, self._on_stop = on_steer, on_stop
        self._agents = {one.agent: one for one in agents}
        working = next((one.agent for one in reversed(agents) if one.state == _WORKING), None)
        self._tree = Tree(
            context,
            self._roots(),
            _FOLDING,
            on_select=lambda node: on_open(self._agents[node.id]),
            on_cancel=on_cancel,
            selected=working,
            max_rows=12,
        )
        self._lines: list[str] = []
        self._painted_for: tuple[object, ...] = ()

    def show(self, agents: Sequence[AgentStatus]) -> None:
        now = {one.agent: one for one in agents}
        if now != self._agents:
            self._agents = now
            self._tree.set_roots(self._roots())

    def render(self, width: int) -> list[str]:
        """The tree and what is said of the selected one."""
        rows = self._tree.render(width)
        painted_for = (width, self._context.palette.version, rows, self._selected)
        if painted_for != self._painted_for:
            self._painted_for = painted_for
            self._lines = [*rows, *self._about(width)]
        return self._lines

    def cursor(self) -> tuple[int, int] | None:
        return self._tree.cursor()

    def key(self, key: Input) -> bool:
        """Tell one something or stop it; all else is the tree's."""
        one = self._selected
        match self._context.keymap.first(key, "app.agents.steer", "app.agents.stop"):
            case "app.agents.steer" if one is not None:
                self._on_steer(one)
            case "app.agents.stop" if one is not None:
                self._on_stop(one)
            case _:
                return self._tree.key(key)
        return True

    @property
    def _selected(self) -> AgentStatus | None:
        node = self._tree.selected
        return None if node is None else self._agents[node.id]

    def _about(self, width: int) -> list[str]:
        if (one := self._selected) is None:
            return []
        texts = [f"Task: {squeezed(one.task)}", *([f"Now: {squeezed(one.doing)}"] if one.doing else [])]
        palette, glyphs = self._context.palette, self._context.glyphs
        return ["", *(paint(truncated(text, width, glyphs.ellipsis), palette["muted"]) for text in texts)]

    def _roots(self) -> list[TreeNode]:
        roots: list[TreeNode] = []
        below: dict[str, list[TreeNode]] = {}
        for one in self._agents.values():  # in the order in which they began, so that callers come first
            siblings = roots if one.parent is None else below.get(one.parent, roots)
            below[one.agent] = []
            siblings.append(TreeNode(one.agent, self._label(one), below[one.agent]))
        return roots

    def _label(self, one: AgentStatus) -> list[Span]:
        palette = self._context.palette
        duration = shown_duration(round(one.seconds * 1000))
        cost = f"${one.used.cost:.3f}" if one.used.cost else ""
        figures = " ".join(filter(None, (f"{short_count(one.used.tokens)} tokens", cost, duration)))
        return [
            (squeezed(one.agent), palette["text"]),
            (f" {one.state}", palette[_TOKENS.get(one.state, "warning")]),
            (f" {figures} ", palette["dim"]),
            (squeezed(one.doing or one.task), palette["muted"]),
        ]


class AgentsDialog:
    """Opens the tree and keeps it up to date."""

    def __init__(self, ui: UIContext, viewer: TranscriptViewer) -> None:
        self._ui = ui
        self._viewer = viewer
        self._open_dialog: DialogFrame | None = None

    def show(self, otherwise: Callable[[], None] | None = None) -> None:
        """Show the agents. `otherwise`: done instead if there are none, or nothing can be drawn."""

        def listed(agents: Sequence[AgentStatus]) -> None:
            if agents and not self._ui.main_view.view.linear:
                self._open(agents)
            elif otherwise is not None:
                otherwise()
            else:
                self._ui.say("no agent has worked for this conversation yet")

        self._ui.call(_agents, listed)

    def _open(self, agents: Sequence[AgentStatus]) -> None:
        if self._open_dialog is not None:
            return

        def close() -> None:
            self._open_dialog = None
            self._ui.lists.close(dialog)

        def follow() -> None:
            if self._open_dialog is dialog:
                self._ui.call(_agents, shown, lambda _: close())

        def shown(now: Sequence[AgentStatus]) -> None:
            tree.show(now)
            self._ui.refresh()
            self._ui.main_view.app.reactor.call_later(_SECONDS, follow)

        tree = AgentTree(
            self._ui.main_view.context,
            agents,
            on_open=self._look_at,
            on_steer=self._steer,
            on_stop=self._stop,
            on_cancel=close,
        )
        hint = self._ui.main_view.key_hint(_KEYS)
        self._open_dialog = dialog = self._ui.lists.show("Agents of this conversation", tree, hint)
        shown(agents)

    def _look_at(self, one: AgentStatus) -> None:
        async def entries(engine: Engine) -> Transcript:
            return engine.conversation.agents.entries(one.agent)

        self._viewer.follow(entries, squeezed(f"{one.agent}: {one.task}"))

    def _steer(self, one: AgentStatus) -> None:
        def tell(text: str) -> None:
            async def steer(engine: Engine) -> None:
                engine.conversation.agents.steer(one.agent, text)

            if text.strip():
                self._ui.call(steer, lambda _: self._ui.say(f"{one.agent} gets it after its present calls", "success"))

        title, hint = f"Tell {squeezed(one.agent)}", "Enter sends it, Esc goes back"
        self._ui.lists.enter(title, "What the agent is to know or do:", "", hint, tell)

    def _stop(self, one: AgentStatus) -> None:
        async def stop(engine: Engine) -> None:
            engine.conversation.agents.stop(one.agent)

        self._ui.call(stop, lambda _: self._ui.say(f"{one.agent} was stopped", "success"))


async def _agents(engine: Engine) -> Sequence[AgentStatus]:
    return engine.conversation.agents.list()
