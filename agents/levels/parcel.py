"""A level as one file to pass on: a zip archive of the level's files and nothing else."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.files import check_writable, write_atomic
from agents.levels.answers import ANSWERS
from agents.levels.bench.rating import RATING
from agents.levels.level import FILES, Level, LevelError
from ginenv.errors import GinError

SUFFIX = ".zip"
# No level is larger; what unpacks to more is not one.
_MOST_BYTES = 64 << 20
# The same level makes the same file, whenever it is packed.
_DATE = (1980, 1, 1, 0, 0, 0)
_ALLOWED = (*FILES, ANSWERS, RATING)


def pack(level: Level, file: Path) -> None:
    """Writes a level as one file.

    Args:
        level: as installed.
        file: that does not exist yet.

    Raises:
        GinError: if the file is there already or cannot be written.
    """
    directory = level.directory
    if file.exists():
        raise LevelError(f"{file} is there already; name another file")
    check_writable(file)

    def write(path: str) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in _ALLOWED:
                if (directory / name).is_file():
                    archive.writestr(
                        zipfile.ZipInfo(name, _DATE), (directory / name).read_bytes(), zipfile.ZIP_DEFLATED
                    )

    write_atomic(file, write)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """A directory with the files of a packed level, while it lasts; they have not been checked as a level's.

    Args:
        file: as ``pack`` writes it.

    Raises:
        LevelError: if it is not an archive of a level's files.
    """
    with tempfile.TemporaryDirectory() as beside:
        made = Path(beside) / file.stem
        made.mkdir()
        try:
            with zipfile.ZipFile(file) as archive:
                _unpack(archive, made, file)
        except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise LevelError(f"{file} is not a level that was exported to a file ({error})") from None
        try:
            yield made
        except GinError as error:
            # Where it was unpacked says nothing to anybody.
            raise LevelError(str(error).replace(str(made), str(file))) from None


def _unpack(archive: zipfile.ZipFile, directory: Path, file: Path) -> None:
    """Unpacks the members, each by a name that a level's file has: nothing can be written elsewhere, nor more than a level holds."""
    names = archive.namelist()
    strange = [name for name in names if name not in _ALLOWED] or [name for name in names if names.count(name) > 1]
    if strange:
        raise LevelError(f"{file} holds {strange[0][:80]!r}; a level's file holds {', '.join(_ALLOWED)}, each once")
    left = _MOST_BYTES
    for name in names:
        with archive.open(name) as member:
            content = member.read(left + 1)
        left -= len(content)
        if left < 0:
            raise LevelError(f"{file} unpacks to more than {_MOST_BYTES >> 20} MiB, which no level does")
        (directory / name).write_bytes(content)
