"""Values that are kept on disk as JSON: checked when they are read; bad ones are refused in one sentence."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.files import JsonError, parse_json
from ginenv.errors import GinError

# A text that is shown: a terminal would obey its control characters.
Shown = Annotated[str, Field(pattern=r"\A\P{Cc}*\z")]


class StoredModel(BaseModel):
    """Base class of kept values; it accepts no unknown fields, and no values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def read(cls, values: Any) -> Self:
        """Reads a value from a JSON text (``str`` or ``bytes``), or from parsed JSON.

        Raises:
            GinError: if the text is not JSON, or a field is missing, unknown or has a value that it cannot have.
        """
        try:
            return cls.model_validate(parse_json(values) if isinstance(values, str | bytes) else values)
        except JsonError as error:
            raise GinError(f"it is not JSON: {error}") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            if (own := first.get("ctx", {}).get("error")) is not None:
                raise GinError(str(own)) from None
            where = ".".join(str(part) for part in first["loc"])
            raise GinError(f"field {where!r}: {first['msg']}" if where else first["msg"]) from None
