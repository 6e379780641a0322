"""Lets the text of the editor be written in a program of the user's own."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from kaa.frontends.interactive.main_view import MainView
from kaa.host.programs import host_programs


def edit_externally(main_view: MainView, environ: Mapping[str, str]) -> None:
    """Open the text in another editor and take what it leaves; the terminal is its meanwhile.

    Args:
        main_view: has the text, and says why it stays as it was, if it does.
        environ: names the editor, unless the settings do.
    """
    text = edited_in(chosen_editor(main_view, environ) or "vi", main_view.editor.text, main_view, environ)
    if text is not None:
        main_view.editor.set_text(text)


def chosen_editor(main_view: MainView, environ: Mapping[str, str]) -> str:
    """Return the command of the editor that the settings or the environment name; empty if neither does."""
    return main_view.preferences.external_editor or environ.get("VISUAL") or environ.get("EDITOR") or ""


def edited_in(editor: str, text: str, main_view: MainView, environ: Mapping[str, str]) -> str | None:
    """Return what an editor leaves of a text; None if it failed, which the person is told."""
    try:
        file = _written(text)
    except OSError as error:
        main_view.say(f"cannot write the text to a file: {error}", "warning")
        return None
    problems: list[str] = []
    try:
        main_view.app.run_elsewhere(lambda: problems.extend(_run(editor, file, environ)))
        if not problems:
            with open(file, encoding="utf-8", errors="replace") as edited:
                return edited.read().removesuffix("\n")
    except FileNotFoundError:
        problems.append(f"{editor} deleted the file; the text is unchanged")
    finally:
        with suppress(OSError):
            os.unlink(file)
    if problems:
        main_view.say(problems[0], "warning")
    return None


def _written(text: str) -> str:
    """A file of the user's alone that holds the text."""
    with tempfile.NamedTemporaryFile("w", suffix=".md", prefix="kaa-", encoding="utf-8", delete=False) as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            os.unlink(file.name)
            raise
    return file.name


def _run(editor: str, file: str, environ: Mapping[str, str]) -> list[str]:
    """Wait for the editor. Returns what went wrong."""
    programs = host_programs(environ)
    try:
        name, *options = shlex.split(editor)
        program = programs.find(name)
        if program is None:
            return [programs.refusal(name) or f"{editor} cannot be started: there is no program {name}"]
        done = subprocess.run([program, *options, file], env=programs.environment(), check=False)
    except (OSError, ValueError) as error:
        return [f"{editor} cannot be started: {error}"]
    return [f"{editor} ended with exit code {done.returncode}; the text is unchanged"] if done.returncode else []
