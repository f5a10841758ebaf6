"""Who may use the table in the browser, and that a killed server loses nothing."""

import asyncio
import base64
import hashlib
import http.cookiejar
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from agents.play.store import Home
from agents.web.browser_session import Sessions
from agents.web.safety import is_loopback
from agents.web.server import make_app
from ginenv.errors import GinError
from tests.support.refusals import refuses
from tests.support.web_scenes import TOKEN, browser_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

OURS = "http://127.0.0.1:8377"


@pytest.fixture
def sessions(tmp_path):
    sessions = Sessions(Home(tmp_path))
    sessions.create("Ann")
    yield sessions
    sessions.close()


def status(client: TestClient, **headers: str) -> int:
    return client.post("/new", data={"sure": "1"}, headers=headers, follow_redirects=False).status_code


def test_foreign_hosts_and_origins_are_refused(sessions):
    client = browser_of(sessions)
    for host in ("127.0.0.1:8377", "localhost:8377", "[::1]:8377", "LOCALHOST"):
        assert client.get("/", headers={"Host": host}).status_code == 200, host
    foreign = "evil.example evil.example:8377 127.0.0.1.evil.example 192.168.1.7:8377 [ localhost.evil".split()
    for host in ("", *foreign):
        answer = client.get("/", headers={"Host": host})
        assert answer.status_code == 421 and "Ann" not in answer.text, host
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8377", "http://[x", ""):
        assert status(client, Origin=origin) == 403, origin
    assert status(client, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert status(client, **{"Sec-Fetch-Site": "same-site"}) == 403
    browser = sessions.browser_session("Ann")
    assert browser.session.file.game is None, "nothing that was refused had an effect"
    assert status(client, Origin=OURS) == 303 and browser.session.file.game is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_is_required_on_every_address(sessions, host):
    app = make_app(sessions, "secret-token", {"used-up"}, host)
    client = TestClient(app, base_url=OURS)
    for path in ("/", "/table", "/static/table.css", "/?token=wrong", "/?token=", "/?token=%FF"):
        answer = client.get(path)
        assert answer.status_code == 403 and "token" in answer.text and "Ann" not in answer.text
    first = client.get("/?token=secret-token&at=3", follow_redirects=False)
    assert first.status_code == 303 and first.headers["location"] == "/?at=3"
    assert "httponly; samesite=" in first.headers["set-cookie"]
    assert "Ann is at the table" in client.get("/").text
    # What a browser's command line shows to others is good once.
    second, third = (TestClient(app, base_url=OURS) for _ in range(2))
    assert second.get("/?token=used-up").status_code == 200 and third.get("/?token=used-up").status_code == 403


def test_a_cookie_that_this_server_did_not_sign_makes_nobody_anybody(sessions):
    sessions.create("Bob")
    client = browser_of(sessions)
    client.post("/players", data={"do": "switch", "name": "Bob"})
    assert "Bob is at the table" in client.get("/").text
    ((name, signed),) = client.cookies.items()
    other = browser_of(sessions)
    other.post("/players", data={"do": "switch", "name": "Ann"})
    ((_, elsewhere),) = other.cookies.items()
    data = base64.b64encode(json.dumps({"admitted": True, "player": "Ann"}).encode()).decode()
    forged = [data, f"{data}.{signed.partition('.')[2]}", elsewhere, "Ann", "\xff", signed[:-1], ""]
    for cookie in [f"{name}={value}" for value in forged] + ["gin_player=Ann", "gin_token=the-token"]:
        answer = TestClient(client.app, base_url=OURS).get("/", headers={"Cookie": cookie.encode("latin-1")})
        assert answer.status_code == 403 and "Ann" not in answer.text, cookie
    client.cookies.set("gin_player", "Ann")
    assert "Bob is at the table" in client.get("/").text


def test_a_name_that_the_command_line_gave_is_no_foreign_host(sessions):
    client = browser_of(sessions, names=["Cards.Example"])
    for host in ("cards.example", "cards.example:443", "127.0.0.1:8377"):
        assert client.get("/", headers={"Host": host}).status_code == 200, host
    assert status(client, Host="cards.example", Origin="https://cards.example") == 303
    # A proxy that passes on its own name for this machine, or the name with a port.
    assert status(client, Origin="https://cards.example") == 303
    assert status(client, Host="cards.example:443", Origin="https://cards.example") == 303
    assert status(client, Host="cards.example", Origin="https://evil.example") == 403
    assert status(client, Origin="https://cards.example.evil") == 403
    answer = client.get("/", headers={"Host": "other.example"})
    assert answer.status_code == 421 and "'other.example'" in answer.text and "--allow-host" in answer.text


@pytest.mark.parametrize("stripped", [True, False])
def test_under_a_path_every_address_is_under_it(sessions, stripped):
    """As behind a JupyterHub, whose proxy takes the path off, or does not."""
    root = "/user/ann/proxy/8377"
    client = browser_of(sessions, root=root)
    here = "" if stripped else root
    entrance = client.get(f"{here}/?token={TOKEN}", follow_redirects=False)
    assert entrance.headers["location"] == f"{root}/" and f"path={root};" in entrance.headers["set-cookie"]
    client.headers["Cookie"] = entrance.headers["set-cookie"].partition(";")[0]
    begun = client.post(f"{here}/new", data={"sure": "1"}, follow_redirects=False)
    assert begun.headers["location"] == f"{root}/table"
    part = client.post(f"{here}/new", data={}, headers={"HX-Request": "true"})
    assert part.headers["hx-redirect"] == f"{root}/"
    pages = (
        "/ /table /rules /options /players /records /analysis /watch /practice /mistakes /learned?level=level-1".split()
    )
    for page in pages:
        answer = client.get(here + page)
        assert answer.status_code == 200
        addresses = re.findall(r'\b(?:href|action|src|hx-get|hx-post)="(/[^"]*)"', answer.text)
        assert addresses and all(address.startswith(f"{root}/") for address in addresses), page
        assert int(answer.headers["content-length"]) == len(answer.content)
    style = re.search(r'href="([^"]*table\.css[^"]*)"', client.get(f"{here}/").text)
    assert style and client.get(style[1].removeprefix(root) if stripped else style[1]).status_code == 200


def test_elsewhere_than_on_loopback_addresses_are_known_and_names_are_not(sessions):
    client = browser_of(sessions, host="0.0.0.0")
    assert client.get("/", headers={"Host": "192.168.1.7:8377"}).status_code == 200
    # A name that somebody had resolve to this machine is no address of it.
    assert client.get("/", headers={"Host": "evil.example:8377"}).status_code == 421
    assert status(client, Origin="http://evil.example") == 403
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.168.1.7") and not is_loopback("localhost.evil")


def test_pages_keep_to_themselves(sessions):
    client = browser_of(sessions)
    headers = client.get("/").headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
    for path in ("/", "/rules", "/options", "/players", "/static/table.css", "/static/table.js"):
        text = re.sub(r"http://www\.w3\.org/2000/svg", "", client.get(path).text)
        assert not re.search(r"https?://|//[a-z]+\.", text), f"{path} names another place"
        assert "<script>" not in text and " onclick" not in text


def test_bodies_are_bounded_and_checked(sessions):
    client = browser_of(sessions)
    assert client.post("/replay", content=b"text=" + b"x" * 2_100_000).status_code == 413

    def stream():
        for _ in range(300):
            yield b"x" * 10_000

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/replay", content=stream(), headers=form).status_code == 413
    assert client.post("/options", content="&".join(f"a{n}=1" for n in range(500)), headers=form).status_code == 400
    odd = client.post("/table", content=b"\xff\xfe%%%=&&=;%ff=%ff", headers=form)
    assert odd.status_code == 200
    form_data = "multipart/form-data; boundary=x"
    for kind in (form_data, f"{form_data}; charset=punycode", "application/json"):
        assert client.post("/table", content=b"--x\r\n", headers={"Content-Type": kind}).status_code == 415
    assert client.get("/").status_code == 200


def test_the_vendored_script_is_the_one_that_is_named():
    folder = Path(__file__).parents[1] / "agents" / "web" / "static"
    about = json.loads((folder / "htmx.json").read_text())
    content = (folder / about["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == about["sha256"] and about["version"] in content.decode()
    assert "Zero-Clause BSD" in (folder / "htmx.LICENSE").read_text()


_PROGRAM = "import sys; sys.argv[0] = 'gin'; from agents.cli import main; main()"


class Server:
    """The program in a process of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        options = ["--no-browser", "--port", "0", "--home", str(home), *arguments]
        command = [sys.executable, "-c", _PROGRAM, "web", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = re.search(r"(http://\S+)/(\?token=\S+)", self.line)
        self.address, entrance = found.groups() if found else ("", "")
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self.ask(f"/{entrance}")

    def ask(self, path: str, fields: dict[str, str] | None = None) -> str:
        data = urllib.parse.urlencode(fields).encode() if fields is not None else None
        with self._opener.open(self.address + path, data, timeout=300) as answer:
            return answer.read().decode()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.mark.slow
def test_the_program_prints_its_address_and_stops_on_request(tmp_path):
    server = Server(tmp_path)
    try:
        assert server.line.startswith("The table is at http://127.0.0.1:")
        assert "Who plays?" in server.ask("/")
        port = server.address.rpartition(":")[2]
        words = ["web", "--no-browser", "--home", str(tmp_path), "--port", port]
        command = [sys.executable, "-c", _PROGRAM, *words]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert second.returncode != 0 and "cannot be listened on" in second.stderr and "--port" in second.stderr
        assert "Traceback" not in second.stderr
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=20) in (0, -signal.SIGINT, 130, 1)
    finally:
        server.kill()


def test_an_answer_does_not_wait_for_an_acknowledgement():
    from agents.web.listening import listen

    async def delays() -> int:
        found = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = listen("127.0.0.1", 0)
        async with await asyncio.start_server(answer, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            return await asyncio.wait_for(found, 60)

    assert asyncio.run(delays()) != 0


def test_where_it_listens_is_checked(tmp_path, monkeypatch):
    from agents.web.app import run

    monkeypatch.setitem(os.environ, "GINENV_HOME", str(tmp_path))
    with refuses(GinError, "--port", 0, 65535):
        run(["--no-browser", "--port", "99999"])
    with refuses(GinError, "192.0.2.1"):
        run(["--no-browser", "--port", "0", "--host", "192.0.2.1"])
