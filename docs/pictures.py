"""Draws the pictures of the pages: `python docs/pictures.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from agents.files import write_atomic
from ginenv import Hand, HandEnv, make_player
from ginenv.engine.cards import RANKS, parse_cards
from ginenv.pictures.render import to_image
from ginenv.view.encoding import PLANES

HERE = Path(__file__).parent / "pictures"
ACTIONS = ("pass", "pass", "knock 7H")
# As in docs/rules.md: the starter's cards, the other's, the upcard, the first card of the stock.
HANDS = {
    "knock": ("2S 3S 4S 9C 9D 9H JD QD 5H 7H", "5S 6S 8C 8D 8H 2C 2D KH QH 4C", "AC", "KD"),
    "undercut": ("2S 3S 4S 9C 9D 9H JD QD 5H 7H", "5S 6S 8C 8D 8H KC KS KH 2C 2D", "AC", "KD"),
}
CELL, MARGIN = 15, 22


def _save(name: str, image: Image.Image) -> None:
    small = image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
    write_atomic(HERE / f"{name}.png", lambda temporary: small.save(temporary, format="PNG", optimize=True))
    print(HERE.name, name)


def middle() -> Image.Image:
    """The table in the middle of a hand, as the environment renders it for the seat to move."""
    env = HandEnv("formula", rules="eaai", render_mode="rgb_array")
    env.reset(seed=5)
    player = make_player("formula")
    for _ in range(6):
        env.step(int(player.act(env.hand.view())[0]))
    return Image.fromarray(env.render())


def table(name: str) -> Image.Image:
    """The end of a hand of ``HANDS``, from the knocker's seat."""
    first = [card for cards in HANDS[name] for card in parse_cards(cards)]
    deck = [*first, *(card for card in range(52) if card not in first)]
    hand = Hand.deal("eaai", deck=deck, starter=0)
    for action in ACTIONS:
        hand.push(action)
    return Image.fromarray(to_image(hand.view(0)[0], "seat 1"))


def moving() -> list[Image.Image]:
    """A hand to its end, a picture for each decision, as the environment renders it for the learner's seat."""
    player = make_player("knocker", seed=1)
    env = HandEnv("formula", rules="eaai", seat=0, render_mode="rgb_array")
    env.reset(seed=11)
    frames, over = [env.render()], False
    while not over:
        over = env.step(int(player.act(np.array([env.view]))[0]))[2]
        frames.append(env.render())
    return [Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE, colors=32) for frame in frames]


def planes() -> Image.Image:
    """The planes of one observation in the middle of a hand, and the table that it is of."""
    player = make_player("formula", seed=2)
    env = HandEnv(opponent="formula", seat=0, render_mode="rgb_array")
    observation, _ = env.reset(seed=9)
    for _ in range(5):
        observation, _, over, _, _ = env.step(int(player.act(np.array([env.view]))[0]))
        if over:
            observation, _ = env.reset()
    across, down = 13 * CELL + 2 * MARGIN, 4 * CELL + 2 * MARGIN + 6
    seen = Image.fromarray(env.render())
    image = Image.new("RGB", (3 * across, seen.height + 3 * down), "white")
    image.paste(seen, ((image.width - seen.width) // 2, 0))
    draw = ImageDraw.Draw(image)
    for n, words in enumerate(PLANES):
        left, top = n % 3 * across + MARGIN, seen.height + n // 3 * down + MARGIN + 6
        if len(words) > 34:
            words = f"{words[:33]}…"
        draw.text((left, top - 16), f"{n}: {words}", "black", font_size=11)
        for suit in range(4):
            draw.text((left - 12, top + suit * CELL + 1), "SCDH"[suit], (110, 110, 110), font_size=11)
            for rank in range(13):
                x, y = left + rank * CELL, top + suit * CELL
                fill = (38, 92, 66) if observation[n, suit, rank] else (236, 240, 236)
                draw.rectangle([x, y, x + CELL - 2, y + CELL - 2], fill)
        for rank, letter in enumerate(RANKS):
            draw.text((left + rank * CELL + 3, top + 4 * CELL), letter, (110, 110, 110), font_size=11)
    return image


def main() -> None:
    """Draws all of them."""
    HERE.mkdir(exist_ok=True)
    for name in HANDS:
        _save(name, table(name))
    _save("planes", planes())
    _save("hand", middle())
    first, *rest = moving()
    # The end stays in sight.
    shown = [900] * len(rest) + [4000]
    write_atomic(
        HERE / "moving.gif",
        lambda path: first.save(path, "GIF", save_all=True, append_images=rest, duration=shown, loop=0, optimize=True),
    )


if __name__ == "__main__":
    main()
