"""The built-in tools, registered as any extension registers its own."""

from kaa.builtin.file_locks import FileLocks
from kaa.builtin.tools.bash import bash_tool
from kaa.builtin.tools.edit import edit_tool
from kaa.builtin.tools.find import find_tool
from kaa.builtin.tools.grep import grep_tool
from kaa.builtin.tools.ls import ls_tool
from kaa.builtin.tools.process import ModelView, process_tool
from kaa.builtin.tools.read import read_tool
from kaa.builtin.tools.write import write_tool
from kaa.ext.api import ExtensionAPI


def extend(api: ExtensionAPI) -> None:
    """Register read, bash, edit, write, process and, off by default as bash can do the same, grep, find and ls."""
    locks = FileLocks()
    processes = api.workspace.processes
    view = ModelView(processes)
    api.register_tool(read_tool(api.workspace), snippet="look into files", risk="read")
    api.register_tool(bash_tool(api.workspace, view), snippet="run commands: search, test, build, git", risk="command")
    api.register_tool(edit_tool(api.workspace, locks), snippet="change parts of a file", risk="write")
    api.register_tool(write_tool(api.workspace, locks), snippet="new files, or whole rewrites", risk="write")
    api.register_tool(process_tool(processes, view), snippet="see and stop what runs in the background", risk="read")
    api.register_tool(grep_tool(api.workspace), snippet="search contents", default=False, risk="read")
    api.register_tool(find_tool(api.workspace), snippet="find files by name", default=False, risk="read")
    api.register_tool(ls_tool(api.workspace), snippet="list a directory", default=False, risk="read")
