"""Reading what the user keeps secret."""

import ctypes
import glob
import os
import shutil
import struct
import subprocess

from tests.escapes.attempts.kit import (
    AT_FDCWD,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    Given,
    attempt,
    mount,
    read,
    syscall,
    unmount,
    unshare,
)
from tests.escapes.attempts.uring import Ring

# Where programs keep what lets others act as the user, below the home.
HIDDEN = (
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".gnupg/private-keys-v1.d/0.key",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".kube/config",
    ".azure/msal_token_cache.json",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".git-credentials",
    ".password-store/bank.gpg",
    ".local/share/keyrings/login.keyring",
    ".mozilla/firefox/profile/logins.json",
    ".config/google-chrome/Default/Login Data",
    ".config/chromium/Default/Cookies",
    ".kaa/agent/auth.json",
    ".kaa/agent/models.json",
    ".kaa/agent/sessions/other-project.jsonl",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".pi/agent/auth.json",
    ".cargo/credentials.toml",
    ".local/share/python_keyring/keyring_pass.cfg",
    ".config/rclone/rclone.conf",
    ".config/pip/pip.conf",
    ".pgpass",
    ".vault-token",
    ".bash_history",
    ".python_history",
    # what no list of secrets names: hidden since it is not listed
    ".bashrc-secrets",
    ".boto",
    ".s3cfg",
    ".cloudflared/cert.pem",
    ".electrum/wallets/default_wallet",
    ".ethereum/keystore/key",
    ".1password/session",
    ".gemini/.env",
    ".claude/projects/chat.jsonl",
    ".config/1Password/settings.json",
    ".config/wireguard/wg0.conf",
    ".config/solana/id.json",
    ".local/share/atuin/history.db",
    ".local/state/wireplumber/token",
    ".cache/some-agent/token",
    ".tool-of-tomorrow/token",
)


def _read(given: Given) -> bytes:
    return read(given.path)


for _hidden in HIDDEN:
    attempt("secret", name=f"read {_hidden}", path=_hidden)(_read)


@attempt("secret", path=".ssh/by-symlink")
def through_symlink(given: Given) -> bytes:
    """Read through a symbolic link of the project's."""
    os.symlink(given.path, f"{given.project}/key")
    return read(f"{given.project}/key")


@attempt("secret", path=".ssh/by-directory")
def through_symlink_to_directory(given: Given) -> bytes:
    """Read through a symbolic link to the directory."""
    os.symlink(os.path.dirname(given.path), f"{given.project}/keys")
    return read(f"{given.project}/keys/{os.path.basename(given.path)}")


@attempt("secret", path=".ssh/by-home")
def through_symlink_to_home(given: Given) -> bytes:
    """Read through a symbolic link to the home."""
    os.symlink(given.home, f"{given.project}/home")
    return read(f"{given.project}/home/" + os.path.relpath(given.path, given.home))


@attempt("secret", path=".ssh/by-hard-link")
def through_hard_link(given: Given) -> bytes:
    """Link the file into the project and read it there."""
    os.link(given.path, f"{given.project}/key-linked")
    return read(f"{given.project}/key-linked")


@attempt("secret", path=".azure/by-rename", group="secrets that come later")
def after_moving_the_directory(given: Given) -> bytes:
    """Move the directory to where nothing hides it."""
    os.rename(os.path.dirname(given.path), f"{given.home}/not-hidden")
    return read(f"{given.home}/not-hidden/{os.path.basename(given.path)}")


@attempt("secret", path=".ssh/by-root")
def through_own_root(given: Given) -> bytes:
    """Read by way of /proc/self/root."""
    return read(f"/proc/self/root{given.path}")


@attempt("secret", path=".ssh/by-cwd")
def through_own_directory(given: Given) -> bytes:
    """Read by way of /proc/self/cwd and `..`."""
    os.chdir(given.project)
    return read("/proc/self/cwd/" + os.path.relpath(given.path, given.project))


@attempt("secret", path=".ssh/by-ancestors")
def through_directory_descriptor(given: Given) -> bytes:
    """Walk up from the project by descriptors, then down."""
    directory = os.open(given.project, os.O_PATH)
    for step in os.path.relpath(given.path, given.project).split("/"):
        directory = os.open(step, os.O_PATH, dir_fd=directory)
    return read(f"/proc/self/fd/{directory}")


@attempt("secret", path=".ssh/by-brain-root")
def through_root_of_brain(given: Given) -> bytes:
    """Read by way of the root of the process that started the sandbox."""
    return read(f"/proc/{given.brain}/root{given.path}")


