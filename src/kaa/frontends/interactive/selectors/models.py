"""Choosing the model, those to cycle through, and how hard it thinks."""

from collections.abc import Sequence

from kaa.core.provider import Model
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.footer import short_count
from kaa.frontends.interactive.selectors.lists import words_first
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.models.switching import ModelState
from kaa.tui.components.check_list import CheckActions, CheckList
from kaa.tui.components.select_list import SelectItem

_ACTIONS = CheckActions(
    toggle="app.models.toggle",
    up="app.models.reorderUp",
    down="app.models.reorderDown",
    all="app.models.enableAll",
    none="app.models.clearAll",
    group="app.models.toggleProvider",
    save="app.models.save",
)


class ModelSelectors:
    """Lists of models and of their thinking levels.

    Args:
        ui: the screen, the core and lists.
    """

    def __init__(
        self,
        ui: UIContext,
    ) -> None:
        self._ui = ui

    def model(self, query: str = "") -> None:
        """Choose the model; a query that means one model chooses it at once, another one is searched for."""

        async def models(engine: Engine) -> tuple[Sequence[Model], ModelState, str | None]:
            models = engine.conversation.models
            unchanged = await models.reload()
            if not query:  # a list is to be opened: it can wait a moment for what runs on this machine
                await models.look_around()
            return models.available(), models.current, unchanged

        def choose(found: tuple[Sequence[Model], ModelState, str | None]) -> None:
            available, current, unchanged = found
            if unchanged:
                self._ui.say(unchanged, "warning")
            # A name with its provider is taken at its word: servers have models that no list knows.
            meant = query if "/" in query else _meant(query, [model.qualified_id for model in available])
            if meant:
                self._choose_model(meant)
            else:
                self._open_models(available, current, query)

        self._ui.call(models, choose)

    def scoped_models(self) -> None:
        """Choose which models to cycle through."""

        async def models(engine: Engine) -> tuple[Sequence[Model], list[str]]:
            models = engine.conversation.models
            scoped = models.scoped()
            return models.available(), [one.model.qualified_id for one in scoped]

        self._ui.call(models, lambda found: self._open_scope(*found))

    def thinking(self) -> None:
        """Choose how hard the model thinks."""

        async def current(engine: Engine) -> ModelState:
            return engine.conversation.models.current

        self._ui.call(current, self._open_thinking)

    def _open_models(self, models: Sequence[Model], current: ModelState, query: str) -> None:
        here = current.name
        items = [
            SelectItem(model.qualified_id, model.qualified_id, _facts(model), model.qualified_id == here)
            for model in models
        ]
        self._ui.lists.choose(
            "Model", items, self._choose_model, hint="it is kept for new sessions", query=query, find=words_first
        )

    def _choose_model(self, query: str) -> None:
        def chosen(state: ModelState) -> None:
            self._ui.say(f"{state.name} answers from now on", "success")

        self._ui.call(lambda engine: engine.conversation.models.choose(query, keep=True), chosen)

    def _open_scope(self, models: Sequence[Model], ticked: list[str]) -> None:
        def changed(names: list[str]) -> None:
            self._ui.call(lambda engine: engine.conversation.models.set_scoped(names))

        def save(names: list[str]) -> None:
            self._ui.call(
                lambda engine: engine.conversation.models.set_scoped(names, keep=True),
                lambda _: self._ui.say("kept in the settings", "success"),
            )
            self._ui.lists.close(dialog)

        control = CheckList(
            self._ui.main_view.context,
            [SelectItem(model.qualified_id, model.qualified_id, _facts(model)) for model in models],
            ticked,
            _ACTIONS,
            on_change=changed,
            on_save=save,
            on_close=lambda: self._ui.lists.close(dialog),
            group_of=lambda name: name.partition("/")[0],
            rank=words_first,
        )
        keys = (("app.models.toggle", "ticks"), ("app.models.reorderUp", "moves up"), ("app.models.save", "keeps"))
        hint = ", ".join(f"{key} {what}" for action, what in keys if (key := self._ui.main_view.key_of(action)))
        dialog = self._ui.lists.show("Models to cycle through (none ticked: all)", control, hint)

    def _open_thinking(self, state: ModelState) -> None:
        items = [SelectItem[str](level, level, is_current=level == state.thinking) for level in state.levels]
        self._ui.lists.choose("How hard to think", items, self._set_thinking)

    def _set_thinking(self, wanted: str) -> None:
        async def think(engine: Engine) -> str:
            return engine.conversation.models.think(wanted)

        self._ui.call(think, lambda now: self._ui.say(f"thinking: {now}", "success"))


def _meant(query: str, names: Sequence[str]) -> str:
    """The model that a part of its name means, with the thinking level behind it; empty if none or several do."""
    part, colon, level = query.rpartition(":")
    for wanted, rest in ((query, ""), (part, colon + level)):
        fitting = [name for name in names if wanted and wanted.lower() in name.lower()]
        exact = [name for name in fitting if name.partition("/")[2] == wanted]
        if len(exact or fitting) == 1:
            return (exact or fitting)[0] + rest
    return ""


def _facts(model: Model) -> str:
    """What helps to choose, and to search: people write "opus 4.5" where the id has a dash."""
    facts = [] if model.name.lower() in model.id.lower() else [model.name]
    facts.append(f"{short_count(model.context_window)} context")
    cost = model.cost
    facts.append("$? per million" if cost is None else f"${cost.input:g} in, ${cost.output:g} out per million")
    if model.reasoning:
        facts.append("thinks")
    if "image" in model.input:
        facts.append("sees images")
    return ", ".join(facts)
