"""Which players sit at the table in the browser: nothing that a page or a store says starts a program or reads a path."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from agents.play.allowed import check_allowed
from ginenv.errors import GinError
from tests.support.session_scenes import LOOSE, NO_MELD, deck, prepared
from tests.support.web_scenes import Guest, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def names_of(folder: Path) -> list[str]:
    """Players that a stranger would name: a program that leaves a trace, paths that exist and paths that do not."""
    trace = shlex.join([sys.executable, "-c", f"open({str(folder / 'trace')!r}, 'w')"])
    made = folder / "there"
    made.mkdir(exist_ok=True)
    (made / "level.json").write_text("{}")
    paths = [str(made), str(folder / "absent"), f"{made}:learn=false", f"./{made.name}", "/etc", "/etc/passwd"]
    options = [f"level-2:profile={made}", f"level-2:profile={folder / 'absent'}", f"search:network={made}"]
    huge = ["search:worlds=65536", "search:milliseconds=3600000", "level-4:worlds=4096", "population:count=100000000"]
    return [f"cmd:{trace}", "py:os:system", *paths, *options, *huge, "search:worlds=nan", "network:temperature=1e400"]


def test_no_form_or_address_names_a_program_or_a_path(guest, tmp_path):
    ann: Guest = guest()
    for name in names_of(tmp_path):
        answers = [
            ann.client.post("/options", data={"opponent": name}),
            ann.client.post("/watch", data={"first": name, "second": "simple", "rules": "eaai", "seed": ""}),
            ann.client.post("/watch", data={"first": "simple", "second": name, "rules": "eaai", "seed": "1"}),
            ann.client.post("/analysis/seed", data={"first": name, "second": "simple", "rules": "eaai", "seed": "1"}),
            ann.client.get("/learned", params={"level": name}),
            ann.client.post("/learned", data={"level": name, "sure": "1"}),
        ]
        for answer in answers:
            assert 'class="say warning"' in answer.text, (name, answer.url)
        assert ann.browser.session.options.opponent == "formula"
    assert not (tmp_path / "trace").exists() and not (tmp_path / "absent").exists()


def test_a_refusal_does_not_tell_whether_a_path_exists(guest, tmp_path):
    ann: Guest = guest()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "level.json").write_text("{}")
    (tmp_path / "file").write_text("")

    def refusal(name: str) -> str:
        path = str(tmp_path / name)
        return plain(ann.post("/options", opponent=path)).replace(path, "PATH")

    assert len({refusal(name) for name in ("full", "file", "none")}) == 1


def test_a_store_names_no_program_and_no_path(guest, tmp_path):
    game = prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0)
    for name in names_of(tmp_path):
        ann: Guest = guest(game)
        ann.browser.session.file.game |= {"opponent": name}
        ann.browser.session.file.options = ann.browser.session.options.model_copy(update={"opponent": name})
        ann.browser.session.file.save()
        ann.close()
        again: Guest = guest()
        assert json.loads(json.dumps(again.browser.session.file.game))["opponent"] == name
        for path in ("/", "/table", "/rules", "/learned", "/watch"):
            assert again.client.get(path).status_code in (200, 400), (name, path)
        assert "There is an unfinished game" in plain(again.post("/new", sure="1")), "nothing is lost"
        again.close()
    assert not (tmp_path / "trace").exists() and not (tmp_path / "absent").exists()


def test_what_the_command_line_names_plays(guest, directory):
    name = str(directory)
    ann: Guest = guest(allowed=[name])
    assert f'value="{name}"' in ann.get("/rules")
    assert "Your opponent is" in plain(ann.post("/options", opponent=name))
    assert "step 1" in plain(ann.post("/watch", first=name, second="simple", rules="openspiel", seed="1"))
    with pytest.raises(GinError):
        check_allowed(f"{name}/..", [name])


def test_registered_players_take_options_that_name_no_file():
    for name in ("style:knock=5,base=easy", "search:worlds=64,slack=1", "level-4:learn=false", "network:commits=true"):
        check_allowed(name, ())


def test_in_the_terminal_a_store_names_no_program_either(talk, tmp_path):
    name = names_of(tmp_path)[0]
    talk.session.file.options = talk.session.options.model_copy(update={"opponent": name})
    with pytest.raises(GinError):
        talk.say(new=True)
    assert talk.session.file.game is None and not (tmp_path / "trace").exists()
