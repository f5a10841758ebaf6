"""Playing on from a position of a replay or an analysis, at a table beside that of the game in play."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from agents.display_names import display_opponent
from agents.levels.level import NAMES
from agents.play.play_on import play_on
from agents.web.form_fields import integer_field
from agents.web.request import Request
from agents.web.table import Table
from ginenv.errors import GinError, check_choice


class SideTable(Table):
    """A table at which a recorded hand is played on.

    Attributes:
        back: address of the page from which it was begun.
        recorded: how the recorded hand ended, in words.
    """

    address = "/play-on"
    back = ""

    def _command(self, do: str, values: Mapping[str, str]) -> None:
        if do in ("next", "another game"):
            # The cards of the next hand are those of the recorded game, which may still be in play.
            raise GinError("only this hand is played on; go back to the recorded one")
        super()._command(do, values)


def begin(request: Request) -> Response:
    """Sits down at a position: the ``hand`` and ``move`` of a stored ``game`` that a form names, against its ``opponent``."""
    person, home, fields = request.person, request.people.home, request.fields
    game, number = integer_field(fields, "game"), integer_field(fields, "hand")
    stored = next((each for each in person.session.file.games() if each.id == game), None)
    if stored is None:
        raise GinError(f"there is no game {game} among yours")
    opponent = fields.get("opponent", "")
    check_choice("opponent", opponent, NAMES)
    record = home.record(game)
    session = play_on(person.session.file, record, number, integer_field(fields, "move"), stored.seat, opponent)
    if person.side_table is not None:
        person.side_table.session.leave_game()
    person.side_table = table = SideTable(session, person.say)
    back, outcome = fields.get("back", ""), record.hands[number - 1].outcome
    table.back = back if back.startswith(("/analysis?", "/replay?")) else "/records"
    names = display_opponent(record.names[0]), display_opponent(record.names[1])
    table.recorded = f"In the record: {outcome.describe(names) if outcome else 'the hand was not finished'}."
    return request.go(table.address)
