"""Options behind a name: ``search:worlds=512,belief=uniform``, ``eaai:target=50``."""

from __future__ import annotations

from typing import Any


def parse_options(text: str) -> dict[str, Any]:
    """What stands behind a name's colon: numbers, ``true`` and ``false``, other words as they are.

    Raises:
        ValueError: for a part without a value; its argument is that part.
    """
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition("=")
        if not separator:
            raise ValueError(part)
        options[key.strip()] = _value(value.strip())
    return options


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
