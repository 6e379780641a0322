"""Lets the text of the editor be written in a program of the user's own."""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping

from kaa.frontends.interactive.desk import Desk


def edit_externally(desk: Desk, environ: Mapping[str, str]) -> None:
    """Open the text in another editor and take what it leaves; the terminal is its meanwhile.

    Args:
        desk: has the text, and says why it stays as it was, if it does.
        environ: names the editor, unless the settings do.
    """
    editor = desk.preferences.external_editor or environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w+", suffix=".md", prefix="kaa-", encoding="utf-8") as file:
        file.write(desk.editor.text)
        file.flush()
        problems: list[str] = []
        desk.app.run_elsewhere(lambda: problems.extend(_run(editor, file.name)))
        if problems:
            desk.say(problems[0], "warning")
            return
        with open(file.name, encoding="utf-8", errors="replace") as edited:  # editors replace the file
            desk.editor.set_text(edited.read().removesuffix("\n"))


def _run(editor: str, file: str) -> list[str]:
    """Wait for the editor. Returns what went wrong."""
    try:
        done = subprocess.run([*shlex.split(editor), file], check=False)
    except (OSError, ValueError) as error:
        return [f"{editor} cannot be started: {error}"]
    return [f"{editor} ended with exit code {done.returncode}; the text stays as it was"] if done.returncode else []
