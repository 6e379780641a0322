"""Sessions as lists show them, made up."""

from pathlib import Path

from kaa.session.catalogue.records import SessionSummary

# Unix time in seconds.
NOW = 1_700_000_000


def summary(
    name: str,
    *,
    title: str | None = None,
    said: str = "",
    minutes_ago: int = 0,
    parent: str | None = None,
    cwd: str = "/project",
) -> SessionSummary:
    """A session with the file `/sessions/<name>.jsonl`."""
    modified = (NOW - 60 * minutes_ago) * 1000
    origin = None if parent is None else path_of(parent)
    return SessionSummary(path_of(name), name, cwd, title, said or f"said in {name}", 1, modified, 7, origin, 1, "kaa")


def path_of(name: str) -> Path:
    """The file of the session with this name."""
    return Path(f"/sessions/{name}.jsonl")
