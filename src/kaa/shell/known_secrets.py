"""The secrets that are in use on this machine, so that they are found in what leaves it."""

import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import unquote

import msgspec

from kaa.core.messages import Json
from kaa.host.regular_files import read_regular
from kaa.llm import jsonc
from kaa.shell.home import Home
from kaa.shell.key_variables import key_variables

# One of the words that the name of a variable consists of.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)",
    re.IGNORECASE,
)

SECRET_FILES = ("auth.json", "models.json", "mcp-auth.json", "mcp.json", "plugins.json")
"""The files of kaa's home that keep secrets."""

# Fields of mcp-auth.json and mcp.json with secrets in them, however deep.
_SECRET_FIELDS = frozenset(
    (
        *("access", "refresh", "dpopKey", "secret", "clientSecret", "privateKey", "assertion", "idpClientSecret"),
        *("idToken", "headers"),
    )
)
_HEADERS_NAME = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS")  # `name=value,…`, percent-encoded
_VARIABLE = re.compile(r"(?<!\$)(?:\$\$)*\$[A-Za-z_{]")


def known_secrets(environ: Mapping[str, str], home: Home) -> list[str]:
    """Values of variables that are named like secrets, and what the files keep. Reads files."""
    named = frozenset(key_variables(home))
    from_variables = (value for name, value in environ.items() if name in named or _SECRET_NAME.search(name))
    from_headers = (
        pair.partition("=")[2].strip().rpartition(" ")[2]
        for name, value in environ.items()
        if _HEADERS_NAME.fullmatch(name)
        for pair in unquote(value).split(",")
    )
    return [*from_variables, *from_headers, *_stored(home), *_configured(home), *_of_servers(home), *_of_plugins(home)]


def _stored(home: Home) -> Iterator[str]:
    try:
        kept = msgspec.json.decode(read_regular(home.path / "auth.json"))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return  # whoever needs a key says what is wrong with it
    yield from _texts(kept)


def _texts(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                if name != "type":
                    yield from _texts(item)
        case str() if not value.startswith("!"):  # the text of a command is no secret
            yield _literal(value)
        case _:
            return


def _configured(home: Home) -> Iterator[str]:
    """Keys and headers that somebody wrote into models.json."""
    try:
        file = jsonc.decode(read_regular(home.path / "models.json"), dict[str, Json])
    except (OSError, jsonc.JsoncError, msgspec.ValidationError, RecursionError):
        return
    yield from _keys_in(file.get("providers"))


def _of_servers(home: Home) -> Iterator[str]:
    """Logins at MCP servers, and what somebody wrote into mcp.json."""
    for name in ("mcp-auth.json", "mcp.json"):
        try:
            file = jsonc.decode(read_regular(home.path / name), dict[str, Json])
        except (OSError, jsonc.JsoncError, msgspec.ValidationError, RecursionError):
            continue
        yield from _keys_in(file, _SECRET_FIELDS)
        for server in _entries(file.get("mcpServers")).values():
            variables = _entries(_entries(server).get("env"))
            yield from (
                text for word, value in variables.items() if _SECRET_NAME.search(word) for text in _texts(value)
            )


def _of_plugins(home: Home) -> Iterator[str]:
    """What somebody gave for secret options of plugins."""
    try:
        file = msgspec.json.decode(read_regular(home.plugin_records), type=dict[str, Json])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    for record in map(_entries, _entries(file.get("plugins")).values()):
        options = _entries(record.get("plugin")).get("options")
        for option in map(_entries, options if isinstance(options, list) else []):
            value = _entries(record.get("values")).get(str(option.get("name")))
            if option.get("secret"):
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def _entries(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _keys_in(value: Json, fields: Collection[str] = ("apiKey", "headers")) -> Iterator[str]:
    for item in value if isinstance(value, list) else []:
        yield from _keys_in(item, fields)
    for name, item in value.items() if isinstance(value, dict) else ():
        if name in fields:
            yield from (text.rpartition(" ")[2] for text in _texts(item))
        else:
            yield from _keys_in(item, fields)


def _literal(value: str) -> str:
    """What is sent of a value: `$$` and `$!` stand for themselves. Nothing where it names a variable."""
    return "" if _VARIABLE.search(value) else value.replace("$$", "$").replace("$!", "!")
