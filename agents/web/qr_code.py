"""QR codes of short texts: version 5 (37 by 37 modules), error correction L, byte mode, mask 0.

After ISO/IEC 18004. Readers take every mask, and one version holds every link that a table sends, so nothing is chosen here.
"""

from __future__ import annotations

SIZE = 37
MAX_BYTES = 106
# Words of data and of error correction, the numbers that fill up the data, and the modules that say "level L, mask 0".
_DATA, _CHECK, _PADDING, _FORMAT = 108, 26, (0xEC, 0x11), 0b111011111000100
# The powers of 2 in the field of 256 elements.
_POWERS = [1]
while len(_POWERS) < 255:
    _POWERS.append((_POWERS[-1] << 1) ^ (0x11D if _POWERS[-1] & 0x80 else 0))
_LOGARITHMS = {power: exponent for exponent, power in enumerate(_POWERS)}


def qr_code(text: str) -> list[tuple[int, int]]:
    """The dark modules, as pairs of a column and a row from 0; none if the text is longer than ``MAX_BYTES``."""
    data = text.encode()
    if len(data) > MAX_BYTES:
        return []
    words = _data_words(data)
    bits = "".join(f"{word:08b}" for word in words + _check_words(words))
    modules = _patterns()
    # What is left over after the last word is light, and masked too.
    for (x, y), bit in zip(_free_places(modules), bits.ljust(SIZE * SIZE, "0"), strict=False):
        modules[x, y] = (bit == "1") != ((x + y) % 2 == 0)
    return sorted(place for place, dark in modules.items() if dark)


def _data_words(data: bytes) -> list[int]:
    """The mode, the length, the bytes, the end, and padding."""
    bits = f"0100{len(data):08b}{''.join(f'{byte:08b}' for byte in data)}0000"
    words = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
    return words + [_PADDING[n % 2] for n in range(_DATA - len(words))]


def _times(a: int, b: int) -> int:
    return _POWERS[(_LOGARITHMS[a] + _LOGARITHMS[b]) % 255] if a and b else 0


def _check_words(data: list[int]) -> list[int]:
    """The words of error correction: what is left when the data is divided by the generator of the Reed-Solomon code."""
    generator = [1]
    for power in _POWERS[:_CHECK]:
        generator = [a ^ _times(b, power) for a, b in zip([*generator, 0], [0, *generator], strict=True)]
    rest = data + [0] * _CHECK
    for at in range(len(data)):
        factor = rest[at]
        for k, coefficient in enumerate(generator):
            rest[at + k] ^= _times(factor, coefficient)
    return rest[len(data) :]


def _patterns() -> dict[tuple[int, int], bool]:
    """The modules that are the same in every code: whether each is dark."""
    end = SIZE - 1
    modules = {place: n % 2 == 0 for n in range(SIZE) for place in ((n, 6), (6, n))}
    for x, y, reach in ((3, 3, 4), (end - 3, 3, 4), (3, end - 3, 4), (end - 6, end - 6, 2)):
        for dx in range(-reach, reach + 1):
            for dy in range(-reach, reach + 1):
                if 0 <= x + dx <= end and 0 <= y + dy <= end:
                    ring = max(abs(dx), abs(dy))
                    modules[x + dx, y + dy] = ring not in ((2, 4) if reach == 4 else (1,))
    format_rows = [*range(6), 7, 8]
    for n in range(15):
        dark = bool(_FORMAT >> n & 1)
        modules[(8, format_rows[n]) if n < 8 else (7 if n == 8 else 14 - n, 8)] = dark
        modules[(end - n, 8) if n < 8 else (8, end - 14 + n)] = dark
    modules[8, end - 7] = True
    return modules


def _free_places(modules: dict[tuple[int, int], bool]) -> list[tuple[int, int]]:
    """The places of the data in order: up and down in columns of two, from the right; column 6 is passed over."""
    places = []
    for n, right in enumerate([*range(SIZE - 1, 6, -2), 5, 3, 1]):
        rows = range(SIZE) if n % 2 else range(SIZE - 1, -1, -1)
        places += [(x, y) for y in rows for x in (right, right - 1) if (x, y) not in modules]
    return places
