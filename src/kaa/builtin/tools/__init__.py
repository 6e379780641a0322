"""The built-in tools, registered as any extension registers its own."""

from kaa.builtin.file_locks import FileLocks
from kaa.builtin.tools.bash import bash_tool
from kaa.builtin.tools.edit import edit_tool
from kaa.builtin.tools.find import find_tool
from kaa.builtin.tools.grep import grep_tool
from kaa.builtin.tools.ls import ls_tool
from kaa.builtin.tools.process import process_tool
from kaa.builtin.tools.read import read_tool
from kaa.builtin.tools.write import write_tool
from kaa.ext.api import ExtensionAPI


def extend(api: ExtensionAPI) -> None:
    """Register read, bash, edit, write, process and, off by default as bash can do the same, grep, find and ls."""
    locks = FileLocks()
    api.register_tool(read_tool(), snippet="look into files", risk="read")
    api.register_tool(bash_tool(), snippet="run commands: search, test, build, git", risk="command")
    api.register_tool(edit_tool(locks), snippet="change parts of a file", risk="write")
    api.register_tool(write_tool(locks), snippet="new files, or whole rewrites", risk="write")
    api.register_tool(process_tool(), snippet="see and stop what runs in the background", risk="read")
    api.register_tool(grep_tool(), snippet="search contents", default=False, risk="read")
    api.register_tool(find_tool(), snippet="find files by name", default=False, risk="read")
    api.register_tool(ls_tool(), snippet="list a directory", default=False, risk="read")
