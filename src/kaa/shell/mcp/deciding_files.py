"""Files above a package that decide what is executed of it: settings of workspaces, of package managers and tools.

They are looked for in every folder from the package to the top of the project. Sources are the manuals of the tools.
"""

import os
import re
from collections.abc import Sequence

# Programs, and the files that they look for in the folders above the one where they start, or above a script.
_OF_PROGRAMS = (
    (
        r"node|nodejs|npx|npm|pnpm|pnpx|yarn|bunx?|deno|tsx|ts-node|vite-node|nodemon",
        r"package\.json|package-lock\.json|[tj]sconfig[\w.-]*\.json|\.npmrc|pnpm-[\w-]+\.yaml|\.pnpmfile\.[cm]?js"
        r"|\.yarnrc(?:\.yml)?|yarn\.lock|bunfig\.toml|bun\.lockb?|deno\.(?:jsonc?|lock)|\.babelrc[\w.]*"
        r"|babel\.config\.\w+|\.swcrc",
    ),
    (
        r"uvx?|poetry|pdm|hatch|rye|pipenv|pipx|fastmcp",
        r"pyproject\.toml|uv\.(?:toml|lock)|poetry\.(?:toml|lock)|pdm\.(?:toml|lock)|hatch\.toml|Pipfile(?:\.lock)?"
        r"|setup\.(?:py|cfg)|\.python-version|\.venv",
    ),
    ("pixi", r"pixi\.(?:toml|lock)|\.pixi"),
    ("go", r"go\.work(?:\.sum)?|go\.mod"),
    ("cargo", r"Cargo\.(?:toml|lock)|rust-toolchain(?:\.toml)?|\.cargo"),
    ("bundle|rake|ruby", r"Gemfile(?:\.lock)?|\.bundle|\.ruby-version"),
    ("mvn|gradle|java", r"pom\.xml|\.mvn|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties"),
    ("dotnet", r"Directory\.[\w.]+\.(?:props|targets)|global\.json|nuget\.config|NuGet\.Config"),
    ("mix", r"mix\.(?:exs|lock)"),
    ("composer|php", r"composer\.(?:json|lock)"),
    ("mise|asdf", r"\.?mise(?:\.\w+)?\.toml|\.tool-versions"),
    # They read variables from there: one of them can name code (`NODE_OPTIONS`).
    (
        r"dotenv|dotenvx|dotenv-cli|honcho|foreman|overmind|hivemind|op|infisical|doppler|mcp|pipenv|bunx?|direnv",
        r"\.env(?:\.[\w.-]+)?|Procfile(?:\.\w+)?|\.infisical\.json|doppler\.ya?ml",
    ),
    ("nodemon", r"nodemon\.json"),
    (r"vite|vitest|vite-node", r"vite(?:st)?\.config\.\w+"),
    (r"nix|nix-shell|nix-build", r"(?:shell|default)\.nix|flake\.(?:nix|lock)"),
    ("devbox", r"devbox\.(?:json|lock)"),
    ("devenv", r"devenv\.(?:nix|yaml|lock)|devenv\.local\.nix"),
    (r"bb|clj|clojure", r"bb\.edn|deps\.edn"),
)
_NEEDS_NONE = re.compile(r"(?:python|pypy)[\d.]*")
CHOOSE_VERSIONS = re.compile(
    r"\.tool-versions|\.prototools|\.nvmrc|\.[a-z]+-version|(?:\.?mise/config|(?:\.config/)?\.?mise)(?:\.\w+)*\.toml"
    r"|\.config/mise/[\w.-]+\.toml"
)
"""Paths in a folder that shims of version managers obey: a line there can name any program (`path:` of asdf)."""
LISTS_OF_PACKAGES = re.compile(r"(?:.*/)?[\w.-]*(?:requirements|constraints|overrides)[\w.-]*\.(?:txt|in)")
"""Their names end as those of data, but installers fetch and execute what they name."""


def chosen_versions(folder: str) -> list[str]:
    """The files in a folder that shims of version managers obey."""
    places = ("", "mise", ".mise", ".config", ".config/mise")
    paths = (os.path.join(place, name) for place in places for name in _names(os.path.join(folder, place)))
    found = (os.path.join(folder, path) for path in paths if CHOOSE_VERSIONS.fullmatch(path))
    return [path for path in found if os.path.isfile(path)]


def deciding_files(words: Sequence[str]) -> re.Pattern[str]:
    """The names of such files for a command line; those for all programs if its own is not known."""
    programs = [os.path.basename(part) for word in words for part in word.split()]
    used = [names for known, names in _OF_PROGRAMS if any(re.fullmatch(known, program) for program in programs)]
    is_known = _NEEDS_NONE.fullmatch(programs[0]) or any(re.fullmatch(known, programs[0]) for known, _ in _OF_PROGRAMS)
    return re.compile("|".join(used if is_known else [names for _, names in _OF_PROGRAMS]) or "(?!)")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
