"""Fills in where the project lives, which only its owner knows: ``python .ci/address.py OWNER/NAME`` (`make address REPO=OWNER/NAME`).

``[project.urls]`` in pyproject.toml is the one place. Badges of the README, links of notebooks to Colab and CITATION.cff follow from it.
The same command with another address changes them all.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOST = "https://github.com"


def replace_once(path: Path, old: str, new: str) -> None:
    """Puts ``new`` in place of the one match of a pattern; without one, the file is not as this program knows it."""
    text, count = re.subn(old, lambda _: new, path.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
    if not count:
        sys.exit(f"{path.relative_to(ROOT)}: nothing matches {old!r}")
    path.write_text(text, encoding="utf-8")


def fill_in(repository: str) -> None:
    """Writes every address of a repository, named as ``OWNER/NAME``."""
    owner, name = repository.split("/")
    home, site = f"{HOST}/{repository}", f"https://{owner.lower()}.github.io/{name}"
    urls = f'[project.urls]\nSource = "{home}"\nDocumentation = "{site}"\nIssues = "{home}/issues"\n\n'
    replace_once(ROOT / "pyproject.toml", r"(\[project\.urls\]\n(.+\n)+\n)?(?=\[project\.scripts\])", urls)
    badges = [
        f"[![tests]({home}/actions/workflows/tests.yml/badge.svg)]({home}/actions/workflows/tests.yml)",
        f"[![documentation](https://img.shields.io/badge/documentation-site-blue)]({site})",
    ]
    replace_once(ROOT / "README.md", r"\A# ginenv\n(\n\[!\[tests\](.+\n)+)?", "\n".join(["# ginenv\n", *badges, ""]))
    replace_once(ROOT / "CITATION.cff", r"(repository-code: .+\n)?(?=license: )", f"repository-code: {home}\n")
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        link = f"https://colab.research.google.com/github/{repository}/blob/main/examples/{path.name}"
        badge = f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({link})\n"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        title, *lines = notebook["cells"][0]["source"]
        notebook["cells"][0]["source"] = [title, "\n", badge, *(lines[2:] if lines[1].startswith("[![Open") else lines)]
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"[\w.-]+/[\w.-]+", sys.argv[1]):
        sys.exit("usage: python .ci/address.py OWNER/NAME")
    fill_in(sys.argv[1])
    print(
        f"{sys.argv[1]} is named in pyproject.toml, README.md, CITATION.cff and the notebooks; see git diff, and commit"
    )
