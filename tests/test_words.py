"""Names and sentences use the vocabulary of the field: the words of an earlier, private one occur nowhere."""

import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Names in Python code, in configurations and in the pages' templates and scripts.
NAMES = set(
    "clone_decisions settle_decisions teacher gin_teacher selves selves_share selves_every ticks panel_games panel_every steer descend "
    "_teaching Told told UNTOLD untold Acquaintances Answers Leaning leanings leaning hoards grabs pace reach most_points early_knock "
    "what_did_you_learn Asked asked sits House Seat Kept kept move_in _put_away LiveGame News spelled tidied born_deaf held released "
    "_impose _unheld unheld _never _say_once _explain_stop judge judged judges known said whole made_of by_whom on_record hands_elsewhere "
    "least_wanted minds mind parcel check_whole Knowledge".split()
)
# Words that a file needs although they are gone elsewhere.
ALLOWED = {
    "tests/test_words.py": NAMES,
}
# Phrases in code, pages and documents.
PHRASES = re.compile(
    r"\b(anew|from nothing|kept aside|points a hand|none that shows|taken singly|which flatters|leads nowhere|what_did_you_learn"
    r"|what-did-you-learn|(agents/)?(told|parcel|choice|equity|deals|peers)\.py|gin card|rules of the house)\b"
)
# Parts of tests' names.
TEST = re.compile(r"test_(\w+_)?(told|untold|asked|said|kept|anew|whoever|judge[sd]?|judgement|leanings?)(_|$)")
LIMIT = re.compile(r"_?(MOST|LEAST)_[A-Z]")


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    # The log and the changelog tell what once was.
    return [file for file in listed.stdout.split() if not file.startswith(("docs/log/", "CHANGELOG"))]


def names(file: str) -> set[str]:
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".py"):
        return {
            token.string
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.NAME
        }
    if file.endswith(".yaml"):
        return set(re.findall(r"\b(\w+):", text))
    # In a page: what its expressions, classes and ids name; in a script: its names outside quotes.
    if file.endswith(".html"):
        parts = re.findall(r'\{[{%].*?[%}]\}|(?:class|id)="[^"]*"', re.sub(r"'[^']*'", "", text))
        return set(re.findall(r"[\w-]+", " ".join(parts)))
    return set(re.findall(r"[\w]+", re.sub(r'"[^"\n]*"|`[^`]*`|//[^\n]*', "", text)))


def test_no_name_is_of_the_earlier_vocabulary() -> None:
    files = tracked("*.py", "configs/*.yaml", "agents/web/templates/*.html", "agents/web/static/table.js")
    assert len(files) > 300
    found = {
        file: {name for name in names(file) if name in NAMES or LIMIT.match(name) or TEST.match(name)} for file in files
    }
    found = {file: sorted(bad - ALLOWED.get(file, set())) for file, bad in found.items()}
    assert {file: bad for file, bad in found.items() if bad} == {}


def test_no_sentence_is_of_the_earlier_vocabulary() -> None:
    found = {}
    for file in set(tracked("*.py", "*.md", "*.rst", "*.html", "*.yaml", "Makefile")) - set(ALLOWED):
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
            if match := PHRASES.search(line.lower()):
                found[f"{file}:{number}"] = match[0]
    assert found == {}
