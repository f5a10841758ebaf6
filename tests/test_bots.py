"""The example bots in other languages keep to the protocol, play sensibly, and all play the same."""

from __future__ import annotations

import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.conformance import check
from tests.support.compilers import BOTS, PATIENT, build_bot

SALT = f"{5:032x}"
LANGUAGES = {"java": "Bot.java", "rust": "bot.rs", "cpp": "bot.cpp"}


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    built: dict[str, str] = {}

    def build(language):
        if language not in built:
            built[language] = build_bot(language, tmp_path_factory.mktemp(language))
        return built[language]

    return build


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bot_conforms_and_can_be_read_in_one_sitting(language, command):
    assert 100 <= len((BOTS / LANGUAGES[language]).read_text(encoding="utf-8").splitlines()) <= 200
    found = check(command(language), hands=4, limits=PATIENT)
    assert not found.wrong
    # Not even that it plays differently when games come one at a time.
    assert all(note.startswith("was not asked in the phase") for note in found.notes)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_bots_play_the_same_game(language, command):
    def games(language):
        return play_match(
            f"cmd:{command(language)}", "simple", pairs=4, settings=MatchSettings(salt=SALT, limits=PATIENT)
        ).games

    np.testing.assert_array_equal(games(language), games("cpp"))


def test_their_strategy_beats_the_simple_player(command):
    result = play_match(f"cmd:{command('cpp')}", "simple", pairs=60, settings=MatchSettings(salt=SALT, limits=PATIENT))
    assert not result.faults and result.share.low > 0.5
