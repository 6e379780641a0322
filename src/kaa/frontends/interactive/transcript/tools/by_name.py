"""Which renderer the calls of a tool have."""

from collections.abc import Callable, Mapping

from kaa.frontends.interactive.transcript.tools.bash import BashRenderer
from kaa.frontends.interactive.transcript.tools.edit import EditRenderer
from kaa.frontends.interactive.transcript.tools.files import ReadRenderer, WriteRenderer
from kaa.frontends.interactive.transcript.tools.generic import GenericRenderer
from kaa.frontends.interactive.transcript.tools.process import ProcessRenderer
from kaa.frontends.interactive.transcript.tools.renderer import CallRenderer
from kaa.frontends.interactive.transcript.tools.search import FindRenderer, GrepRenderer, LsRenderer
from kaa.frontends.interactive.transcript.view_options import ViewOptions

_RENDERERS: Mapping[str, Callable[[ViewOptions], CallRenderer]] = {
    "bash": BashRenderer,
    "edit": EditRenderer,
    "find": FindRenderer,
    "grep": GrepRenderer,
    "ls": LsRenderer,
    "process": ProcessRenderer,
    "read": ReadRenderer,
    "write": WriteRenderer,
}


def renderer_for(tool: str, view: ViewOptions) -> CallRenderer:
    """A renderer for one call of this tool."""
    return _RENDERERS.get(tool, GenericRenderer)(view)
