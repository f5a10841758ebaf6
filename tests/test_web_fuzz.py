"""Whatever a client sends, the answer is a page or one sentence, and the server goes on."""

import asyncio
import string
from urllib.parse import quote, unquote, urlencode

import numpy as np
import pytest

from tests.support.session_scenes import LOOSE, NO_MELD, deck, prepared
from tests.support.web_scenes import ADDRESS, Guest

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CASES = 600
PATHS = "/ /ready /new /players /rules /options /table /statistics /watch /records /replay /analysis /analysis/seed /try".split()
PATHS += ["/mistakes", "/results", "/results/report", "/static/table.css"]
# Of queries and of forms alike.
FIELDS = "do name sure preset target opponent rules back at card picked place number by which level game hand record run subject".split()
FIELDS += "move tried last kind file text seed first second sort cloth learning token".split()
ODD = ["", "9" * 5000, "\0", "\x1b[31m", "\ud800", "𝕏" * 300, "' OR 1=1 --", "gin1 x", "ginrecord 1 game", "x" * 70_000]
ODD += (
    "0 -1 1 ² ٣ 1e3 nan é ../../etc/passwd <script> {{7*7}} cmd:true /etc formula: formula:x level-1:profile=/".split()
)
ODD += "7C 1X hint create switch remove free on gr gr,target=".split()
HOSTS = ["", "[", "[::1", "[::1]:x", "127.0.0.1:99999999", "localhost:", "a" * 300, "\xff", "127.0.0.1@evil", "1.2.3.4"]
ORIGINS = ["null", "http://[x", "http://", "//", "://", f"{ADDRESS}/", "\xff", "data:", "http://\x7f", ADDRESS]
TYPES = ["multipart/form-data", "multipart/form-data; boundary=x; charset=punycode", "text/plain", "\xff", ";", ""]
TYPES += ["application/x-www-form-urlencoded; charset=punycode", "application/x-www-form-urlencoded; charset=idna"]
COOKIES = ["gin_player=Ann", "=", ";;;", "\xff=\xff", "gin_token", "a=" + "b" * 9000, 'x="\\377"', "gin_player=%00"]
BODIES = [b"", b"&" * 500, b"%", b"%ff=%ff", b"\xff\xfe", b"--x\r\n", b"{}", b"do=hint;at=1", b"x" * 2_000_001]


def one_of(rng: np.random.Generator, values: list) -> object:
    return values[int(rng.integers(len(values)))]


def fields(rng: np.random.Generator) -> str:
    pairs = [(one_of(rng, FIELDS), one_of(rng, ODD)) for _ in range(int(rng.integers(1, 5)))]
    return urlencode(pairs, errors="surrogatepass") if rng.random() < 0.8 else "&".join(map(str, ODD[:3])) + "=%zz&%"


def path_of(rng: np.random.Generator) -> str:
    kind, odd = rng.random(), quote(str(one_of(rng, ODD))[:6000], safe="", errors="surrogatepass")
    if kind < 0.7:
        return str(one_of(rng, PATHS))
    if kind < 0.85:
        return str(one_of(rng, [f"/records/{odd}.gin", f"/static/{odd}", f"/{odd}", f"/table/{odd}"]))
    return "/" + "".join(one_of(rng, list(string.printable[:90])) for _ in range(12)).replace("?", "").replace("#", "")  # type: ignore[misc]


def request_of(rng: np.random.Generator, cookie: str) -> tuple[dict[str, object], bytes]:
    """A request as a server hands it to the application: its scope and its body."""
    headers = {"host": "127.0.0.1:8377", "cookie": cookie}
    for name, values in (("host", HOSTS), ("origin", ORIGINS), ("cookie", COOKIES), ("hx-request", ["true", "\xff"])):
        if rng.random() < 0.07:
            headers[name] = str(one_of(rng, values))
    method, query, body = str(one_of(rng, ["GET"] * 4 + ["POST"] * 8 + ["HEAD", "PUT"])), "", b""
    if method == "POST":
        body = fields(rng).encode() if rng.random() < 0.7 else bytes(one_of(rng, BODIES))  # type: ignore[arg-type]
        usual = rng.random() < 0.85
        headers["content-type"] = "application/x-www-form-urlencoded" if usual else str(one_of(rng, TYPES))
    elif rng.random() < 0.6:
        query = fields(rng)
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": ""}
    scope |= {"method": method, "path": unquote(path_of(rng)), "query_string": query.encode("ascii", "replace")}
    return scope | {"headers": [(name.encode(), text.encode("latin-1")) for name, text in headers.items()]}, body


async def answer_of(app, scope: dict[str, object], body: bytes) -> tuple[int, bytes]:
    """Status and text of an answer; an error in the application is raised."""
    sent: list[dict] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_nothing_that_is_sent_breaks_the_server(guest):
    ann: Guest = guest(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0))
    ann.get("/table")
    ((name, value),) = ann.client.cookies.items()
    rng = np.random.default_rng(44)
    statuses: set[int] = set()

    async def all_of_them() -> None:
        for _ in range(CASES):
            scope, body = request_of(rng, f"{name}={value}")
            status, text = await answer_of(ann.client.app, scope, body)
            assert status < 500 and b"Traceback" not in text, (scope, body[:200])
            statuses.add(status)

    asyncio.run(all_of_them())
    assert {200, 303, 400, 403, 404, 405, 413, 415, 421} <= statuses
    assert ann.client.get("/players").status_code == 200
