"""Parts of resumable work: found again by what they depend on, done again if they are damaged, and removed alone."""

import os
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


def test_a_part_is_missing_once_a_file_has_changed_that_no_program_writes(tmp_path: Path, capsys) -> None:
    bot, log = tmp_path / os.fsdecode(b"bot\xff.py"), tmp_path / "log"
    bot.write_text("one")
    files = [str(bot), str(log), "--fast", 300 * "x", "\0"]
    parts = Parts(tmp_path / "parts")
    for n in range(2):
        assert parts.load(files, n=n) is None
        log.write_text(n * "x")
        parts.save({"n": n}, files, n=n)
    log.write_text("nothing")
    again = Parts(tmp_path / "parts")
    assert [again.load(files, n=n) for n in range(2)] == [{"n": 0}, {"n": 1}] and not capsys.readouterr().err
    bot.write_text("another")
    assert [again.load(files, n=n) for n in range(2)] == [None, None]
    said = capsys.readouterr().err
    assert said.count("has changed") == len(said.splitlines()) == 1
    again.save({"n": 5}, files, n=1)
    assert Parts(tmp_path / "parts").load(files, n=1) == {"n": 5}


def test_parts_of_other_work_in_the_same_directory_stay(tmp_path: Path) -> None:
    mine, others = Parts(tmp_path / "parts", seed=1), Parts(tmp_path / "parts", seed=2)
    mine.save({"n": 1})
    others.save({"n": 2})
    mine.remove()
    assert mine.load() is None and others.load() == {"n": 2}
    others.remove()
    assert not (tmp_path / "parts").exists()
