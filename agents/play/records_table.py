"""Games and their hands as rows of the store."""

from __future__ import annotations

from dataclasses import dataclass

from agents.play.database import Database
from agents.play.game import day_of, utc_now
from agents.play.options import variation
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record


@dataclass(frozen=True)
class StoredGame:
    """An entry for lists: a game of which at least one hand has ended, a deal of a day that was given up, or an imported game.

    Attributes:
        id: the id by which ``Home.record`` finds its record.
        name: its name among the games of its player.
        seat: the player's seat (always 0 at a table); None in an imported game of others.
        names: names of seats 0 and 1.
        rules: the variation, such as ``eaai,target=150``.
        begun: when it began or, if it was imported, came into the store, in UTC (ISO 8601).
        hands: how many hands have ended.
        score: the score by seat, from the hands that have ended.
        over: whether the game has ended.
        winner: the seat that has won the game, or None.
    """

    id: int
    name: str
    seat: int | None
    names: tuple[str, str]
    rules: str
    begun: str
    hands: int
    score: tuple[int, int]
    over: bool
    winner: int | None

    @property
    def day(self) -> str:
        """The day whose deal it is; empty for other games."""
        return day_of(self.name)


def read_games(database: Database, player: str | None = None, game: int | None = None) -> list[StoredGame]:
    """The games of a player, or the game with an id, or all; the oldest first."""
    rows = database.rows(
        "SELECT game.*, (SELECT count(*) FROM hand WHERE hand.game = game.id) AS hands FROM game JOIN player ON player.id = game.player "
        "WHERE (player.name = ?1 OR ?1 IS NULL) AND (game.id = ?2 OR ?2 IS NULL) ORDER BY begun, game.id",
        *(player, game),
    )
    return [
        StoredGame(
            id=row["id"],
            name=row["name"],
            seat=row["seat"],
            names=(row["name_0"], row["name_1"]),
            rules=row["rules"],
            begun=row["begun"],
            hands=row["hands"],
            score=(row["score_0"], row["score_1"]),
            over=bool(row["over"]),
            winner=row["winner"],
        )
        for row in rows
    ]


def write_game(
    database: Database,
    player: int,
    name: str,
    match: Match,
    players: tuple[str, str],
    seat: int | None = 0,
    text: str = "",
    begun: str = "",
) -> int:
    """Writes a game and its ended hands in one transaction; of a game known by this name only what is new.

    Args:
        database: the store's file.
        player: id of the player whose game it is.
        name: the game's name among the player's games.
        match: the game.
        players: names of seats 0 and 1.
        seat: the player's seat.
        text: its record, if it comes from a file; written again when left out.
        begun: when it began, in UTC; now when left out.

    Returns:
        The game's id.
    """
    record = text or format_record(match, players)
    with database.transaction():
        now = (record, match.is_over, match.winner, *match.score)
        if existing := database.rows("SELECT id FROM game WHERE player = ? AND name = ?", player, name):
            game = existing[0]["id"]
            update = "UPDATE game SET record = ?, over = ?, winner = ?, score_0 = ?, score_1 = ? WHERE id = ?"
            database.run(update, *now, game)
        else:
            columns = "player, name, seat, name_0, name_1, rules, begun, record, over, winner, score_0, score_1"
            values = (player, name, seat, *players, variation(match.rules), begun or utc_now(), *now)
            marks = ", ".join("?" * len(values))
            game = database.run(f"INSERT INTO game ({columns}) VALUES ({marks})", *values)
        count = database.rows("SELECT count(*) AS hands FROM hand WHERE game = ?", game)[0]["hands"]
        for number, done in enumerate(match.played, 1):
            # The last hand is the one that has just ended.
            if number > count or number == len(match.played):
                _write_hand(database, game, number, done)
    return game


def _write_hand(database: Database, game: int, number: int, hand: Hand) -> None:
    outcome, state = hand.outcome, hand.state[0]
    assert outcome is not None
    score = int(state["score"][0]), int(state["score"][1])
    values = (outcome.end.name.lower(), outcome.winner, outcome.knocker, outcome.points, *outcome.deadwood)
    database.run("DELETE FROM hand WHERE game = ? AND number = ?", game, number)
    database.run(
        "INSERT INTO hand VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", game, number, outcome.starter, *score, *values
    )
