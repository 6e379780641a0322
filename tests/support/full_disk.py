"""A disk that refuses to take more."""

import resource


class files_limited_to:  # noqa: N801 - reads as a statement
    """A real short write: beyond the limit the kernel refuses (EFBIG) and Python ignores SIGXFSZ."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def __enter__(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
