"""Where compiled code is kept: in a directory of this user, under names that change with all that the code was made of.

Numba's own cache looks only at the file that defines a function: an edited helper in another module would leave stale machine
code behind. So the cache directory of every kernel is keyed on a hash of its module *and* of all project modules that it imports,
directly or not. Old directories are dropped after a month without use.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numba
import numpy as np

_PROJECT = ("ginenv", "agents")
_IMPORT = re.compile(rf"^\s*(?:from|import)\s+((?:{'|'.join(_PROJECT)})(?:\.\w+)*)(?:\s+import\s+\(?([^)#\n]*))?", re.M)
_KEEP_SECONDS = 30 * 86400


def _user_cache() -> Path:
    """The platform's directory for caches; not absolute for a user without a home directory."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return chosen if chosen.is_absolute() else home / ".cache"


def cache_root() -> Path | None:
    """Directory of compiled code: ``$GINENV_CACHE_DIR``, else the user's cache, else a temporary directory.

    Loading compiled code executes it, so a directory in which anybody else may write is not used; None if none is left.
    """
    chosen = os.environ.get("GINENV_CACHE_DIR")
    candidates = [Path(chosen).absolute()] if chosen else []
    with contextlib.suppress(OSError):
        # gettempdir raises an error if it finds no directory that can be written.
        candidates = [*candidates, _user_cache() / "ginenv", Path(tempfile.gettempdir(), _user_name())]
    for candidate in candidates:
        with contextlib.suppress(OSError):
            if candidate.is_absolute() and is_private(candidate):
                return candidate
    return None


def _user_name() -> str:
    # On Windows, directories for temporary files are each user's own, and so are the permissions of what is made there.
    return f"ginenv-{os.getuid()}" if hasattr(os, "getuid") else "ginenv"


def is_private(directory: Path) -> bool:
    """Whether a directory can be written by this user and by nobody else; what is missing of its path is made, for this user alone."""
    for missing in [place for place in reversed((directory, *directory.parents)) if not place.exists()]:
        with contextlib.suppress(FileExistsError):
            missing.mkdir(mode=0o700)
    # The entry itself: a link leads to wherever its owner likes.
    found = directory.lstat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return False
    return stat.S_ISDIR(found.st_mode) and os.access(directory, os.W_OK)


def _module_file(root: Path, name: str) -> Path | None:
    base = root.joinpath(*name.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _sources_of(path: Path, root: Path) -> set[Path]:
    """The file and every project file that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        for module, names in _IMPORT.findall(current.read_text(encoding="utf-8")):
            candidates = [module] + [
                f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(",") if name.strip()
            ]
            waiting.extend(file for name in candidates if (file := _module_file(root, name)) is not None)
    return found


@cache
def source_digest(path: Path) -> str:
    """A hash of a module and of every project module that it imports, directly or not."""
    digest = hashlib.sha256()
    for source in sorted(_sources_of(path, Path(__file__).resolve().parents[2])):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def cache_dir(path: Path) -> str | None:
    """The directory of a module's compiled code; None if none can be made."""
    base = cache_root()
    if base is None:
        return None
    made_with = f"{sys.version} {numba.__version__} {np.__version__} {source_digest(path)}"
    digest = hashlib.sha256(made_with.encode())
    directory = base / f"{path.stem}-{digest.hexdigest()[:16]}"
    try:
        if not directory.exists():
            _drop_unused(base)
        # Nobody else gets through a directory of mode 0700, whatever the umask makes of what Numba puts into it.
        if not is_private(directory):
            return None
        os.utime(directory)
    except OSError:
        return None
    return str(directory)


def _drop_unused(base: Path) -> None:
    oldest = time.time() - _KEEP_SECONDS
    for entry in base.iterdir():
        # Another process may drop the entry at the same time.
        with contextlib.suppress(OSError):
            if entry.is_dir() and entry.stat().st_mtime < oldest:
                shutil.rmtree(entry, ignore_errors=True)
