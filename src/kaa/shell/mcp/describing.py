"""Describes servers, for the question before one of a project starts."""

import re
import shlex
from collections.abc import Mapping

from kaa.ext.questions import OpenUrl
from kaa.llm.auth.errors import LoginError
from kaa.mcp.oauth.tokens import TokenStore
from kaa.shell.home import Home
from kaa.shell.mcp.code import differences
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry
from kaa.shell.mcp.config.variables import VariableError, filler, variables_in
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.readable import RightsError, readable_places
from kaa.shell.mcp.rights import fetched_unpinned, permissions_of

_MOST_OF_VALUE = 200
_END_OF_VALUE = 80
_BLANKS = re.compile(r"\s{4,}")
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


def variables_set(entry: ServerEntry, known: Mapping[str, str] = {}) -> list[str]:
    """The variables that an entry sets, with their values as they are written: they can make a program run another.

    Args:
        known: variables that need not be named.
    """
    env = {name: value for name, value in sorted(entry.env.items()) if known.get(name) != value}
    return [in_one_line(f"{name}={_shortened(value)}") for name, value in env.items()]


def login_details(entry: ServerEntry) -> list[str]:
    """What an entry says of the login at the server's address, in sentences without capital and period."""
    oauth = entry.oauth
    by_person = oauth.grant_type == "authorization_code"
    details = [
        ("the login to it goes where {} says", oauth.auth_server_metadata_url),
        ("kaa logs in as the client {}", oauth.client_id),
        ("kaa logs in without asking you, by {}", "" if by_person else oauth.grant_type),
        ("kaa asks for the scopes {}", oauth.scope),
        ("the login returns to {}", oauth.callback_url),
        ("its tokens are good without a key of kaa's (`dpop` is {})", oauth.dpop if oauth.dpop == "off" else ""),
    ]
    return [in_one_line(sentence.format(_shortened(value))) for sentence, value in details if value]


def login_there(server: ConfiguredServer, home: Home, environ: Mapping[str, str], project: str) -> str:
    """Say, likewise, that the user is logged in at the address of a server of others; empty if not."""
    try:
        url = filler(server, home, environ, project)(server.entry.url)
        is_there = bool(url) and TokenStore(home.path / "mcp-auth.json").has(url)
    except (VariableError, LoginError):  # said when it starts
        return ""
    return f"you are logged in at {url}: it uses your login, so its tools act as you" if is_there else ""


def described(server: ConfiguredServer, place: ServerPlace) -> str:
    """What a server is and may do, in lines. The texts are its own."""
    entry = server.entry
    lines = [f"It is configured in {server.source.file}."]
    if entry.url:
        lines += [f"It is a server at {entry.url}: what the model sends to its tools leaves this machine."]
        lines += [f"Careful: {warning}."] if (warning := address_warning(entry.url)) else []
        logins = (*login_details(entry), login_there(server, place.home, place.environ, place.project))
        lines += [f"{one[0].upper()}{one[1:]}." for one in logins if one]
    else:
        lines += [f"It runs the command: {shlex.join((entry.command, *entry.args))}"]
        lines += [f"in the directory: {entry.cwd}"] if entry.cwd else []
        lines += [f"with the variable: {one}" for one in variables_set(entry)]
        sentences = permissions_of(entry, place.project).sentences or ("read no file of yours and connect to nothing",)
        if entry.sandbox and not place.is_full_access():
            lines += [f"In its own sandbox, it can {sentence}." for sentence in sentences]
        else:
            lines += ["It runs without a sandbox, with your rights."]
        lines += _readable(server, place)
    names = sorted({name for text in entry.texts for name in variables_in(text)})
    lines += [f"It gets the values of your variables {', '.join(names)}."] if names else []
    if package := fetched_unpinned(entry):
        lines += [f"It fetches {package} in the newest version each time; {package}@VERSION would pin one."]
    return "\n".join(map(in_one_line, lines))


def described_code(accepted: Mapping[str, str], code: Mapping[str, str]) -> list[str]:
    """What a server executes and commands can write, in lines: how it changed, or all of it."""
    if accepted:
        return [
            "It executes files that commands can change, and these are not as you approved them:",
            *map(in_one_line, differences(accepted, code)),
        ]
    return [
        "It executes these files, which commands can change. kaa asks again when they change:",
        *map(in_one_line, differences({}, code)),
    ]


def address_warning(url: str) -> str:
    """Why the host of a server's address may look like another one; empty if it does not."""
    try:
        return OpenUrl("", url).warning
    except ValueError:  # it is no address, which is said when the server starts
        return ""


def _shortened(value: str) -> str:
    """A value with its end: a program may be named behind many blanks, or after much else."""
    value = _BLANKS.sub(lambda found: f" (… {len(found[0])} blanks …) ", value)
    more = len(value) - _MOST_OF_VALUE
    return (
        value if more <= 0 else f"{value[: -_END_OF_VALUE - more]}… ({more} more characters) …{value[-_END_OF_VALUE:]}"
    )


def in_one_line(text: str) -> str:
    """A text in which no word of a server's entry begins a line that would seem to be kaa's."""
    return _BREAKS.sub("↵", text)


def _readable(server: ConfiguredServer, place: ServerPlace) -> list[str]:
    """What becomes readable because the command line names it, or why the server cannot start."""
    try:
        places = readable_places(server, ServerCommandLine.of(server, place), place)
    except (RightsError, VariableError) as error:
        return [f"It cannot start: {error}."]
    return [f"It may read, since its command line names it: {one} (except secrets)." for one in places]
