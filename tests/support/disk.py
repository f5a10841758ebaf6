"""A disk that is full, or cannot be written: file systems of a few pages in memory, which only root may mount, and only on Linux."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest


class SmallDisk:
    """A file system of two megabytes at a path; skips the test where it cannot be had."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if sys.platform != "linux" or os.geteuid() != 0:
            pytest.skip("only root may mount a small disk, and only on Linux")
        path.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")

    def fill(self) -> None:
        """Writes until nothing more can be."""
        with open(self.path / "filling", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError as error:
                assert error.errno == errno.ENOSPC

    def make_read_only(self) -> None:
        """From now on nothing can be written at all."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)

    def close(self) -> None:
        """Takes it away, whoever may still have a file of it open."""
        subprocess.run(["umount", "-l", str(self.path)], check=True)
