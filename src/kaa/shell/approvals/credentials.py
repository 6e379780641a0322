"""Which commands use credentials of the user, which the sandbox hides: they can only work outside."""

from kaa.shell.approvals.grammar import Words

# Of these, every subcommand that does not only show help or a version.
_CLIENTS = frozenset(
    """
    aws az doctl eb firebase fly flyctl gcloud gh glab gsutil heroku hub kubectl mosh netlify op oc railway s3cmd scp
    sftp ssh tea twine vault vercel wrangler
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
_SUBCOMMANDS = {
    "cargo": ("login", "owner", "publish", "yank"),
    "gem": ("push", "signin", "yank"),
    "git": ("push", "send-email"),
    "helm": ("install", "list", "ls", "push", "rollback", "status", "uninstall", "upgrade"),
    "mvn": ("deploy",),
    "npm": ("access", "adduser", "dist-tag", "login", "owner", "publish", "token", "unpublish", "whoami"),
    "pnpm": ("login", "publish", "whoami"),
    "poetry": ("publish",),
    "pulumi": ("destroy", "preview", "refresh", "up"),
    "terraform": ("apply", "destroy", "import", "plan", "refresh"),
    "tofu": ("apply", "destroy", "import", "plan", "refresh"),
    "uv": ("publish",),
    "yarn": ("publish",),
}
FETCHING = ("clone", "fetch", "ls-remote", "pull", "submodule")
_ONLY_SHOWING = frozenset(("--help", "--version", "-h", "completion", "help", "version"))


def use_of_credentials(name: str, arguments: Words) -> str | None:
    """Why a command works only outside the sandbox, a sentence without a full stop; None if it may work inside.

    Args:
        name: of the program.
        arguments: without git's options before the subcommand; None for a word that bash computes.
    """
    if not _ONLY_SHOWING.isdisjoint(arguments):
        return None
    first = next((word for word in arguments if word is not None and not word.startswith("-")), "")
    if name in _CLIENTS:
        return f"{name} uses your credentials, which the sandbox hides" if arguments else None
    if first and first in _SUBCOMMANDS.get(name, ()):
        return f"{name} {first} uses the network and your credentials, which the sandbox hides"
    if name == "rsync" and any(_names_host(word, anonymous=True) for word in arguments):
        return "rsync uses ssh and your keys, which the sandbox hides"
    if name == "git" and first in FETCHING and any(_names_host(word) for word in arguments):
        return f"git {first} uses ssh and your keys, which the sandbox hides"
    if name == "git" and first in ("commit", "tag") and any(_signs(word, first) for word in arguments):
        return f"git {first} signs with your key, which the sandbox hides"
    return None


def _names_host(word: str | None, *, anonymous: bool = False) -> bool:
    """Whether a word is an address of ssh: `ssh://host/x`, `user@host:x` or, if `anonymous`, `host:x`."""
    if word is None or word.startswith(("-", "/", ".")):
        return False
    if "://" in word:
        return word.startswith(("ssh://", "git+ssh://"))
    host, colon, _ = word.partition(":")
    return bool(colon) and "/" not in host and ("@" in host or anonymous)


def _signs(word: str | None, subcommand: str) -> bool:
    if word is None:
        return False
    short = "-S" if subcommand == "commit" else "-s"
    return word in ("--gpg-sign", "--sign") or word.startswith(("--gpg-sign=", short))
