"""Whether two of anything that environments return are the same."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), (where, one.keys() ^ other.keys())
        for key in one:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, np.ndarray):
        assert one.shape == other.shape and one.dtype == other.dtype, where
        if one.dtype == object:
            for a, b in zip(one, other, strict=True):
                assert_same(a, b, where)
        else:
            assert np.array_equal(one, other), where
    elif isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            assert_same(a, b, where)
    else:
        assert one == other, where
