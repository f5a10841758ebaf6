"""The bots in a contest's folder: what is a bot, how it is compiled, and the command that runs it within its memory.

    NAME.py NAME.java NAME.rs NAME.cpp      a program of the line protocol in one file; in Java the file is named after its class
    NAME.jar                                one that runs by itself, or a player of the 2021 challenge
    NAME/                                   a folder with such a file and what belongs to it, or with a program ``run``

Nothing here runs a bot; compilers and Java's ``javap`` read it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.files import replacing, write_text
from ginenv.errors import GinError

_COMPILE_SECONDS = 300
_SUFFIXES = ".py", ".java", ".rs", ".cpp", ".jar"
_LISTED = ", ".join(_SUFFIXES)
# In jars of the 2021 challenge: the interface of players, and the challenge's own sample.
_PLAYER, _SAMPLE = "GinRummyPlayer", "SimpleGinRummyPlayer"
# Folders in which tools and editors keep what is no part of a bot.
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "target", "build", "*.pyc")
_RUN = """#!/bin/sh
# What `gin contest` starts for this bot: each of its processes gets at most {memory} MB.
cd "$(dirname "$0")/files" || exit 1
ulimit -d {kilobytes}
exec {command}
"""


@dataclass(frozen=True)
class Entry:
    """A bot of the folder.

    Attributes:
        name: its name in the standings.
        path: its file or folder.
    """

    name: str
    path: Path

    @property
    def main(self) -> Path:
        """The file that is run or compiled.

        Raises:
            GinError: if a folder does not say which.
        """
        if self.path.is_file():
            return self.path
        found = sorted(each for each in self.path.iterdir() if each.suffix in _SUFFIXES or each.name == "run")
        named = [each for each in found if each.stem.casefold() in ("run", "main", "bot", self.name.casefold())]
        chosen = named if len(found) > 1 else found
        if len(chosen) != 1:
            raise GinError(
                f"the folder has to hold one bot: a program 'run', or one file {_LISTED} named bot, main or as the folder; "
                f"it holds {', '.join(each.name for each in found) or 'none'}"
            )
        return chosen[0]

    def digest(self, *settings: object) -> str:
        """A hash of all that the bot consists of, and of these settings."""
        made = hashlib.sha256(repr((self.name, settings)).encode())
        for file in _files(self.path):
            # Names of files need not be UTF-8.
            made.update(os.fsencode(file.relative_to(self.path.parent)) + f"\0{file.stat().st_size}\0".encode())
            made.update(file.read_bytes())
        return made.hexdigest()[:12]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        left_out = _LEFT_OUT(folder, [*folders, *names])
        folders[:] = sorted(set(folders) - left_out)
        yield from (Path(folder, name) for name in sorted(set(names) - left_out) if Path(folder, name).is_file())


def find_entries(directory: Path) -> list[Entry]:
    """The bots in a folder, by name. Of two files that differ in their kinds alone, each keeps its kind in its name.

    Raises:
        GinError: if it is not a folder, or holds no bot.
    """
    if not directory.is_dir():
        raise GinError(f"{directory} is not a folder of bots")
    left_out = _LEFT_OUT(str(directory), os.listdir(directory))
    paths = sorted(each for each in directory.iterdir() if each.name not in left_out)
    paths = [each for each in paths if each.is_dir() or each.suffix in _SUFFIXES]
    if not paths:
        raise GinError(f"{directory} holds no bot; a bot is a file {_LISTED}, or a folder with one")
    stems = [path.stem.casefold() for path in paths]
    names = [path.stem if stems.count(path.stem.casefold()) == 1 else path.name for path in paths]
    for name in names:
        if not re.fullmatch(r"[\w.+ -]{1,60}", name):
            raise GinError(f"{name!r} cannot be a bot's name: letters, digits, blanks and ._+- only, at most 60")
    return [Entry(name, path) for name, path in zip(names, paths, strict=True)]


def build(entry: Entry, place: Path, memory: int, host: Path) -> Path:
    """Compiles a bot, unless that has been done.

    Args:
        entry: the bot.
        place: the folder that is made.
        memory: the most memory that each of its processes gets, in MB.
        host: the host for players of the 2021 challenge (``docs/bots.md``).

    Returns:
        The program that runs it.

    Raises:
        GinError: if it cannot be compiled, with the compiler's first words.
    """
    if not (place / "run").is_file():
        main = entry.main
        with replacing(place) as made:
            if entry.path.is_dir():
                shutil.copytree(entry.path, made / "files", ignore=_LEFT_OUT)
            else:
                (made / "files").mkdir()
                shutil.copy(entry.path, made / "files")
            command = _command(made / "files", main.name, memory, host)
            text = _RUN.format(memory=memory, kilobytes=memory * 1024, command=shlex.join(command))
            write_text(made / "run", text)
            (made / "run").chmod(0o755)
    return place / "run"


def _compile(files: Path, *command: str) -> str:
    """Runs a compiler; returns what it prints."""
    try:
        done = subprocess.run(
            command, cwd=files, capture_output=True, text=True, errors="replace", timeout=_COMPILE_SECONDS
        )
    except FileNotFoundError:
        raise GinError(f"{command[0]} is not installed, which it needs") from None
    except subprocess.TimeoutExpired:
        raise GinError(f"{command[0]} did not finish in {_COMPILE_SECONDS} s") from None
    if done.returncode:
        raise GinError(f"{command[0]} cannot use it: {' '.join((done.stderr or done.stdout).split())[:600]}")
    return done.stdout


def _command(files: Path, name: str, memory: int, host: Path) -> list[str]:
    """Compiles what has to be compiled; returns the command that runs it, which is given in its folder."""
    match "" if name == "run" else Path(name).suffix:
        case ".py":
            return [sys.executable, name]
        case ".java":
            _compile(files, "javac", "-d", "classes", "-sourcepath", ".", name)
            package = re.search(r"^\s*package\s+([\w.]+)\s*;", (files / name).read_text("utf-8", "replace"), re.M)
            prefix = f"{package[1]}." if package else ""
            return _java(memory, "-cp", "classes", prefix + Path(name).stem)
        case ".rs":
            _compile(files, "rustc", "-O", "--crate-name", "bot", name, "-o", "program")
            return ["./program"]
        case ".cpp":
            sources = sorted(each.name for each in files.glob("*.cpp"))
            _compile(files, "g++", "-O2", "-std=c++17", *sources, "-o", "program")
            return ["./program"]
        case ".jar":
            return _jar(files, name, memory, host)
    (files / name).chmod(0o755)
    return [f"./{name}"]


def _java(memory: int, *words: str) -> list[str]:
    # Half of it, so that the machine collects its garbage before its own needs exceed what it gets.
    return ["java", f"-Xmx{max(16, memory // 2)}m", "-XX:+UseSerialGC", *words]


def _jar(files: Path, name: str, memory: int, host: Path) -> list[str]:
    try:
        with zipfile.ZipFile(files / name) as packed:
            names = packed.namelist()
            manifest = packed.read("META-INF/MANIFEST.MF") if "META-INF/MANIFEST.MF" in names else b""
    except (zipfile.BadZipFile, OSError) as error:
        raise GinError(f"it is no jar ({error})") from None
    if b"Main-Class:" in manifest:
        return _java(memory, "-jar", name)
    classes = [each[:-6].replace("/", ".") for each in names if each.endswith(".class") and "-" not in each]
    player, interface = _player_of(_compile(files, "javap", "-cp", name, *classes) if classes else "", Path(name).stem)
    if not host.is_file():
        raise GinError(
            f"it is a player of the 2021 challenge, and its host {host} is missing; docs/bots.md says how to build it"
        )
    package = interface.rpartition(".")[0]
    prefix = f"{package}." if package else ""
    options = [] if package == "ginrummy" else ["--card", f"{prefix}Card", "--interface", interface]
    return _java(memory, "-cp", f"{host.resolve()}{os.pathsep}{name}", "Host", *options, player)


def _player_of(declarations: str, stem: str) -> tuple[str, str]:
    """The player of the 2021 challenge among classes, as ``javap`` prints them, and the interface of players that it implements.

    Of several players, the one whose class is named as the jar is the player.

    Raises:
        GinError: if there is none, or several.
    """
    parents: dict[str, list[str]] = {}
    concrete = []
    # Without the parameters of generic types, which nest.
    while (plain := re.sub(r"<[^<>]*>", "", declarations)) != declarations:
        declarations = plain
    for line in declarations.splitlines():
        if head := re.fullmatch(r"((?:\w+ )*)(class|interface) ([\w.$]+)(.*)\{", line):
            parents[head[3]] = [
                word for word in re.findall(r"[\w.$]+", head[4]) if word not in ("extends", "implements")
            ]
            if head[2] == "class" and "abstract" not in head[1]:
                concrete.append(head[3])

    def implemented(name: str, depth: int = 0) -> str:
        """The interface of players that a class implements, itself or by what it extends; empty if it does not."""
        if name.rpartition(".")[2] == _PLAYER:
            return name
        # Classes that were not made by a compiler may extend each other.
        above = parents.get(name, ()) if depth < len(parents) else ()
        return next((found for each in above if (found := implemented(each, depth + 1))), "")

    own = [name for name in concrete if implemented(name) and name.rpartition(".")[2] != _SAMPLE]
    named = [name for name in own if name.rpartition(".")[2] == stem] or own
    if len(named) != 1:
        raise GinError(
            "a jar runs by itself (Main-Class), or has one player of the 2021 challenge, or one named as the jar; it has "
            f"{', '.join(sorted(own)) or 'none'}"
        )
    return named[0], implemented(named[0])
