"""What weaker tiers cannot hold, as docs/sandbox.md says. Tier `full` holds everything, so it is not in here."""

from collections.abc import Mapping

_OTHERS_ARE_SEEN = "without a process namespace others are seen, with their arguments"
_NO_LANDLOCK_RIGHT = "Landlock knows no right to change permissions, times and attributes"
_NO_MOUNTS = "without mounts nothing in a writable directory can be held"
_MOVED_BACK = "the guard moves it away, and leaves it beside the old name; what was deleted stays deleted"
_SOCKETS = "sockets of daemons are masked when hands start; later ones are not"

KNOWN: Mapping[str, Mapping[str, str]] = {
    "bwrap": {
        "unix_sockets.connect_to_daemon_in_project": _SOCKETS,
        "unix_sockets.connect_to_daemon_of_unknown_name": _SOCKETS,
        "unix_sockets.connect_to_later_daemon": _SOCKETS,
        "unix_sockets.connect_to_later_daemon_in_home": _SOCKETS,
        "unix_sockets.connect_to_restarted_daemon": _SOCKETS,
        "unix_sockets.send_to_later_daemon": _SOCKETS,
    },
    "landlock": {
        "files.change_flags": _NO_LANDLOCK_RIGHT,
        "files.change_mode": _NO_LANDLOCK_RIGHT,
        "files.change_mode_of_descriptor": _NO_LANDLOCK_RIGHT,
        "files.change_mode_through_proc": _NO_LANDLOCK_RIGHT,
        "files.change_mode_with_new_call": _NO_LANDLOCK_RIGHT,
        "files.change_times": _NO_LANDLOCK_RIGHT,
        "files.change_times_of_descriptor": _NO_LANDLOCK_RIGHT,
        "files.set_attribute": _NO_LANDLOCK_RIGHT,
        "files.set_attribute_of_descriptor": _NO_LANDLOCK_RIGHT,
        "network.past_the_proxy": "the network is open or closed as a whole",
        "persistence.add_to_existing_directory": _MOVED_BACK,
        "persistence.delete_protected_file": _MOVED_BACK,
        "persistence.replace_protected_directory": _MOVED_BACK,
        "repository.attributes": _NO_MOUNTS,
        "repository.branch": _NO_MOUNTS,
        "repository.head": _NO_MOUNTS,
        "repository.history": _NO_MOUNTS,
        "repository.index": _NO_MOUNTS,
        "secrets.arguments_of_stranger": _OTHERS_ARE_SEEN,
        "secrets.listing_of_processes": _OTHERS_ARE_SEEN,
        "surface.see_other_processes": _OTHERS_ARE_SEEN,
    },
}
