"""The language servers that kaa starts without being told to, where they are installed."""

from collections.abc import Collection
from typing import Final

from kaa.components.plugins.lsp import LanguageServer

# The identifiers of the protocol; what is not here is the end of the name.
_LANGUAGES: Final = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".jsx": "javascriptreact",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    ".cs": "csharp",
    **dict.fromkeys((".ex", ".exs"), "elixir"),
    ".hs": "haskell",
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".ml", ".mli"), "ocaml"),
    ".rb": "ruby",
    **dict.fromkeys((".sh", ".bash"), "shellscript"),
    **dict.fromkeys((".tf", ".tfvars"), "terraform"),
}

# Of the servers in a line, the first that is installed is used.
_KNOWN: Final = (
    (
        (".py", ".pyi"),
        ("basedpyright-langserver --stdio", "pyright-langserver --stdio", "pylsp", "jedi-language-server"),
    ),
    ((".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"), ("typescript-language-server --stdio",)),
    ((".go",), ("gopls",)),
    ((".rs",), ("rust-analyzer",)),
    ((".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("clangd",)),
    ((".cs",), ("csharp-ls",)),
    ((".dart",), ("dart language-server",)),
    ((".ex", ".exs"), ("elixir-ls",)),
    ((".hs",), ("haskell-language-server-wrapper --lsp",)),
    ((".java",), ("jdtls",)),
    ((".kt", ".kts"), ("kotlin-language-server",)),
    ((".lua",), ("lua-language-server",)),
    ((".ml", ".mli"), ("ocamllsp",)),
    ((".php",), ("intelephense --stdio", "phpactor language-server")),
    ((".rb",), ("ruby-lsp",)),
    ((".swift",), ("sourcekit-lsp",)),
    ((".tf", ".tfvars"), ("terraform-ls serve",)),
    ((".zig",), ("zls",)),
)


def language_of_end(end: str) -> str:
    """The identifier of a language, by the end of a file's name."""
    return _LANGUAGES.get(end, end.lstrip("."))


def known_servers(end: str, off: Collection[str]) -> tuple[LanguageServer, ...]:
    """The servers of which one would do for a file, by the end of its name. `off`: names of those not wanted."""
    for ends, commands in _KNOWN:
        if end in ends:
            servers = (LanguageServer(line.split()[0], tuple(line.split())) for line in commands)
            languages = {one: language_of_end(one) for one in ends}
            return tuple(LanguageServer(one.name, one.command, languages) for one in servers if one.name not in off)
    return ()
