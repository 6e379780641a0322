"""Lists to choose from, in the editor's place: models, thinking levels, themes, settings, messages to go back to."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

from kaa.core.messages import UserMessage
from kaa.core.provider import Model, ThinkingLevel
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.footer import short
from kaa.frontends.interactive.look import Look
from kaa.frontends.interactive.preferences import SETTINGS, Preferences, Setting
from kaa.shell.models import ModelState
from kaa.shell.rewinding import RewindPoint
from kaa.shell.settings import ApprovalPolicy
from kaa.shell.settings_file import SettingsFile
from kaa.tui.component import Component
from kaa.tui.components.check_list import CheckActions, CheckList
from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.components.settings_list import SettingRow, SettingsList
from kaa.tui.fuzzy import rank

_MODEL_ACTIONS = CheckActions(
    toggle="app.models.toggle",
    up="app.models.reorderUp",
    down="app.models.reorderDown",
    all="app.models.enableAll",
    none="app.models.clearAll",
    group="app.models.toggleProvider",
    save="app.models.save",
)

Failed = Callable[[BaseException], None]


class Selectors:
    """Opens the lists.

    Args:
        desk: where they are opened.
        core: does what was chosen.
        look: changes themes.
        on_failure: shows what went wrong.
        on_rewound: the conversation goes on from before this message.
        on_preferences: the user's choices about what is shown have changed.
    """

    def __init__(
        self,
        desk: Desk,
        core: CoreThread[Engine],
        look: Look,
        on_failure: Failed,
        on_rewound: Callable[[UserMessage], None],
        on_preferences: Callable[[], None],
    ) -> None:
        self._desk = desk
        self._core = core
        self._look = look
        self._on_failure = on_failure
        self._on_rewound = on_rewound
        self._on_preferences = on_preferences

    def model(self, query: str = "") -> None:
        """Choose the model; a query that means one model chooses it at once."""
        if query:
            self._choose_model(query)
            return

        async def models(engine: Engine) -> tuple[Sequence[Model], ModelState]:
            models = engine.conversation.models
            await models.reload()
            return models.available(), models.current

        self._core.call(models, lambda found: self._open_models(*found), self._on_failure)

    def scoped_models(self) -> None:
        """Choose which models to cycle through."""

        async def models(engine: Engine) -> tuple[Sequence[Model], list[str]]:
            models = engine.conversation.models
            scoped = models.scoped()
            return models.available(), [_name(one.model) for one in scoped]

        self._core.call(models, lambda found: self._open_scope(*found), self._on_failure)

    def thinking(self, level: str = "") -> None:
        """Choose how hard the model thinks."""

        async def current(engine: Engine) -> ModelState:
            return engine.conversation.models.current

        if level:
            self._set_thinking(level)
        else:
            self._core.call(current, self._open_thinking, self._on_failure)

    def approvals(self, policy: str = "") -> None:
        """Choose who is asked before what."""

        async def current(engine: Engine) -> str:
            return engine.conversation.approvals

        if policy:
            self._set_approvals(policy)
        else:
            self._core.call(current, self._open_approvals, self._on_failure)

    def theme(self, name: str = "") -> None:
        """Choose the theme; the one with the pointer is shown."""
        if name:
            self._keep_preference("theme", name)
            return
        before = self._desk.preferences.theme
        current = self._desk.context.palette.theme.name
        items = [SelectItem("", "automatic", "dark or light, as the terminal is", is_current=before is None)]
        items += [
            SelectItem(name, name, is_current=before is not None and name == current)
            for name in self._desk.themes.names()
        ]

        self._open(
            "Theme",
            items,
            lambda name: self._keep_preference("theme", name or None),
            on_highlight=lambda name: self._look.preview(name or None),
            on_cancel=lambda: self._look.preview(before),
        )

    def settings(self) -> None:
        """Change what the settings say of the terminal."""
        preferences = self._desk.preferences
        rows = [_row(setting, preferences) for setting in SETTINGS if setting.offered]

        def changed(id_: str, value: str) -> None:
            setting = next(setting for setting in SETTINGS if setting.field == id_)
            chosen = next(choice for choice in setting.offered if _shown(choice) == value)
            self._keep_preference(setting.key, chosen)

        control = SettingsList(
            self._desk.context, rows, on_change=changed, on_close=lambda: self._close(dialog), rank=rank
        )
        dialog = self._show("Settings", control, "Enter changes, Esc closes; /theme and /model have lists of their own")

    def rewind(self) -> None:
        """Choose a message to go back to."""

        async def points(engine: Engine) -> Sequence[RewindPoint]:
            return engine.conversation.rewind_points()

        self._core.call(points, self._open_rewind, self._on_failure)

    def _open_models(self, models: Sequence[Model], current: ModelState) -> None:
        here = current.name
        items = [SelectItem(_name(model), _name(model), _facts(model), _name(model) == here) for model in models]
        self._open("Model", items, self._choose_model, hint="it is kept for new sessions")

    def _choose_model(self, query: str) -> None:
        def chosen(state: ModelState) -> None:
            self._desk.say(f"{state.name} answers from now on", "success")

        self._core.call(lambda engine: engine.conversation.models.choose(query, keep=True), chosen, self._on_failure)

    def _open_scope(self, models: Sequence[Model], ticked: list[str]) -> None:
        def changed(names: list[str]) -> None:
            self._core.call(lambda engine: engine.conversation.models.set_scoped(names), None, self._on_failure)

        def save(names: list[str]) -> None:
            self._core.call(
                lambda engine: engine.conversation.models.set_scoped(names, keep=True),
                lambda _: self._desk.say("kept in the settings", "success"),
                self._on_failure,
            )
            self._close(dialog)

        control = CheckList(
            self._desk.context,
            [SelectItem(_name(model), _name(model), _facts(model)) for model in models],
            ticked,
            _MODEL_ACTIONS,
            on_change=changed,
            on_save=save,
            on_close=lambda: self._close(dialog),
            group_of=lambda name: name.partition("/")[0],
            rank=rank,
        )
        keys = (("app.models.toggle", "ticks"), ("app.models.reorderUp", "moves up"), ("app.models.save", "keeps"))
        hint = ", ".join(f"{key} {what}" for action, what in keys if (key := self._desk.key_of(action)))
        dialog = self._show("Models to cycle through (none ticked: all)", control, hint)

    def _open_thinking(self, state: ModelState) -> None:
        items = [SelectItem[str](level, level, is_current=level == state.thinking) for level in state.levels]
        self._open("How hard to think", items, self._set_thinking)

    def _set_thinking(self, wanted: str) -> None:
        levels: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)
        level = next((level for level in levels if level == wanted), None)
        if level is None:
            self._desk.say(f"there is no thinking level {wanted!r}: there are {', '.join(levels)}", "warning")
            return

        async def think(engine: Engine) -> str:
            return engine.conversation.models.set_thinking(level)

        self._core.call(think, lambda now: self._desk.say(f"thinking: {now}", "success"), self._on_failure)

    def _open_approvals(self, current: str) -> None:
        meanings = {
            "ask": "reads run, the rest asks unless a rule allows it",
            "auto": "what the sandbox confines runs, the rest asks",
            "never": "nobody is asked: what would need a yes is denied",
            "step": "every call asks",
        }
        items = [SelectItem(name, name, meaning, name == current) for name, meaning in meanings.items()]
        self._open("Approvals", items, self._set_approvals)

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

    def _open_rewind(self, points: Sequence[RewindPoint]) -> None:
        if not points:
            self._desk.say("there is no message to go back to")
            return
        items = [SelectItem(point.entry_id, " ".join(point.text.split()) or "(no text)") for point in reversed(points)]

        def chosen(entry_id: str) -> None:
            self._core.call(lambda engine: engine.conversation.rewind(entry_id), self._on_rewound, self._on_failure)

        self._open(
            "Go back to before which message?", items, chosen, hint="what came after stays in the session's file"
        )

    def _keep_preference(self, key: str, value: object) -> None:
        """Write a choice into the settings and follow it."""
        changes: Any = value
        for part in reversed(key.split(".")):
            changes = {part: changes}

        async def keep(engine: Engine) -> None:
            SettingsFile(engine.home.settings).set(changes)

        def kept(_: None) -> None:
            self._desk.load_preferences()
            self._on_preferences()

        self._core.call(keep, kept, self._on_failure)

    def _open(
        self,
        title: str,
        items: Sequence[SelectItem[str]],
        on_select: Callable[[str], None],
        *,
        on_highlight: Callable[[str], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
        hint: str = "",
    ) -> None:
        def selected(item: SelectItem[str]) -> None:
            self._close(dialog)
            on_select(item.value)

        def cancelled() -> None:
            self._close(dialog)
            if on_cancel is not None:
                on_cancel()

        control = SelectList(
            self._desk.context,
            items,
            on_select=selected,
            on_cancel=cancelled,
            on_highlight=None if on_highlight is None else lambda item: on_highlight(item.value),
            rank=rank,
        )
        dialog = self._show(title, control, hint)

    def _show(self, title: str, control: Component, hint: str) -> DialogFrame:
        dialog = DialogFrame(self._desk.context, title, None, control, hint)
        self._desk.dock.open(dialog)
        self._desk.app.refresh()
        return dialog

    def _close(self, dialog: DialogFrame) -> None:
        self._desk.dock.close(dialog)
        self._desk.app.refresh()


def _name(model: Model) -> str:
    return f"{model.provider}/{model.id}"


def _facts(model: Model) -> str:
    """What helps to choose."""
    facts = [f"{short(model.context_window)} context"]
    if model.cost is not None:
        facts.append(f"${model.cost.input:g} in, ${model.cost.output:g} out per million")
    if model.reasoning:
        facts.append("thinks")
    if "image" in model.input:
        facts.append("sees images")
    return ", ".join(facts)


def _row(setting: Setting, preferences: Preferences) -> SettingRow:
    value = getattr(preferences, setting.field)
    allowed = tuple(_shown(choice) for choice in setting.offered)
    return SettingRow(setting.field, setting.key, _shown(value), allowed, setting.description)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
