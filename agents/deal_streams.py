"""Where deals come from: one stream of keys for each purpose, and no key in two of them.

Results can be trusted only if they were measured on deals that nothing was tuned on. So the top four bits of every key
name its purpose, and the streams of two purposes cannot overlap, whatever the seeds.

Seeds are small numbers: a program that knows this code can try them all and compare the decks with its own cards. So where outside programs
play, a seed is mixed with a *salt* of 128 random bits that is never sent to them.
"""

from __future__ import annotations

import enum
import hashlib
import re
import secrets
from typing import NamedTuple

import numpy as np

from ginenv.engine.jit import kernel, mix
from ginenv.errors import GinError

_DOMAIN_BITS = 4
# A seed and an index are mixed one after the other, each with a salt of its own (digits of pi): the deal of seed 3 with number 5
# has nothing to do with that of seed 5 with number 3. The players' luck and the decks have different salts.
_DECKS = 0x243F6A8885A308D3
_LUCK = 0x13198A2E03707344
_INDEX = np.uint64(0xA4093822299F31D0)
_MASK = (1 << 64) - 1


class Domain(enum.IntEnum):
    """What a deal is for."""

    TRAIN = 1  # learning, of a policy or of a best response
    SELECT = 2  # choosing between checkpoints or settings
    EVAL = 3  # whatever is reported
    SESSION = 4  # long sessions of players that adapt
    TEST = 5
    DAILY = 6  # the deal of a day, which is the same for everybody


@kernel
def _fill(out, seed, salt, top, first):
    # The seed is mixed twice, an index once.
    base = mix(mix(seed) ^ salt)
    for i in range(out.shape[0]):
        out[i] = top | (mix(base ^ mix(np.uint64(first + i) ^ _INDEX)) >> np.uint64(_DOMAIN_BITS))


def _words(domain: Domain, seed: int, salt: int, first: int, count: int) -> np.ndarray:
    words = np.zeros(count, np.uint64)
    top = np.uint64(int(domain) << (64 - _DOMAIN_BITS))
    _fill(words, np.uint64(int(seed) & _MASK), np.uint64(salt), top, first)
    return words


def deal_keys(domain: Domain, seed: int, start: int, count: int) -> np.ndarray:
    """Keys of deals ``start`` to ``start + count`` of a purpose: ``uint64[count]``, for ``STATE["key"]``."""
    return _words(domain, seed, _DECKS, start, count)


def luck_words(domain: Domain, seed: int, start: int, count: int, salt: str = "") -> np.ndarray:
    """Private randomness of both seats of games ``start`` to ``start + count``: ``uint64[count, 2]``, for ``STATE["luck"]``.

    Independent of the deals: no player can learn anything about the cards from it. A program, which is told its own luck, could still
    compute the seed from it, so with a salt every word is a hash of its own.
    """
    if salt:
        words = [
            salted(salt, f"luck {domain.value} {seed}", number) for number in range(2 * start, 2 * (start + count))
        ]
        return np.array(words, np.uint64).reshape(count, 2)
    return _words(domain, seed, _LUCK, 2 * start, 2 * count).reshape(count, 2)


def new_salt() -> str:
    """A salt from the operating system's randomness: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def salted(salt: str, purpose: str, number: int, bits: int = 64) -> int:
    """A number that says nothing about the salt or about the number that it was made from.

    Args:
        salt: as ``new_salt`` makes them.
        purpose: different purposes give different numbers.
        number: a seed, for instance.
        bits: of the result.

    Raises:
        GinError: if ``salt`` is not written so.
    """
    if not re.fullmatch("[0-9a-f]{32}", salt):
        raise GinError(f"salt is {salt!r}; it must be 32 hexadecimal digits, as in a results file")
    digest = hashlib.blake2b(f"{purpose} {number}".encode(), key=bytes.fromhex(salt), digest_size=8).digest()
    return int.from_bytes(digest) >> (64 - bits)


class DealStream(NamedTuple):
    """Where a match gets its deals, and its players their randomness.

    Attributes:
        domain: what the deals are for.
        seed: of deals, luck and players.
        salt: mixed into the seed, so that neither side's seed says anything about the other's or about the deals; never empty where a
            program plays.
    """

    domain: Domain
    seed: int
    salt: str = ""

    @property
    def deals_seed(self) -> int:
        """The seed of the deals, with the salt mixed in if there is one.

        Raises:
            GinError: if the salt is malformed.
        """
        return salted(self.salt, "deals", self.seed) if self.salt else self.seed

    def keys(self, first: int, count: int) -> np.ndarray:
        """Keys of deals from number ``first`` on: ``uint64[count]``."""
        return deal_keys(self.domain, self.deals_seed, first, count)

    def luck(self, first: int, count: int) -> np.ndarray:
        """Private randomness of both seats of games from number ``first`` on: ``uint64[count, 2]``."""
        return luck_words(self.domain, self.deals_seed, first, count, self.salt)

    def program_seed(self, side: int) -> int:
        """What a program mixes with the salt to get its side's ``player_seed``."""
        return 2 * self.seed + side

    def player_seed(self, side: int) -> int:
        """The seed of a side's player, inside or outside."""
        return salted(self.salt, "players", self.program_seed(side), 31) if self.salt else self.seed
