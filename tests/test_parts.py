"""Parts of resumable work: found again by what they depend on, done again if they are damaged, and removed alone."""

from pathlib import Path

import numpy as np

from agents.parts import Parts


def test_a_part_is_found_by_what_it_depends_on(tmp_path: Path) -> None:
    numbers = np.arange(5)
    Parts(tmp_path / "parts", seed=1).save({"numbers": numbers, "names": ["a"]}, first=0)
    found = Parts(tmp_path / "parts", seed=1).load(first=0)
    assert found is not None and found["names"] == ["a"] and (found["numbers"] == numbers).all()
    assert Parts(tmp_path / "parts", seed=2).load(first=0) is None
    assert Parts(tmp_path / "parts", seed=1).load(first=1) is None


def test_a_damaged_part_is_missing(tmp_path: Path) -> None:
    parts, numbers = Parts(tmp_path), np.arange(3000) % 17
    parts.save({"numbers": numbers})
    [path] = tmp_path.iterdir()
    whole, missing = path.read_bytes(), 0
    # Up to the archive's list of contents.
    for place in range(0, whole.index(b"PK\x01\x02"), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xA5]) + whole[place + 1 :])
        found = parts.load()
        missing += found is None
        assert found is None or (found["numbers"] == numbers).all()
    assert missing > 50
    path.write_bytes(b"")
    assert parts.load() is None


def test_parts_of_other_work_in_the_same_directory_stay(tmp_path: Path) -> None:
    mine, others = Parts(tmp_path / "parts", seed=1), Parts(tmp_path / "parts", seed=2)
    mine.save({"n": 1})
    others.save({"n": 2})
    mine.remove()
    assert mine.load() is None and others.load() == {"n": 2}
    others.remove()
    assert not (tmp_path / "parts").exists()
