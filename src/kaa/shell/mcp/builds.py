"""Folders that programs build as a whole: which sources they compile is a convention, no text names them."""

import os
import re
from collections.abc import Collection

from kaa.shell.mcp.code_files import entries

# What marks such a folder, and the programs that build it. Sources are the manuals of the tools.
_BUILDERS = (
    (r"Cargo\.toml", {"cargo"}),
    (r"go\.(?:mod|work)", {"go"}),
    (r"pom\.xml", {"mvn", "mvnw", "mvnd"}),
    (r"(?:build|settings)\.gradle(?:\.kts)?", {"gradle", "gradlew"}),
    (r".+\.(?:(?:cs|fs|vb)proj|slnx?)", {"dotnet"}),
    (r"mix\.exs", {"mix", "iex"}),
    (r"Project\.toml", {"julia"}),
    (r"Package\.swift", {"swift"}),
    (r"build\.zig(?:\.zon)?", {"zig"}),
    (r"build\.(?:sbt|sc|mill)", {"sbt", "mill"}),
    (r"stack\.yaml|package\.yaml|cabal\.project|.+\.cabal", {"stack", "cabal"}),
    (r"project\.clj|deps\.edn|build\.boot", {"lein", "clojure", "clj", "boot"}),
    (r"dune-project", {"dune", "opam"}),
    (r"CMakeLists\.txt|meson\.build|BUILD(?:\.bazel)?|MODULE\.bazel", {"cmake", "meson", "ninja", "bazel", "bazelisk"}),
    (r"shard\.yml", {"crystal", "shards"}),
    (r"gleam\.toml|rebar\.config", {"gleam", "rebar3"}),
)
_KINDS = tuple((re.compile(names), programs) for names, programs in _BUILDERS)


def folder_that_is_built(path: str, programs: Collection[str]) -> str:
    """The folder that a path is, or that it marks, if one of some programs builds it; empty if none does."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    names = [entry.name for entry in entries(folder)] if folder == path else [os.path.basename(path)]
    for pattern, builders in _KINDS:
        if not builders.isdisjoint(programs) and any(map(pattern.fullmatch, names)):
            return folder
    return ""
