"""What an error has to say: its type and facts (the offending value, the allowed ones), never the wording."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest


@contextlib.contextmanager
def refuses(
    error: type[BaseException] | tuple[type[BaseException], ...], *facts: Any
) -> Iterator[pytest.ExceptionInfo]:
    """Passes if ``error`` is raised and each fact stands in its message, as whole words."""
    with pytest.raises(error) as caught:
        yield caught
    messages = " ".join(str(caught.value).split())
    for fact in facts:
        assert re.search(rf"(?<!\w){re.escape(str(fact))}(?!\w)", messages), f"{fact!r} is missing in: {messages}"
