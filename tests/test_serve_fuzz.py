"""``gin serve`` under requests that schemathesis makes from its OpenAPI description.

No request is an error of the server, and no answer is one that is not described.
"""

from typing import Any

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from schemathesis.specs.openapi import checks  # noqa: E402

from tests.support.scale import SCALE  # noqa: E402
from tests.support.serving import TOKEN, serving  # noqa: E402

# A message that fits its schema may still break the rules of the game, and some names are refused by what they mean.
NOT_CHECKED = ("positive_data_acceptance", "negative_data_rejection", "ignored_auth", "missing_required_header")


def test_every_answer_is_one_that_the_description_allows(tmp_path):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    excluded = [getattr(checks, name) for name in NOT_CHECKED]
    tried: list[str] = []

    def fuzz(operation: Any) -> None:
        @given(case=operation.as_strategy())
        @settings(
            max_examples=8 * SCALE, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def run(case: Any) -> None:
            case.call_and_validate(headers=headers, excluded_checks=excluded)

        run()
        tried.append(operation.label)

    with serving(tmp_path, "--sessions", "30") as server:
        description = schemathesis.openapi.from_url(f"{server.url}/openapi.json", headers=headers)
        for found in description.get_all_operations():
            fuzz(found.ok())
        # Still there, and still of use.
        assert server.call("GET", "/")[0] == 200
    assert len(tried) == 11, tried
