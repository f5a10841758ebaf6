"""Pages from Jinja templates; the templates beside this file share one style sheet and keep everything within the page."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def shorten(name: str, length: int = 24) -> str:
    """A name that fits into a column."""
    return name if len(name) <= length else name[: length - 1] + "…"


@cache
def environment(package: str) -> Environment:
    """The templates in a package's folder ``templates``: values are escaped, and a name without a value is an error."""
    found = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["shorten"] = shorten
    return found


def page(template: str, **values: Any) -> str:
    """Renders a template as a page; values are escaped unless they are marked as markup."""
    return environment("agents.reports").get_template(template).render(**values)
