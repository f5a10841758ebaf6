"""Small pictures for TensorBoard: beliefs as cards, knocks by turn and deadwood, predicted against real values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from ginenv.cards import RANKS, SUITS

_CELL, _LEFT, _TOP, _GAP = 22, 26, 34, 14
_INK, _PAPER, _KNOWN, _TRUE = (40, 44, 52), (250, 250, 248), (222, 222, 218), (200, 40, 40)
_COOL, _WARM = np.array([238.0, 243, 250]), np.array([16.0, 92, 168])


def _colour(share: float) -> tuple[int, int, int]:
    red, green, blue = (_COOL + (_WARM - _COOL) * float(np.clip(share, 0, 1))).astype(int).tolist()
    return red, green, blue


def belief_picture(titles: Sequence[str], chances: np.ndarray, unseen: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Heat-maps of where the opponent's cards are thought to be, suits by ranks, one below the other.

    The darker, the likelier in the opponent's hand; grey cards are placed already; a red frame stands around those that it does hold.

    Args:
        titles: one line for each map.
        chances: ``[k, 52]`` that the opponent holds each card.
        unseen: ``bool[k, 52]`` cards that the seat cannot place.
        hidden: ``bool[k, 52]`` the opponent's true hand.

    Returns:
        ``uint8[height, width, 3]``.
    """
    block = _TOP + 4 * _CELL + _GAP
    picture = Image.new("RGB", (_LEFT + 13 * _CELL + _GAP, block * len(titles)), _PAPER)
    draw = ImageDraw.Draw(picture)
    for k, title in enumerate(titles):
        top = k * block + _TOP
        draw.text((_LEFT, top - 32), title, _INK)
        for rank in range(13):
            draw.text((_LEFT + rank * _CELL + 8, top - 14), RANKS[rank], _INK)
        for suit in range(4):
            draw.text((10, top + suit * _CELL + 5), SUITS[suit], _INK)
            for rank in range(13):
                card = 13 * suit + rank
                x, y = _LEFT + rank * _CELL, top + suit * _CELL
                fill = _colour(chances[k, card]) if unseen[k, card] else _KNOWN
                frame = _TRUE if hidden[k, card] else _PAPER
                draw.rectangle((x, y, x + _CELL - 2, y + _CELL - 2), fill, frame, 2)
    return np.asarray(picture)


def knock_picture(could: np.ndarray, did: np.ndarray) -> np.ndarray:
    """How often it knocked when it could, by own turn (across) and deadwood (up); white where it never could.

    Args:
        could: ``[turns, deadwood]`` counts.
        did: ``[turns, deadwood]`` counts.

    Returns:
        ``uint8[height, width, 3]``.
    """
    turns, most = could.shape
    picture = Image.new("RGB", (_LEFT + turns * _CELL + _GAP, _TOP + most * _CELL + 24), _PAPER)
    draw = ImageDraw.Draw(picture)
    draw.text((_LEFT, 4), "knocks when it could, by own turn and deadwood", _INK)
    for deadwood in range(most):
        y = _TOP + (most - 1 - deadwood) * _CELL
        draw.text((6, y + 5), str(deadwood), _INK)
        for turn in range(turns):
            if could[turn, deadwood]:
                x = _LEFT + turn * _CELL
                share = did[turn, deadwood] / could[turn, deadwood]
                draw.rectangle((x, y, x + _CELL - 2, y + _CELL - 2), _colour(share), (200, 205, 212))
    for turn in range(turns):
        draw.text((_LEFT + turn * _CELL + 5, _TOP + most * _CELL + 4), str(turn + 1), _INK)
    return np.asarray(picture)


def calibration_picture(predicted: np.ndarray, real: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Mean results (up) of positions grouped by what was predicted (across); the line is where both are equal.

    Args:
        predicted: ``[k]`` mean prediction of each group.
        real: ``[k]`` mean result.
        errors: ``[k]`` standard error of the result.

    Returns:
        ``uint8[height, width, 3]``.
    """
    size, margin = 260, 34
    ends = np.concatenate([predicted, real - 2 * errors, real + 2 * errors])
    low, high = float(ends.min()), float(ends.max()) + 1e-6
    picture = Image.new("RGB", (size + 2 * margin, size + 2 * margin), _PAPER)
    draw = ImageDraw.Draw(picture)

    def x(value: float) -> float:
        return margin + (value - low) / (high - low) * size

    def y(value: float) -> float:
        return margin + size - (value - low) / (high - low) * size

    draw.text((margin, 8), "result (up) by the critic's value (across)", _INK)
    draw.line((x(low), y(low), x(high), y(high)), (170, 170, 166))
    for value, result, error in zip(predicted, real, errors, strict=True):
        draw.line((x(value), y(result - 2 * error), x(value), y(result + 2 * error)), _colour(0.5), 2)
        draw.ellipse((x(value) - 4, y(result) - 4, x(value) + 4, y(result) + 4), _colour(1.0))
    for value in (low, high):
        draw.text((x(value) - 12, margin + size + 8), f"{value:.2f}", _INK)
    return np.asarray(picture)