@attempt("secret", path=".ssh/by-brain-cwd")
def through_directory_of_brain(given: Given) -> bytes:
    """Read by way of the working directory of the process that started the sandbox."""
    return read(f"/proc/{given.brain}/cwd/" + os.path.relpath(given.path, given.project))


@attempt("secret", "io_uring", path=".ssh/by-io-uring")
def through_io_uring(given: Given) -> bytes:
    """Open by io_uring."""
    with Ring() as ring:
        return os.read(ring.open(given.path, os.O_RDONLY), 4096)


@attempt("secret", "root", path=".ssh/by-handle")
def through_handle(given: Given) -> bytes:
    """Look for the file by guessing handles, by way of the project's mount ("shocker")."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount_id = ctypes.create_string_buffer(4)
    syscall("name_to_handle_at", AT_FDCWD, given.home.encode(), handle, mount_id, 0)
    home = syscall("open_by_handle_at", os.open(given.project, os.O_RDONLY), handle, os.O_RDONLY)
    return read(f"/proc/self/fd/{home}/" + os.path.relpath(given.path, given.home))


@attempt("secret", path=".ssh/by-find")
def with_find(given: Given) -> bytes:
    """Find and print."""
    return _output("find", given.home, "-name", "by-find", "-exec", "cat", "{}", "+")


@attempt("secret", path=".ssh/by-grep")
def with_grep(given: Given) -> bytes:
    """Search everything below the home."""
    return _output("grep", "-rsha", "canary-", given.home)


@attempt("secret", path=".ssh/by-copy")
def with_copy(given: Given) -> bytes:
    """Copy the directory into the project."""
    subprocess.run(["cp", "-rL", os.path.dirname(given.path), f"{given.project}/copied"], check=False)
    return read(f"{given.project}/copied/by-copy")


@attempt("secret", path=".ssh/by-tar")
def with_tar(given: Given) -> bytes:
    """Pack the directory."""
    return _output("tar", "-C", given.home, "-cf", "-", ".ssh")


@attempt("secret", path=".ssh/by-glob")
def with_glob(given: Given) -> bytes:
    """Match names, then read."""
    return b"".join(read(path) for path in glob.glob(f"{given.home}/.s*/by-gl?b"))


@attempt("secret", path=".ssh/by-git")
def with_git(given: Given) -> bytes:
    """Have git show the difference from nothing."""
    return _output("git", "diff", "--no-index", "/dev/null", given.path)


@attempt("secret", path=".ssh/by-shell")
def with_error_message(given: Given) -> bytes:
    """Have a shell complain about what it was to execute."""
    return _output("bash", "-c", '. "$1"', "bash", given.path)


@attempt("secret", path=".ssh/by-bind")
def by_binding_the_home(given: Given) -> bytes:
    """Bind the home somewhere else, without what covers its directories."""
    elsewhere = f"{given.project}/bound"
    os.mkdir(elsewhere)
    _in_own_namespace(lambda: mount(given.home, elsewhere, flags=MS_BIND))
    return read(f"{elsewhere}/" + os.path.relpath(given.path, given.home))


@attempt("secret", path=".ssh/by-unmount")
def by_uncovering(given: Given) -> bytes:
    """Unmount what covers the directory."""
    return _uncovered(given, os.path.dirname(given.path))


@attempt("secret", path=".netrc-by-unmount")
def by_uncovering_in_new_namespace(given: Given) -> bytes:
    """Get the rights over a new namespace, and unmount what covers the home there."""
    unshare(CLONE_NEWUSER | CLONE_NEWNS)
    return _uncovered(given, given.path)


@attempt("secret", path=".netrc", group="secrets that come later", late=True)
def created_later(given: Given) -> bytes:
    """Read a file that did not exist when the sandbox was made."""
    return read(given.path)


@attempt("secret", path=".aws/credentials", group="secrets that come later", late=True)
def directory_created_later(given: Given) -> bytes:
    """Read a file in a directory that did not exist when the sandbox was made."""
    return read(given.path)


@attempt("secret", path=".pgpass", group="secrets that come later", replaced=True)
def replaced_later(given: Given) -> bytes:
    """Read a file that was replaced after the sandbox was made, as editors and logins do."""
    return read(given.path)


@attempt("secret", path=".ssh/linked-home", alone=True, home_link=True)
def home_is_a_link(given: Given) -> bytes:
    """Read by the real path of a home that is a symbolic link."""
    return read(os.path.realpath(given.path))


@attempt("secret", path=".of-tomorrow", group="secrets that come later", late=True)
def unlisted_and_created_later(given: Given) -> bytes:
    """Read a file that no list names and that did not exist when the sandbox was made."""
    return read(given.path)


@attempt("secret", path=".config/of-tomorrow/token", group="secrets that come later", late=True)
def unlisted_below_and_created_later(given: Given) -> bytes:
    """Read a file of a program whose directory did not exist when the sandbox was made."""
    return read(given.path)


@attempt("environment", variable="ANTHROPIC_API_KEY")
def own_environment(given: Given) -> bytes:
    """Look for a provider's key in the environment."""
    return "\n".join(os.environ.values()).encode()


