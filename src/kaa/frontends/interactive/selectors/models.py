"""Choosing the models to cycle through."""

from collections.abc import Sequence

from kaa.builtin.choosing import model_facts
from kaa.core.provider import Model
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.selectors.lists import words_first
from kaa.frontends.interactive.ui_context import UIContext
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
    """The list of models to cycle through."""

    def __init__(
        self,
        ui: UIContext,
    ) -> None:
        self._ui = ui

    def scoped_models(self) -> None:
        """Choose which models to cycle through."""

        async def models(engine: Engine) -> tuple[Sequence[Model], list[str]]:
            models = engine.conversation.models
            scoped = models.scoped()
            return models.available(), [one.model.qualified_id for one in scoped]

        self._ui.call(models, lambda found: self._open_scope(*found))

    def _open_scope(self, models: Sequence[Model], ticked: list[str]) -> None:
        def changed(names: list[str]) -> None:
            self._ui.call(lambda engine: engine.conversation.models.set_scoped(names))

        def save(names: list[str]) -> None:
            self._ui.call(
                lambda engine: engine.conversation.models.set_scoped(names, keep=True),
                lambda _: self._ui.say("saved in the settings", "success"),
            )
            self._ui.lists.close(dialog)

        control = CheckList(
            self._ui.main_view.context,
            [SelectItem(model.qualified_id, model.qualified_id, model_facts(model)) for model in models],
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
