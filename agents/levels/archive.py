"""A level as one file to pass on: a zip archive of the level's files and nothing else."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.files import check_writable, write_atomic
from agents.levels.level import FILES, Level, LevelError, files_of
from agents.levels.responses import RESPONSES
from ginenv.errors import GinError

SUFFIX = ".zip"
# More than any level holds; an archive that unpacks to more is refused.
_MAX_BYTES = 64 << 20
# The same level makes the same file, whenever it is packed.
_DATE = (1980, 1, 1, 0, 0, 0)
_ALLOWED = (*FILES, RESPONSES)


def pack(level: Level, file: Path) -> None:
    """Writes a level as one file.

    Args:
        level: as installed.
        file: to write; it must not exist yet.

    Raises:
        GinError: if the file exists already or cannot be written.
    """
    if file.exists():
        raise LevelError(f"{file} is there already; name another file")
    check_writable(file)

    def write(path: str) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in files_of(level.directory):
                content = (level.directory / name).read_bytes()
                archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)

    write_atomic(file, write)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """A temporary directory with the files of a packed level; whether they form a sound level is not checked.

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
                names = archive.namelist()
                if strange := [name for name in names if name not in _ALLOWED or names.count(name) > 1]:
                    holds = f"a level's file holds {', '.join(_ALLOWED)}, each once"
                    raise LevelError(f"{file} holds {strange[0][:80]!r}; {holds}")
                if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                    raise LevelError(f"{file} unpacks to more than {_MAX_BYTES >> 20} MiB, which no level does")
                # A member whose content is longer than it says fails its checksum.
                archive.extractall(made)
        except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise LevelError(f"{file} is not a level that was exported to a file ({error})") from None
        try:
            yield made
        except GinError as error:
            # The temporary path means nothing to the user.
            raise LevelError(str(error).replace(str(made), str(file))) from None
