"""``gin serve --mcp``, by the client of the package that defines the protocol; and questions in words."""

import asyncio
import contextlib
import json
import re
import subprocess
import sys

import pytest

from agents.programs.events import HandEvents, question
from agents.programs.views import read_views
from agents.programs.words import entry_words, rules_words
from ginenv.engine.cards import card_name, cards_of
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from ginenv.view.history import M_TAKE, read_moves
from tests.support.programs import ROOT

mcp = pytest.importorskip("mcp")

from agents.serve.mcp import HandTools  # noqa: E402
from agents.serve.sessions import Opponent, Sessions  # noqa: E402

GIN = ["-c", "from agents.cli import main; main()", "serve", "--mcp"]


@contextlib.asynccontextmanager
async def client(home):
    server = mcp.StdioServerParameters(command=sys.executable, args=[*GIN, "--home", str(home)], cwd=str(ROOT))
    async with mcp.Client(server, read_timeout_seconds=300) as found:
        yield found


async def call(found, name: str, **arguments: object) -> tuple[str, bool]:
    answer = await found.call_tool(name, arguments)
    [content] = answer.content
    return content.text, bool(answer.is_error)


def legal_in(text: str) -> list[str]:
    return text.rpartition("Legal: ")[2].split(", ")


def test_a_client_plays_hands(tmp_path):
    async def play() -> None:
        points, text = 0, ""
        async with client(tmp_path) as found:
            assert {tool.name for tool in (await found.list_tools()).tools} == {"new_hand", "view", "play", "result"}
            for number in range(1, 5):
                text, wrong = await call(found, "new_hand", rules="gc" if number % 2 else "eaai")
                assert not wrong and text.startswith(f"Hand {number},") and "Hint" not in text
                while "Legal: " in text:
                    legal = legal_in(text)
                    chosen = next((each for each in legal if each.startswith("knock")), legal[0])
                    text, wrong = await call(found, "play", hand=number, action=chosen)
                    assert not wrong
                scored = re.search(r"(\d+) points to (\w+)", text.rpartition(f"Hand {number} is over")[2])
                points += int(scored[1]) * (1 if scored[2] == "you" else -1) if scored else 0
            result, _ = await call(found, "result")
            assert "4 of 4" in result and "Bad calls: 0." in result
            assert re.search(rf"points: {points:+d}\b" if points else "points: 0", result), result

    asyncio.run(play())


def test_after_a_cancelled_call_it_is_the_players_turn(tmp_path, monkeypatch):
    thinks, real = asyncio.Event(), Opponent.decide

    async def slow(*arguments):
        thinks.set()
        await asyncio.sleep(60)

    async def play() -> None:
        tools = HandTools(Sessions(tmp_path))

        async def text_of(name: str, **arguments: object) -> str:
            return (await tools.call_tool(name, arguments)).content[0].text

        legal = legal_in(await text_of("new_hand"))
        monkeypatch.setattr(Opponent, "decide", slow)
        playing = asyncio.ensure_future(text_of("play", hand=1, action=legal[-1]))
        # After a draw there is nothing to wait for yet.
        while not thinks.is_set():
            if playing.done():
                playing = asyncio.ensure_future(text_of("play", hand=1, action=legal_in(playing.result())[-1]))
            await asyncio.sleep(0.01)
        playing.cancel()
        monkeypatch.setattr(Opponent, "decide", real)
        text = await text_of("view", hand=1)
        assert "The opponent" in text and (legal_in(text)[0] or "is over" in text)

    asyncio.run(play())


def test_a_signal_ends_the_server_while_its_input_is_open(tmp_path):
    with subprocess.Popen([sys.executable, *GIN, "--home", str(tmp_path)], cwd=ROOT, stdin=-1, stdout=-1) as process:
        assert process.stdin is not None and process.stdout is not None
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        assert b"serverInfo" in process.stdout.readline()
        process.terminate()
        try:
            assert process.wait(30)
        finally:
            process.kill()


