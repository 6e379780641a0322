"""Which programs a rule that ends in `*` may let out of the sandbox.

The sandbox hides secrets. A program outside it reads them for the model if any further word, an option or an operand,
can name a file: `git commit -F ~/.ssh/id_rsa` and then `git log`. So this is a list of what is harmless, not of what is
not: programs of which no further word names a file, a directory, a program or another machine. From the manual pages of
GNU coreutils 9.7, procps 4 and Docker 28.
"""

from collections.abc import Sequence

_ANY_WORDS = frozenset(
    {("docker", "images"), ("docker", "logs"), ("docker", "port"), ("docker", "ps")}
    | {(name,) for name in ("arch", "echo", "false", "groups", "id", "nproc", "sleep", "true", "uname", "whoami")}
)


def risk_of_any_words(words: Sequence[str]) -> str | None:
    """Why further words after these are a risk outside the sandbox, and what to do instead; None if they are not."""
    if any(tuple(words[: len(known)]) == known for known in _ANY_WORDS):
        return None
    instead = "write the exact command, without *"
    if words[0] == "git":
        instead += ". For commits no rule is needed: start kaa with --allow-git"
    return f"outside the sandbox, further words of {words[0]} could disclose or overwrite any of your files: {instead}"
