"""Pages: Jinja templates beside this file, one style sheet, everything within the page."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def shorten(name: str, length: int = 24) -> str:
    """A name that fits into a column."""
    return name if len(name) <= length else name[: length - 1] + "…"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("agents.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shorten"] = shorten
    return environment


def page(template: str, **values: Any) -> str:
    """A page of a template; values are escaped but for those marked as markup."""
    return _environment().get_template(template).render(**values)
