"""Vi's keys for the editor, for those who want them. Nothing here is loaded before somebody does."""

from kaa.tui.vim.keys import Vim

__all__ = ["Vim"]
