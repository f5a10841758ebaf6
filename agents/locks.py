"""A lock that two processes respect, and that ends with the process that holds it, however that ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class FileLock:
    """A lock on a file made for the purpose; the file stays, empty, when the lock is released.

    Args:
        path: the lock file; its directory must be there.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self, *, wait: bool) -> bool:
        """Takes the lock.

        Args:
            wait: whether to wait for another process that holds it.

        Returns:
            Whether the lock is held now; always true after waiting.

        Raises:
            OSError: if the file cannot be made or locked at all.
        """
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if not _lock(descriptor, wait):
                    os.close(descriptor)
                    return False
                # Whoever held it may have removed the directory since it was opened: a lock on a file that is gone binds nobody.
                if os.path.exists(self.path) and os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                    self._descriptor = descriptor
                    return True
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def release(self) -> None:
        """Gives the lock back; does nothing when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> FileLock:
        """Waits for the lock."""
        self.acquire(wait=True)
        return self

    def __exit__(self, *exception: object) -> None:
        """Releases the lock."""
        self.release()


def _lock(descriptor: int, wait: bool) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except PermissionError:
        # What Windows says of a region that another process has locked.
        if sys.platform != "win32":
            raise
        return False
    return True
