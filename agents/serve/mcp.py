"""``gin serve --mcp``: hands of gin rummy as tools for language models, in words, over standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import Field, ValidationError

from agents.interrupts import handle_stops
from agents.programs.messages import sentence_of
from agents.programs.words import entry_words, rules_words
from agents.serve.sessions import Sessions, Table
from ginenv.engine.cards import format_cards
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, unknown_name
from ginenv.view.wording import ending_words, my_holding

_INSTRUCTIONS = """\
Hands of gin rummy. new_hand deals one, play plays an action in words, and each answer ends with the next question, which holds all that you
may know. A call that cannot be used is answered with a sentence; it changes nothing, but is counted. result tells how hands ended."""

HandNumber = Annotated[int, Field(description="the number that new_hand gave")]


@dataclass
class _Hand:
    """A hand, and the hints that were asked for at it."""

    table: Table
    opponent: str
    hints: int = 0

    @property
    def points(self) -> int:
        """What the player scored, less what the opponent did."""
        [outcome] = self.table.session.match.outcomes
        return (
            0 if outcome.winner is None else outcome.points * (1 if outcome.winner == self.table.session.seat else -1)
        )

    def ending(self) -> str:
        """How it ended."""
        session = self.table.session
        view = session.match.played[0].view(session.seat)[0]
        return f"{ending_words(view, self.opponent)}."


class HandTools(MCPServer):
    """The tools: one player's hands, each against a player of ours.

    Args:
        sessions: makes players and tables.
    """

    def __init__(self, sessions: Sessions) -> None:
        super().__init__("gin", instructions=_INSTRUCTIONS)
        self._sessions = sessions
        self._hands: list[_Hand] = []
        # By the number of the hand; 0: of none.
        self._bad_calls: Counter[int] = Counter()
        # A client may send several calls at once.
        self._turn = asyncio.Lock()
        for tool in (self.new_hand, self.view, self.play, self.result):
            self.tool(structured_output=False)(tool)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Calls a tool; whatever is wrong with the call becomes one sentence, and is counted."""
        async with self._turn:
            try:
                tool = self._tool_manager.get_tool(name)
                allowed = tool.parameters["properties"] if tool else arguments
                if unknown := arguments.keys() - allowed.keys():
                    raise ToolError(unknown_name("argument", min(unknown), allowed))
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                cause = error.__cause__ or error
                if not isinstance(cause, ToolError | ValidationError):
                    # Not the caller's fault.
                    raise
                text = sentence_of(cause.errors()) if isinstance(cause, ValidationError) else str(cause)
                number = arguments.get("hand")
                number = number if isinstance(number, int) and 1 <= number <= len(self._hands) else 0
                self._bad_calls[number] += 1
                if number and not (table := self._hands[number - 1].table).is_over:
                    legal = f"legal are: {', '.join(table.legal())}"
                    text += f"; {legal}" if legal not in text else ""
                return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    async def new_hand(self, opponent: str = "simple", rules: str = "eaai") -> str:
        """Deals a hand against a player (simple, formula, network, level-1 to level-4, ...) by a preset of rules.

        The answer holds the hand's number, the rules, and the first question.
        """
        try:
            chosen = get_rules(rules)
            table = Table(await self._sessions.opponent(opponent), chosen, one_hand=True)
            await table.go_on()
        except GinError as error:
            raise ToolError(str(error)) from None
        self._hands.append(_Hand(table, opponent))
        return (
            f"Hand {len(self._hands)}, against {opponent}.\n\n{rules_words(chosen)}\n\n{self._state(len(self._hands))}"
        )

    async def view(self, hand: HandNumber, hint: bool = False) -> str:
        """The last answer of a hand again; with hint, also your melds and what a simple formula would do. Hints are counted."""
        found = self._find(hand)
        # A call that was cancelled may have left the turn to the opponent.
        await found.table.go_on()
        return self._state(hand) + (_hint(found) if hint and not found.table.is_over else "")

    async def play(
        self,
        hand: HandNumber,
        action: Annotated[str, Field(description="one of the legal actions, such as: discard 7C")],
    ) -> str:
        """Plays an action. The answer holds what followed, and the next question or how the hand ended."""
        table = self._find(hand).table
        if table.is_over:
            raise ToolError(f"hand {hand} is over; new_hand deals another one")
        try:
            await table.play(action)
        except GinError as error:
            raise ToolError(str(error)) from None
        return self._state(hand)

    async def result(
        self, hand: Annotated[int | None, Field(description="a hand's number; all if left out")] = None
    ) -> str:
        """How a hand ended, or what all hands come to: points per hand, bad calls and hints."""
        if hand is not None:
            found = self._find(hand)
            await found.table.go_on()
            ended = found.ending() if found.table.is_over else "It is still in play."
            return f"Hand {hand}, against {found.opponent}: {ended} Bad calls: {self._bad_calls[hand]}. Hints: {found.hints}."
        for each in self._hands:
            await each.table.go_on()
        over = [each for each in self._hands if each.table.is_over]
        points = sum(each.points for each in over)
        mean = f", {points / len(over):+.1f} per hand" if over else ""
        return (
            f"Hands over: {len(over)} of {len(self._hands)}; points: {points:+d}{mean}. "
            f"Bad calls: {self._bad_calls.total()}. Hints: {sum(each.hints for each in self._hands)}."
        )

    def _find(self, number: int) -> _Hand:
        if not 1 <= number <= len(self._hands):
            numbers = (
                f"hands have the numbers 1 to {len(self._hands)}" if self._hands else "new_hand deals the first one"
            )
            raise ToolError(f"there is no hand {number}; {numbers}")
        return self._hands[number - 1]

    def _state(self, number: int) -> str:
        """What has happened since the last answer, and the question, or how the hand ended."""
        found = self._hands[number - 1]
        words = entry_words(found.table.entry())
        return f"{words}\nHand {number} is over: {found.ending()}" if found.table.is_over else words


def _hint(hand: _Hand) -> str:
    """The seat's melds, and what the formulas would do."""
    hand.hints += 1
    session = hand.table.session
    holding = my_holding(session.view)
    melds = ", ".join(format_cards(cards) for _, cards in holding.melds) or "none"
    advice = session.hint()[1]
    return f"\nHint: your melds: {melds}; deadwood {holding.deadwood}. {advice[0].upper()}{advice[1:]}"


def serve(sessions: Sessions) -> None:
    """Serves one client until it closes the input, or a signal ends it."""
    # At once: a thread waits for the input, and nothing is left to be kept.
    handle_stops(lambda number, frame: os._exit(128 + number))
    HandTools(sessions).run("stdio")
