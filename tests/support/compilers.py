"""Programs in other languages for tests: compiled once for each session, or skipped where the language is missing."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agents.programs.player import BotLimits

ROOT = Path(__file__).resolve().parents[2]
BOTS = ROOT / "examples" / "bots"
HOST = ROOT / "bridges" / "eaai"
STAND_INS = ROOT / "tests" / "data" / "eaai"

# A Java machine on a busy computer takes its time, to start and to end.
PATIENT = BotLimits(start_seconds=60, seconds=60, end_seconds=30)
# What starts soonest, for programs that run for a moment.
JAVA = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
JAVAC = ("javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-Xlint:all")


def need(*tools: str) -> None:
    """Skips a test where a program that it needs is missing."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")


def compile_with(*words: str | Path) -> None:
    """Runs a compiler, whose words are the failure's."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, f"warnings: {done.stderr}"


def build_bot(language: str, folder: Path) -> str:
    """Compiles an example bot into a folder; returns the command that runs it."""
    if language == "java":
        need("java", "javac")
        compile_with(*JAVAC, "-d", folder, BOTS / "Bot.java")
        return f"{JAVA} -cp {folder} Bot"
    compiler = {"rust": ("rustc", "-O"), "cpp": ("g++", "-O2", "-std=c++17", "-Wall", "-Wextra")}[language]
    need(compiler[0])
    compile_with(*compiler, BOTS / {"rust": "bot.rs", "cpp": "bot.cpp"}[language], "-o", folder / language)
    return str(folder / language)


def build_host(folder: Path) -> Path:
    """Compiles the EAAI host into a folder."""
    need("java", "javac")
    compile_with(*JAVAC, "-d", folder, "-sourcepath", HOST, HOST / "Host.java")
    return folder


def build_players(folder: Path, sources: Sequence[Path]) -> Path:
    """Compiles players and what stands in for the challenge's classes into a folder, without the host."""
    compile_with(*JAVAC, "-d", folder, *sources)
    return folder
