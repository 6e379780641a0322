"""Parses files that were edited: what a project contains is parsed in processes of the sandbox."""

import os
from typing import Final

SCRIPT: Final = os.path.join(os.path.dirname(__file__), "parsers.py")
"""The parsers as a program, for other versions of Python."""