@attempt("environment", variable="OPENAI_API_KEY")
def environment_of_commands(given: Given) -> bytes:
    """Look for a provider's key in the environment of a shell that reads start-up files."""
    return _output("bash", "-lc", "env")


@attempt("environment", variable="GITHUB_TOKEN")
def environment_of_brain(given: Given) -> bytes:
    """Read the environment of the process that started the sandbox."""
    return read(f"/proc/{given.brain}/environ")


@attempt("environment", variable="AWS_SECRET_ACCESS_KEY")
def environment_of_ancestors(given: Given) -> bytes:
    """Read the environment of every process there is."""
    pids = glob.glob("/proc/[0-9]*") if given.sandboxed else [f"/proc/{given.brain}"]
    return b"\n".join(_read_if_allowed(f"{pid}/environ") for pid in pids)


@attempt("environment", variable="NPM_TOKEN", unproven="without a sandbox there is no process 1 of one")
def memory_of_first_process(given: Given) -> bytes:
    """Read the memory of process 1, which a fork-server's child is."""
    found = b""
    if not given.sandboxed:
        return found
    for line in read("/proc/1/maps").decode().splitlines():
        start, _, end = line.partition(" ")[0].partition("-")
        if line.partition(" ")[2].startswith("rw"):
            with open("/proc/1/mem", "rb", buffering=0) as memory:
                memory.seek(int(start, 16))
                found += memory.read(int(end, 16) - int(start, 16)) or b""
    return found


@attempt("environment", variable="SSH_AUTH_SOCK")
def agent_of_ssh(given: Given) -> bytes:
    """Look for the way to the user's ssh agent."""
    return os.environ.get("SSH_AUTH_SOCK", "").encode()


@attempt("descriptor")
def inherited_descriptors(given: Given) -> bytes:
    """Read every descriptor that was inherited."""
    found = b""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            found += _read_if_allowed(f"/proc/self/fd/{name}")
            try:
                found += os.pread(int(name), 4096, 0)
            except OSError:
                continue
    return found


@attempt("descriptor")
def descriptors_of_brain(given: Given) -> bytes:
    """Open the descriptors of the process that started the sandbox."""
    os.listdir(f"/proc/{given.brain}/fd")
    return _opened(str(given.brain))


@attempt("descriptor")
def descriptors_of_all(given: Given) -> bytes:
    """Open the descriptors of every process there is."""
    return _opened("[0-9]*" if given.sandboxed else str(given.brain))


@attempt("victim")
def environment_of_stranger(given: Given) -> bytes:
    """Read the environment of a process outside."""
    return read(f"/proc/{given.pid}/environ")


@attempt("victim")
def arguments_of_stranger(given: Given) -> bytes:
    """Read the arguments of a process outside, which often hold keys."""
    return read(f"/proc/{given.pid}/cmdline")


@attempt("victim")
def descriptor_of_stranger(given: Given) -> bytes:
    """Read what a process outside has open."""
    return read(f"/proc/{given.pid}/fd/0")


@attempt("victim")
def listing_of_processes(given: Given) -> bytes:
    """List all processes with their arguments."""
    return _output("ps", "-ww", "-o", "args", "-p", str(given.pid)) if shutil.which("ps") else b""


def _opened(processes: str) -> bytes:
    """What descriptors are open on, but for standard streams: those carry our own reports."""
    paths = glob.glob(f"/proc/{processes}/fd/*")
    return b"".join(_read_if_allowed(path) for path in paths if int(os.path.basename(path)) > 2)


def _uncovered(given: Given, cover: str) -> bytes:
    try:
        unmount(cover)
    except OSError:
        if given.sandboxed:
            raise
    return read(given.path)


def _in_own_namespace(act: "object") -> None:
    """Do something with mounts, first with the rights there are, then with those over a new namespace."""
    assert callable(act)
    try:
        act()
    except OSError:
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        act()


def _read_if_allowed(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _output(*command: str) -> bytes:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False)
    return done.stdout + done.stderr
