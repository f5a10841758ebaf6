"""Values that are kept on disk as JSON: checked when they are read; bad ones are refused in one sentence."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field

from agents.config import Config, parse_config
from agents.files import parse_json

# A text that is shown: a terminal would obey its control characters.
Shown = Annotated[str, Field(pattern=r"\A\P{Cc}*\z")]


class StoredModel(Config):
    """Base class of kept values; it accepts no unknown fields, and no values of another type."""

    model_config = ConfigDict(strict=True, frozen=False)

    @classmethod
    def read(cls, values: Any) -> Self:
        """Reads a value from a JSON text (``str`` or ``bytes``), or from parsed JSON.

        Raises:
            GinError: if the text is not JSON, or a field is missing, unknown or has a value that it cannot have.
        """
        return parse_config(
            parse_json(values) if isinstance(values, str | bytes) else values, cls, cls.__name__.lower()
        )
