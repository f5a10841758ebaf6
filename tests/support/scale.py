"""How much is tried: `GINENV_TEST_SCALE=100 pytest tests/test_melds.py` compares a hundred times as many hands as `make test`."""

from __future__ import annotations

import os

SCALE = int(os.environ.get("GINENV_TEST_SCALE", "1"))
