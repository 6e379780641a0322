"""Finds why a program failed in the lines that it printed: many programs print advice behind the cause."""

import re

# Node's report of an exception ends with its version; what happened is some lines above.
_NODE_VERSION = re.compile(r"Node\.js v[\d.]+")
_ERROR = re.compile(r"(?:Uncaught )?\w*Error\b.*: .+")
_CAUSE_OF_NODE = re.compile(r"\[cause\]: (.+?)(?: \{)?")  # below the line of the error
# Lines that say no cause: advice of docker, clap and click; npm's notices and the words around its message; the
# command that pipx names, in one line or two, when that failed.
_ADVICE = re.compile(
    r"(?:run|see|try) ['\"`].*(?:--help|-h)\b.*|for more information,? .*|usage: .*|hint: .*"
    r"|npm (?:notice|warn|WARN)\b.*|npm (?:error|ERR!)(?: \w+)?"
    r"|npm (?:error|ERR!) (?:code|path|syscall|errno|dest|file|location|workspace|command|lifecycle) .*"
    r"|npm (?:error|ERR!) (?:A complete log of this run|This is probably not a problem with npm).*"
    r"|'[^']*|[^']*' failed",
    re.IGNORECASE,
)
_NPM = re.compile(r"npm (?:error|ERR!) ")
# uv's report of an error: what is indented below a cause explains it.
_CAUSE = re.compile(r"(?:cause: |Caused by: |╰─▶ )(.+)")
_OUTPUT = "[stderr]"  # what follows is of the program that uv ran


class Cause:
    """The line that says why a program failed, among those that it has printed.

    Attributes:
        text: the line; the last one that is not advice, if none is known to say it.
    """

    def __init__(self) -> None:
        self._said = self._last = self._error = ""
        self._report = ""  # whose report the lines belong to

    @property
    def text(self) -> str:
        """See the class."""
        return self._said or self._last

    def add(self, line: str) -> None:
        """Add a line, with the blanks at its beginning."""
        if not (said := line.strip()):
            return
        self._last = said
        if _ADVICE.fullmatch(said):
            return
        if self._error and (cause := _CAUSE_OF_NODE.fullmatch(said)):
            self._error = f"{self._error} ({cause[1]})"
        if _NPM.match(said):
            if self._report != "npm":
                self._report, self._said = "npm", said
            return
        if line[0].isspace():
            if cause := _CAUSE.fullmatch(said):
                self._report, self._said = "uv", cause[1]
                return
            if self._report == "uv" and said != _OUTPUT:
                return
        self._report = ""
        if _ERROR.match(said):
            self._error = said
        self._said = self._error or said if _NODE_VERSION.fullmatch(said) else said
