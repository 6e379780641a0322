"""kaa's own process: what it has in memory stays out of files and from other programs of the user; and its end."""

import atexit
import os
import sys
import threading
from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping
from contextlib import contextmanager

_PR_SET_DUMPABLE = 4  # linux/prctl.h
_RTLD_NOW = 2

# What an interpreter loads code from or keeps compiled code in.
_OF_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX")

# For a renewed login to arrive: a server that takes longer has hardly renewed it.
_LONGEST_SECONDS = 15.0

_change = threading.Condition()
_under_way = 0


def forbid_dumps() -> None:
    """Leave no core file when this process crashes, and let no process of the user trace it or read its memory.

    Programs that it starts can be traced as usual. They inherit the limit for core files, which they can raise again.
    """
    import resource  # lazy, as below: not for `kaa --version`

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        # `ctypes` takes ten times as long to import as what it is made of.
        import _ctypes

        program = _ctypes.dlopen(None, _RTLD_NOW)  # type: ignore[arg-type]  # None: what is loaded, as for ctypes.CDLL
        prctl = _ctypes.dlsym(program, "prctl")
        _ctypes.call_function(prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0))


def end(code: int) -> int:
    """End this process at once. The interpreter would free every object first, a tenth of the CPU time of a turn.

    Returns:
        The exit code, if the interpreter has to end it: threads still work, or it has to report lost output.
    """
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        return code
    atexit._run_exitfuncs()  # what the interpreter does, and `multiprocessing` for its processes
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code
    os._exit(code)


@contextmanager
def critical() -> Iterator[None]:
    """Work that a signal must not cut off, in any thread: what a server gives only once has to be written down."""
    global _under_way  # noqa: PLW0603 the end of a process concerns all of it
    with _change:
        _under_way += 1
    try:
        yield
    finally:
        with _change:
            _under_way -= 1
            _change.notify_all()


def exit_by_signal(number: int, _frame: object = None) -> None:
    """End the process at once, or when no critical work is under way any more. A handler for signals."""
    if _under_way:
        exit_soon(128 + number, after=0)
    else:
        os._exit(128 + number)


def exit_soon(code: int, after: float) -> None:
    """End the process in a while from another thread, when no critical work is under way any more.

    Args:
        after: seconds.
    """
    timer = threading.Timer(after, _exit, (code,))
    timer.daemon = True
    timer.start()


def _exit(code: int) -> None:
    with _change:  # no such work begins any more
        _change.wait_for(lambda: not _under_way, _LONGEST_SECONDS)
        os._exit(code)


def files_limited_to(most: int) -> Callable[[], None]:
    """What a new process calls before it begins, so that no file that it writes has more bytes.

    For `preexec_fn` of `subprocess`, in a process that has no other threads.
    """
    import resource  # lazy, both: few commands download anything
    import signal

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)

    def begin() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that it reports the error
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return begin


def current_directory() -> str | None:
    """The directory that kaa was started in, absolute; None if it does not exist any more."""
    try:
        return os.getcwd()
    except OSError:
        return None


def relative_variable(environ: Mapping[str, str]) -> str:
    """The first variable that makes Python load code from the current directory; empty if there is none."""
    for name in _OF_PYTHON if not sys.flags.ignore_environment else ():
        if (value := environ.get(name, "")) and not all(map(os.path.isabs, _entries(name, value))):
            return name
    return ""


def leave_out_current_directory(environ: MutableMapping[str, str]) -> str:
    """Load no module from the current directory, which an empty or relative entry of PYTHONPATH names.

    Args:
        environ: of this process; what other programs inherit is corrected too.

    Returns:
        Why kaa must not go on, empty if it may: Python has loaded modules from there before kaa could prevent it.
    """
    name = relative_variable(environ)
    if not name:
        return ""
    value = environ[name]
    loaded = "code"
    if name == "PYTHONPATH":
        kept = [entry for entry in _entries(name, value) if os.path.isabs(entry)]
        here = {os.path.realpath(entry) for entry in _entries(name, value) if entry not in kept}
        loaded = next((file for file in _files_of_modules() if _is_loaded_from(file, here)), "")
        if not loaded:
            sys.path[:] = [path for path in sys.path if os.path.realpath(path) not in here]
            environ[name] = os.pathsep.join(kept)
            return leave_out_current_directory(environ)
    return (
        f"{name} is {value!r}: an empty or relative entry made Python load {loaded} from the directory that kaa is"
        f" started in, before kaa could prevent it. Use absolute paths only, or start kaa with: env -u {name} kaa"
    )


def _entries(name: str, value: str) -> list[str]:
    return value.split(os.pathsep) if name in ("PYTHONPATH", "PYTHONHOME") else [value]


def _files_of_modules() -> Iterator[str]:
    """The file of every module that has been loaded, but for those in packages."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and "." not in name:
            yield file


def _is_loaded_from(file: str, directories: Container[str]) -> bool:
    """Whether the file of a module, or of the `__init__` of a package, is in one of these entries of `sys.path`."""
    folder = os.path.dirname(os.path.realpath(file))
    if os.path.basename(file).startswith("__init__."):
        folder = os.path.dirname(folder)
    return folder in directories
