"""What is in a jar: a program that runs by itself, or a player of the 2021 challenge; found without running anything."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import NamedTuple

from ginenv.errors import GinError

_PLAYER, _SAMPLE = "GinRummyPlayer", "SimpleGinRummyPlayer"
_ABSTRACT_OR_INTERFACE = 0x0600
_MAX_CLASS = 10_000_000
# Bytes of each entry of a class file's constant pool after its tag; a text has its length in front.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


class _Class(NamedTuple):
    """A class by its names, with slashes, as class files have them."""

    name: str
    parents: tuple[str, ...]
    is_concrete: bool


def _read_class(content: bytes) -> _Class:
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    (count,) = struct.unpack_from(">H", content, 8)
    at, index = 10, 1
    while index < count:
        tag = content[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", content, at + 1)
            texts[index] = content[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == 7:
                (classes[index],) = struct.unpack_from(">H", content, at + 1)
            at += 1 + _SIZES[tag]
        # Numbers of eight bytes take two places.
        index += 2 if tag in (5, 6) else 1
    access, this, parent, interfaces = struct.unpack_from(">4H", content, at)
    numbers = struct.unpack_from(f">{interfaces}H", content, at + 8)
    named = [texts[classes[number]] for number in (this, parent, *numbers) if number]
    return _Class(named[0], tuple(named[1:]), not access & _ABSTRACT_OR_INTERFACE)


def player_in(jar: Path) -> tuple[str, list[str]] | None:
    """The player of the 2021 challenge in a jar, and what the host has to know of it; ``None`` for a jar that runs by itself.

    Of several players, the one whose class is named as the jar is the player; the challenge's own sample is not one.

    Raises:
        GinError: if it is neither, or there are several players.
        OSError, BadZipFile: if it is no jar.
    """
    found: dict[str, _Class] = {}
    with zipfile.ZipFile(jar) as packed:
        names = packed.namelist()
        if "META-INF/MANIFEST.MF" in names and b"Main-Class:" in packed.read("META-INF/MANIFEST.MF"):
            return None
        for name in names:
            if name.endswith(".class") and packed.getinfo(name).file_size <= _MAX_CLASS:
                try:
                    read = _read_class(packed.read(name))
                except (struct.error, KeyError, IndexError):
                    raise GinError(f"{name} in it is no class of Java") from None
                found[read.name] = read

    def plays(name: str, depth: int = 0) -> str:
        """The interface of players that a class implements, itself or by what it extends."""
        if name.rpartition("/")[2] == _PLAYER:
            return name
        parents = found[name].parents if name in found and depth < len(found) else ()
        return next((interface for each in parents if (interface := plays(each, depth + 1))), "")

    players = {name: plays(name) for name, each in found.items() if each.is_concrete and plays(name)}
    own = [name for name in players if name.rpartition("/")[2] != _SAMPLE]
    named = [name for name in own if name.rpartition("/")[2] == jar.stem] or own
    if len(named) != 1:
        listed = ", ".join(sorted(name.replace("/", ".") for name in own)) or "none"
        raise GinError(
            f"a jar runs by itself (Main-Class), or has one player of the 2021 challenge, or one named as the jar; it has {listed}"
        )
    package = players[named[0]].rpartition("/")[0].replace("/", ".")
    prefix = f"{package}." if package else ""
    options = [] if package == "ginrummy" else ["--card", f"{prefix}Card", "--interface", f"{prefix}{_PLAYER}"]
    return named[0].replace("/", "."), options
