"""Players that travel to another machine by content: their names, and the files of the directories in them.

The files lie there in a directory named after their hash, and are read as any checkpoint or level is: nothing in them executes.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from agents.files import read_bytes, replacing, writing
from ginenv.engine.kernel_cache import cache_root
from ginenv.errors import GinError, reason_of
from ginenv.tables.player_names import PlayerSpec, holds_player, parse_player
from ginenv.tables.players import Player

# What players read; a run's resume files and pictures stay where they are.
_SUFFIXES = (".json", ".safetensors", ".bin")
# Of a file: more than any network that ships, and little beside a node's memory.
_MAX_BYTES = 1 << 30

Files = dict[str, bytes]


@dataclass(frozen=True)
class SentPlayer:
    """A player by its name.

    Attributes:
        spec: the parsed name.
        files: files by the directory that the name says.
    """

    spec: PlayerSpec
    files: dict[str, Files] = field(default_factory=dict)

    @property
    def is_program(self) -> bool:
        """Whether it is code that lies outside of this package: ``cmd:`` or ``py:``."""
        return self.spec.kind in ("cmd", "py")


def send_player(player: str | Player) -> SentPlayer | Player:
    """What is sent: a name with its files; a player that is an object travels as it is.

    Raises:
        GinError: if a file of its directory cannot be read.
    """
    if not isinstance(player, str):
        return player
    spec = parse_player(player)
    places = [] if spec.kind in ("cmd", "py") else [spec.argument, *spec.options.values()]
    return SentPlayer(spec, {place: _read(Path(place)) for place in places if holds_player(place)})


def _read(directory: Path) -> Files:
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix in _SUFFIXES)
        return {path.name: read_bytes(path, _MAX_BYTES) for path in paths}
    except OSError as error:
        raise GinError(f"player {directory} cannot be sent to another machine: {reason_of(error)}") from None


def received_player(sent: SentPlayer | Player) -> str | Player:
    """The player's name on this machine, where its files now lie in the cache.

    Raises:
        GinError: if they cannot be written.
    """
    if not isinstance(sent, SentPlayer):
        return sent
    if not sent.files:
        return sent.spec.text
    at = {place: str(_kept(files)) for place, files in sent.files.items()}
    options = {name: at.get(value, value) for name, value in sent.spec.options.items()}
    argument = at.get(sent.spec.argument, sent.spec.argument)
    return PlayerSpec("", sent.spec.kind, argument).with_options(**options)


def _kept(files: Files) -> Path:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    if (cache := cache_root()) is None:
        raise GinError("there is no directory for players in which nobody else may write; GINENV_CACHE_DIR names one")
    directory = cache / f"player-{digest.hexdigest()[:32]}"
    # Many workers of a machine receive it at once; what one of them reads, no other may replace.
    with writing(directory), FileLock(cache / "players.lock"):
        if not directory.exists():
            with replacing(directory) as made:
                for name, content in files.items():
                    (made / os.path.basename(name)).write_bytes(content)
    with suppress(OSError):
        # The cache drops what nobody has used for long.
        os.utime(directory)
    return directory
