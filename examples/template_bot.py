#!/usr/bin/env python3
"""A complete bot for the line protocol (docs/protocol.md) that uses only the standard library.

    python evaluate.py "cmd:python examples/template_bot.py" simple --games 200

To write your own bot, change `choose`; everything else can stay as it is.
"""

import json
import sys

RANKS = "A23456789TJQK"


def value(card):  # points of a card
    return min(10, RANKS.index(card[0]) + 1)


def melds(hand):
    """All sets of three or four and all runs of three to five that the hand holds."""
    found = []
    for rank in RANKS:
        same = [card for card in hand if card[0] == rank]
        if len(same) == 4:
            found += [[card for card in same if card != left_out] for left_out in same]
        if len(same) >= 3:
            found.append(same)
    for suit in "SCDH":
        ranks = [i for i, rank in enumerate(RANKS) if rank + suit in hand]
        for low in ranks:
            for length in (3, 4, 5):
                if all(low + k in ranks for k in range(length)):
                    found.append([RANKS[low + k] + suit for k in range(length)])
    return found


def deadwood(hand, found):
    """The least points that can be left outside melds that do not overlap."""
    best = sum(map(value, hand))
    for i, meld in enumerate(found):
        rest = [card for card in hand if card not in meld]
        best = min(best, deadwood(rest, [other for other in found[i + 1 :] if not set(other) & set(meld)]))
    return best


def without(hand, out):  # least deadwood after discarding a card
    rest = [card for card in hand if card != out]
    return deadwood(rest, melds(rest))


def choose(game):
    """The action for one game: one of game["legal"]."""
    legal, hand, upcard = game["legal"], game["hand"], game["upcard"]
    if game["phase"] == "discard":
        left = {action: without(hand, action.split()[1]) for action in legal}
        # Ties go to a knock, then to the card with the most points.
        return min(legal, key=lambda a: (left[a], not a.startswith("knock"), -value(a.split()[1])))
    if "take" in legal:
        useful = min(without([*hand, upcard], out) for out in hand) < deadwood(hand, melds(hand)) - 2
        return "take" if useful else next(action for action in legal if action != "take")
    return legal[0]


def main():
    """Answers each line with one line until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            answer = {"type": "ready", "protocol": 2, "name": "template"}
        elif message["type"] == "act":
            answers = [{"slot": g["slot"], "action": choose(g)} for g in message["games"] if "legal" in g]
            answer = {"type": "answers", "id": message["id"], "answers": answers}
        else:
            break
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
