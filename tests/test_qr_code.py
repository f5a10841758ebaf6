"""QR codes, beside what another encoder (the package qrcode 8.2: version 5, level L, mask 0, bytes) makes of the same texts."""

import pytest

from agents.web.qr_code import MAX_BYTES, SIZE, qr_code

# Rows from the top, ten hexadecimal digits each; the highest bit is the leftmost module.
LINK = (
    "1fc9993e7f104777a741175ddd645d174eee225d1744442a5d104888bf411fd555557f001dddfc001df667dfc41f0666dde707cc89d499008a21b9fb005911df"
    "600333b9dd651f5774c5690f99dfcfca1ee665dc69068a65dd691044891c7f1c0e23892a0f6d11de6b031bb9dc6d1763740c0f1321dcedda12c265df4b0f1e65"
    "dc6915cc8980130e0620a9ba17c911edf00017b9cd171fdb749353105ddeef1b175665edf9174a654d9a1750884b9f105a2299ba1fd912cdbb"
)
LETTER = (
    "1fc444447f1048888841175222225d174999995d174999995d10477777411fd555557f00122222001df11111c41fa3bbbb940d6b7777410c1ddddd140e5a6666"
    "750f2a66662a1bc48888be19022222eb0f5511119e1917bbbb9405ff7777411c35dddd141ed2666675080666662a0ff08888be052a2222eb09e911119e0917bb"
    "bb96117777774108bddddd1413766667f5001e66651b1fd888895f105a22231817551111fd1747bbb88617537775d11051ddde461fde666617"
)


@pytest.mark.parametrize(
    ("text", "rows"), [("http://192.168.178.21:8377/?token=0123456789abcdef0123456789abcdef", LINK), ("a", LETTER)]
)
def test_a_code_is_the_one_that_another_encoder_makes(text, rows):
    dark = qr_code(text)
    numbers = [sum(1 << (SIZE - 1 - x) for x, y in dark if y == row) for row in range(SIZE)]
    assert "".join(f"{number:010x}" for number in numbers) == rows


def test_a_text_that_is_too_long_has_no_code():
    assert qr_code("x" * MAX_BYTES) and qr_code("ü" * (MAX_BYTES // 2)) and not qr_code("x" * (MAX_BYTES + 1))