def test_bad_calls_say_what_is_legal_change_nothing_and_are_counted(tmp_path):
    async def play() -> None:
        async with client(tmp_path) as found:
            text, _ = await call(found, "new_hand")
            [legal_line] = [line for line in text.splitlines() if line.startswith("Legal: ")]
            legal = legal_in(legal_line)
            wrong_calls = [
                ("play", {"hand": 1, "action": "sing"}, ["sing", *legal]),
                ("play", {"hand": 1}, ["action", *legal]),
                ("play", {"hand": 7, "action": "take"}, ["7", "1"]),
                ("new_hand", {"opponent": "cmd:touch x"}, ["simple"]),
                ("new_hand", {"oponent": "formula"}, ["oponent", "opponent"]),
                ("view", {"hand": "first"}, ["hand"]),
            ]
            for name, arguments, facts in wrong_calls:
                answer, wrong = await call(found, name, **arguments)
                assert wrong and all(fact in answer for fact in facts) and len(answer.splitlines()) == 1, answer
            again, wrong = await call(found, "view", hand=1)
            assert not wrong and again == text[text.index("A new hand") :]
            assert "Hint: your melds" in (await call(found, "view", hand=1, hint=True))[0]
            one, every = await call(found, "result", hand=1), await call(found, "result")
            assert "Bad calls: 2. Hints: 1." in one[0] and "Bad calls: 6. Hints: 1." in every[0]

    asyncio.run(play())


@pytest.mark.parametrize("rules", ["gc", "ht1"])
def test_every_question_is_complete_without_a_memory(rules):
    phases, takers = set(), set()
    players = [make_player("simple"), make_player("random")]
    for seed in range(6):
        hand = Hand.deal(get_rules(rules), seed=seed)
        while not hand.is_over:
            view = hand.view()
            [seen] = read_views(view)
            game = {"events": [], **question(seen)}
            words = entry_words(game)
            phases.add(hand.phase)
            taken: list[list[str]] = [[], []]
            for move in read_moves(view[0])[0]:
                if move.kind == M_TAKE:
                    taken[move.seat].append(card_name(move.card))
                    takers.add(move.seat)
            pile = [card_name(int(card)) for card in view["pile"][0, : int(view["num_pile"][0])]]
            assert f"to the upcard: {' '.join(pile) or 'nothing'}." in words
            limit = int(view["limit"][0])
            assert (f"at most {limit} points" if limit else "gin only") in words
            for seat, who in enumerate(("You", "The opponent")):
                [line] = [line for line in words.splitlines() if line.startswith(f"{who} took")]
                refused = " ".join(map(card_name, cards_of(int(view["refused"][0, seat])))) or "nothing"
                assert f"{who} took {' '.join(taken[seat]) or 'nothing'}" in line and f"refused {refused};" in line
            melds = view["spread"][0].tolist() if hand.phase == "layoff" else []
            assert all(" ".join(map(card_name, cards_of(meld))) in words for meld in melds if meld)
            assert legal_in(words) == [hand.action_text(action) for action in hand.legal_actions()]
            hand.push(int(players[(seed + hand.turn) % 2].act(view)[0]))
    assert takers == {0, 1} and ("layoff" in phases) == (get_rules(rules).layoff == "by-hand")


def test_all_rules_have_short_words():
    for rules in PRESETS.values():
        words = rules_words(rules)
        # Four characters to a token of English.
        assert len(words) <= 4 * 250
        assert f" {rules.knock_limit or 'Only gin'}" in f" {words}" and str(rules.gin_bonus) in words
        assert ("discard the upcard just taken" in words) != rules.discard_taken_upcard


@pytest.mark.parametrize("rules", ["ht1", "openspiel", "big-gin"])
def test_all_events_have_words(rules):
    hand = Hand.deal(get_rules(rules), seed=5)
    encoder = HandEvents(read_views(hand.view(0))[0])
    player = make_player("random", 3)
    while not hand.is_over:
        hand.push(int(player.act(hand.view())[0]))
        encoder.update(read_views(hand.view(0))[0])
    events = encoder.unsent()
    words = entry_words({"events": events})
    assert "The hand is over" in words and "{" not in words
    own = [event["card"] for event in events if event["event"] == "draw" and event["who"] == "you"]
    assert all(f"You drew {card} from the stock." in words for card in own)
