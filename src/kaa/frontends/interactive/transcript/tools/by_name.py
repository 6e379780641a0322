"""Which renderer the calls of a tool have."""

from collections.abc import Callable, Mapping

from kaa.frontends.interactive.transcript.tools.bash import BashRenderer
from kaa.frontends.interactive.transcript.tools.edit import EditRenderer
from kaa.frontends.interactive.transcript.tools.files import ReadRenderer, WriteRenderer
from kaa.frontends.interactive.transcript.tools.generic import GenericRenderer
from kaa.frontends.interactive.transcript.tools.process import ProcessRenderer
from kaa.frontends.interactive.transcript.tools.renderer import Renderer
from kaa.frontends.interactive.transcript.tools.search import FindRenderer, GrepRenderer, LsRenderer
from kaa.frontends.interactive.transcript.view import View

_RENDERERS: Mapping[str, Callable[[View], Renderer]] = {
    "bash": BashRenderer,
    "edit": EditRenderer,
    "find": FindRenderer,
    "grep": GrepRenderer,
    "ls": LsRenderer,
    "process": ProcessRenderer,
    "read": ReadRenderer,
    "write": WriteRenderer,
}


def renderer_for(tool: str, view: View) -> Renderer:
    """A renderer for one call of this tool."""
    return _RENDERERS.get(tool, GenericRenderer)(view)
