"""What a program can know of its hands, rebuilt from the events that it was told."""

from typing import Any


def rebuild(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hands as text, from events alone: what an outside program can know of each."""
    hands: list[dict[str, Any]] = []
    for event in events:
        if event["event"] == "deal":
            hands.append({"cards": set(event["cards"]), "drawn": [], "pile": [event["upcard"]], "over": None})
        hand = hands[-1]
        who, card = event.get("who"), event.get("card")
        if event["event"] in ("draw", "take") and who == "you":
            hand["cards"].add(card)
        if event["event"] == "take":
            assert hand["pile"].pop() == card
        if event["event"] in ("discard", "knock"):
            if who == "you":
                hand["cards"].remove(card)
            hand["pile"].append(card)
        if event["event"] == "lay off" and who == "you":
            hand["cards"] -= set(event["cards"])
        if event["event"] == "shown" and who == "you":
            assert set(event["cards"]) == hand["cards"]
        if event["event"] == "hand over":
            hand["over"] = event
    return hands
