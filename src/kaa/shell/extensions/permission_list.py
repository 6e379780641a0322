"""Permissions of an extension in words, for questions and reports."""

from kaa.ext.permissions import Permissions

_LEVELS = ("none", "read", "write")


def in_words(permissions: Permissions) -> list[str]:
    """What the permissions allow, a phrase for each; their hosts and names are the extension's."""
    return lacking(permissions, Permissions())


def lacking(wanted: Permissions, granted: Permissions) -> list[str]:
    """What is wanted and not granted, a phrase for each."""
    accesses = {
        "the project": (wanted.project, granted.project),
        "the session": (wanted.session, granted.session),
    }
    missing = [
        f"{access} {what}" for what, (access, has) in accesses.items() if _LEVELS.index(access) > _LEVELS.index(has)
    ]
    missing += [f"connect to {host}" for host in wanted.hosts if host not in granted.hosts]
    missing += [f"read the key of {key}" for key in wanted.keys if key not in granted.keys]
    return [*missing, *(["call models at your cost"] if wanted.models and not granted.models else [])]
