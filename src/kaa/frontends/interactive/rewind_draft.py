"""What was said, in the editor again to be said in other words; and out of the way if nobody wants to."""

from kaa.tui.components.editor import Editor


class RewindDraft:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._put: str | None = None

    def put(self, text: str | None) -> None:
        """Put this in place of what was put there before, if that was left as it was; else before what is there.

        Args:
            text: None where nothing was said that could be said anew.
        """
        drafted = "" if self._editor.text == self._put else self._editor.text
        if text is not None or self._put is not None:
            now = "\n\n".join(filter(None, (text, drafted)))
            if now != self._editor.text:
                self._editor.set_text(now)
        self._put = text

    def edited(self) -> None:
        """The text is another one: a `/` behind what was put there begins a command in its place. It can be undone."""
        typed = self._editor.text.removeprefix(self._put or "")
        if self._put and typed.startswith("/") and typed != self._editor.text:
            self._put = None
            self._editor.set_text("")
            self._editor.insert(typed)
