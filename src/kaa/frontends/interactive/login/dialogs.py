"""What is shown while somebody logs in: where a key is typed, and where the browser is to go."""

from collections.abc import Callable

from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.tui.component import Component
from kaa.tui.components.input import Input
from kaa.tui.context import Context


class KeyDialog(DialogFrame):
    """Asks for an API key, and never shows it.

    Args:
        problem: what was wrong with the one before; empty if there was none.
    """

    def __init__(
        self,
        context: Context,
        provider: str,
        problem: str,
        on_enter: Callable[[str], None],
        on_cancel: Callable[[], None],
    ) -> None:
        control = Input(context, "API key: ", placeholder="paste it here; it is not shown", mask="*")
        control.on_submit = lambda key: on_enter(key.strip()) if key.strip() else None
        control.on_cancel = on_cancel

        def body(width: int) -> list[str]:
            said = "kaa saves it in auth.json in its home after the provider has accepted it."
            lines = paragraph(context, problem, "error", width) if problem else []
            return lines + paragraph(context, said, "text", width)

        super().__init__(context, f"Log in to {provider}", body, control, "Enter checks and saves it, Esc aborts")


class WayDialog(DialogFrame):
    """Says where the browser is to go, and waits. Changes as the login goes on.

    Args:
        on_paste: gets what the person copied from the browser.
    """

    def __init__(
        self,
        context: Context,
        provider: str,
        *,
        on_open: Callable[[str], None],
        on_copy: Callable[[str], None],
        on_paste: Callable[[str], None],
        on_cancel: Callable[[], None],
        refresh: Callable[[], None],
    ) -> None:
        self._refresh = refresh
        self._said: list[tuple[str, str]] = [("requesting the login address…", "muted")]
        self._open, self._copy, self._paste, self._cancel = on_open, on_copy, on_paste, on_cancel
        self._address = ""
        super().__init__(
            context,
            f"Log in to {provider}",
            None,
            DialogChoices(context, [DialogChoice("a", "Abort", on_cancel)], on_cancel),
        )
        self._show()

    def show_address(self, address: str) -> None:
        """Ask for this address to be opened, and offer to paste what comes of it."""
        self._address = address
        self._said = [
            ("Log in with a browser at", "text"),
            (address, "accent"),
            ("kaa continues when you are done. With a browser on another machine, paste its last address.", "muted"),
        ]
        self._offer(DialogChoice("p", "Paste the address the browser ended at, or the code", self._ask_for_paste))

    def show_code(self, address: str, code: str) -> None:
        self._address = address
        self._said = [
            ("Open in any browser", "text"),
            (address, "accent"),
            (f"and enter the code  {code}", "text"),
            ("kaa continues when you are done.", "muted"),
        ]
        self._offer()

    def complain(self, problem: str) -> None:
        self._said = [(self._address, "accent"), (problem, "error")]
        self._ask_for_paste()

    def _offer(self, *more: DialogChoice) -> None:
        choices = [
            DialogChoice("o", "Open it in the browser", lambda: self._open(self._address)),
            DialogChoice("c", "Copy the address", lambda: self._copy(self._address)),
            *more,
            DialogChoice("a", "Abort", self._cancel),
        ]
        self._show(DialogChoices(self._context, choices, self._cancel))

    def _ask_for_paste(self) -> None:
        control = Input(self._context, "Address or code: ")
        control.on_submit = self._pasted
        control.on_cancel = self._cancel
        self._show(control)

    def _pasted(self, text: str) -> None:
        self._said = [("checking…", "muted")]
        self._show(DialogChoices(self._context, [DialogChoice("a", "Abort", self._cancel)], self._cancel))
        self._paste(text)

    def _show(self, control: Component | None = None) -> None:
        said = self._said

        def body(width: int) -> list[str]:
            return [line for text, token in said for line in paragraph(self._context, text, token, width)]

        self.tell(body)
        self.exchange(control or self.control, "Esc aborts")
        self._refresh()
