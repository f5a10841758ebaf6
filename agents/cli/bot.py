"""``gin bot``: one of our players as a program of the line protocol."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import tyro
from pydantic import Field

from agents.config import Config
from agents.play.opponents import make_opponent
from agents.programs.responder import Conversation
from ginenv.errors import GinError
from ginenv.tables.player_names import parse_player
from ginenv.tables.players import Player, make_player

# A line of the largest batch that a host may send has some megabytes.
_MAX_LINE = 32 << 20

_DEAL = {"event": "deal", "starts": "you", "upcard": "7D", "cards": "TS QS 4C AD 8D 9D QD AH JH QH".split()}
_REHEARSAL = (
    {"type": "hello", "protocol": 2, "rules": "eaai"},
    {"type": "act", "id": 0, "games": [{"slot": 0, "events": [_DEAL], "phase": "upcard"}]},
    {
        **{"type": "act", "id": 0},
        "games": [{"slot": 0, "events": [{"event": "take", "who": "you", "card": "7D"}], "phase": "discard"}],
    },
)


class BotConfig(Config):
    """A player as a program.

    Attributes:
        player: a name, a checkpoint's or a level's directory; options as everywhere (level-2:learn=true).
        memory: directory in which a level keeps what it learns of the opponent; by default it plays as installed.
        opponent: the opponent's name in the memory.
        max_batch: most games in one line, for players that take long; by default as many as the host wants.
    """

    player: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER")]
    memory: Path | None = None
    opponent: str = "anybody"
    max_batch: int | None = Field(None, gt=0)


def bot(config: BotConfig) -> None:
    """Lets one of our players answer the line protocol (version 2) on standard input and output.

    It ends with its input, or at a bye. A line that it cannot use is answered with an error message.
    """
    if parse_player(config.player).kind == "cmd":
        raise GinError(f"{config.player!r} is a program already; gin bot makes a program of a player of our own")
    # Whatever else would be printed goes to standard error: the output holds nothing but answers.
    conversation = Conversation(lambda seed: _make(config, seed), config.max_batch)
    try:
        with os.fdopen(os.dup(1), "wb") as output:
            os.dup2(2, 1)
            # Compiles what is missing in the time for getting ready, not in that of a line; also a wrong name is noticed here.
            for message in _REHEARSAL:
                answer = conversation.reply(json.dumps(message).encode())
                if answer is None or answer["type"] == "error":
                    raise GinError(answer["message"] if answer else "the player does not play")
            # The rehearsal's hello is none of the host's.
            conversation.close()
            while (line := sys.stdin.buffer.readline(_MAX_LINE)) and (answer := conversation.reply(line)):
                output.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
                output.flush()
    except (BrokenPipeError, ConnectionResetError):
        # The host has gone without a bye.
        pass
    finally:
        conversation.close()
    # The interpreter's own shutdown unloads torch and compiled code, which takes longer than a host waits after a bye.
    os._exit(0)


def _make(config: BotConfig, seed: int) -> Player:
    """The player; with a memory it knows one opponent by name, else it learns only if its name says so."""
    if config.memory is None:
        return make_player(config.player, seed, learn=False)
    if not parse_player(config.player).is_level:
        raise GinError(f"{config.player!r} is not a level; only levels keep a memory")
    return make_opponent(config.player, False, seed, config.opponent, config.memory, learns=True)
