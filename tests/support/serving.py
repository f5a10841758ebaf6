"""``gin serve`` in a process of its own, and in this one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.programs import ROOT

_GIN = "from agents.cli import main; main()"
TOKEN = "a-token-for-tests-1234"


class Served:
    """A server that runs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, body: object = None, token: str = TOKEN) -> tuple[int, Any]:
        """Status and answer of a request."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


@contextmanager
def serving(home: Path, *options: str) -> Iterator[Served]:
    """A server on a free port; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", _GIN, "serve", "--port", "0", "--home", str(home), "--seconds", "300", *options],
        env=os.environ | {"GIN_TOKEN": TOKEN}, cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield Served(found[0])
    finally:
        process.kill()
        process.wait()
