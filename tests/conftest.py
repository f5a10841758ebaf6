"""One thread for matrices: tests run in several processes, and threads that wait for a busy core take longer than small batches.

And the small level that several files of tests play with; what it is made of is imported by those alone who use it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

os.environ["OMP_NUM_THREADS"] = "1"

if TYPE_CHECKING:
    from agents.levels.level import Level


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A level of a small untrained network."""
    from tests.support.level_scenes import write_small_level

    path = tmp_path_factory.mktemp("levels") / "small"
    write_small_level(path)
    return path


@pytest.fixture
def level(directory: Path) -> Level:
    """The same, loaded."""
    from agents.levels.level import load_level

    return load_level(str(directory))
