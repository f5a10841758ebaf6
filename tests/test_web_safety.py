"""Who may use the table in the browser, and who may play there."""

import base64
import hashlib
import json
import os
import re
import shlex
import socket
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from agents.play.allowed import check_allowed
from agents.play.store import Home
from agents.web.app import run
from agents.web.people import People
from agents.web.safety import is_loopback
from agents.web.server import make_app
from ginenv.errors import GinError
from tests.support.refusals import refuses
from tests.support.session_scenes import LOOSE, NO_MELD, deck, prepared
from tests.support.web_scenes import ADDRESS, TOKEN, Guest, browser_of, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def people(tmp_path):
    people = People(Home(tmp_path))
    people.create("Ann")
    yield people
    people.close()


def status(client: TestClient, **headers: str) -> int:
    return client.post("/new", data={"sure": "1"}, headers=headers, follow_redirects=False).status_code


def test_foreign_hosts_and_origins_are_refused(people):
    client = browser_of(people)
    for host in ("127.0.0.1:8377", "localhost:8377", "[::1]:8377", "LOCALHOST"):
        assert client.get("/", headers={"Host": host}).status_code == 200, host
    foreign = "evil.example evil.example:8377 127.0.0.1.evil.example 192.168.1.7:8377 [ localhost.evil".split()
    for host in ("", *foreign):
        answer = client.get("/", headers={"Host": host})
        assert answer.status_code == 421 and "Ann" not in answer.text, host
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8377", "http://[x", ""):
        assert status(client, Origin=origin) == 403, origin
    person = people.person("Ann")
    assert person.session.file.game is None, "nothing that was refused had an effect"
    assert status(client, Origin=ADDRESS) == 303 and person.session.file.game is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_is_required_on_every_address(people, host):
    app = make_app(people, "secret-token", {"used-up"}, host)
    client = TestClient(app, base_url=ADDRESS)
    for path in ("/", "/table", "/static/table.css", "/?token=wrong", "/?token=", "/?token=%FF"):
        answer = client.get(path)
        assert answer.status_code == 403 and "token" in answer.text and "Ann" not in answer.text
    first = client.get("/?token=secret-token&at=3", follow_redirects=False)
    assert first.status_code == 303 and first.headers["location"] == "/?at=3"
    assert "httponly; samesite=" in first.headers["set-cookie"]
    assert "Ann is at the table" in client.get("/").text
    # What a browser's command line shows to others is good once.
    second, third = (TestClient(app, base_url=ADDRESS) for _ in range(2))
    assert second.get("/?token=used-up").status_code == 200 and third.get("/?token=used-up").status_code == 403


def test_a_cookie_that_this_server_did_not_sign_makes_nobody_anybody(people):
    people.create("Bob")
    client = browser_of(people)
    client.post("/players", data={"do": "switch", "name": "Bob"})
    assert "Bob is at the table" in client.get("/").text
    ((name, signed),) = client.cookies.items()
    other = browser_of(people)
    other.post("/players", data={"do": "switch", "name": "Ann"})
    ((_, elsewhere),) = other.cookies.items()
    data = base64.b64encode(json.dumps({"admitted": True, "player": "Ann"}).encode()).decode()
    forged = [data, f"{data}.{signed.partition('.')[2]}", elsewhere, "\xff", signed[:-1], ""]
    for cookie in [f"{name}={value}" for value in forged] + ["gin_player=Ann", f"gin_token={TOKEN}"]:
        answer = TestClient(client.app, base_url=ADDRESS).get("/", headers={"Cookie": cookie.encode("latin-1")})
        assert answer.status_code == 403 and "Ann" not in answer.text, cookie
    client.cookies.set("gin_player", "Ann")
    assert "Bob is at the table" in client.get("/").text


def test_a_name_that_the_command_line_gave_is_no_foreign_host(people):
    client = browser_of(people, names=["Cards.Example"])
    for host in ("cards.example", "cards.example:443", "127.0.0.1:8377"):
        assert client.get("/", headers={"Host": host}).status_code == 200, host
    assert status(client, Host="cards.example", Origin="https://cards.example") == 303
    # A proxy that passes on its own name for this machine, or the name with a port.
    assert status(client, Origin="https://cards.example") == 303
    assert status(client, Host="cards.example:443", Origin="https://cards.example") == 303
    assert status(client, Host="cards.example", Origin="https://evil.example") == 403
    assert status(client, Origin="https://cards.example.evil") == 403
    client.post(
        "/new", data={"opponent": "friend", "friend": "Eve", "sure": "1"}, headers={"Origin": "https://cards.example"}
    )
    assert "https://cards.example/?token=" in client.get("/players").text
    answer = client.get("/", headers={"Host": "other.example"})
    assert answer.status_code == 421 and "'other.example'" in answer.text and "--allow-host" in answer.text


@pytest.mark.parametrize("stripped", [True, False])
def test_under_a_path_every_address_is_under_it(people, stripped):
    """As behind a JupyterHub, whose proxy takes the path off, or does not."""
    root = "/user/ann%40home/proxy/8377"
    client = browser_of(people, root=root)
    here = "" if stripped else root
    entrance = client.get(f"{here}/?token={TOKEN}", follow_redirects=False)
    assert entrance.headers["location"] == f"{root}/" and f"path={root};" in entrance.headers["set-cookie"]
    client.headers["Cookie"] = entrance.headers["set-cookie"].partition(";")[0]
    begun = client.post(f"{here}/new", data={"sure": "1"}, follow_redirects=False)
    assert begun.headers["location"] == f"{root}/table"
    part = client.post(f"{here}/new", data={"sure": "1"}, headers={"HX-Request": "true"})
    assert part.headers["hx-redirect"] == f"{root}/table"
    for page in ("/", "/table", "/rules", "/players", "/learned?level=level-1", "/records"):
        answer = client.get(here + page)
        assert answer.status_code == 200
        # A value comes back to the server, which moves the redirect.
        addresses = re.findall(r'(?<!value)="(/[^"]*)"', answer.text)
        assert addresses and not [address for address in addresses if not address.startswith(f"{root}/")], page
        assert int(answer.headers["content-length"]) == len(answer.content)
    style = re.search(r'href="([^"]*table\.css[^"]*)"', client.get(f"{here}/").text)
    assert style and client.get(style[1].removeprefix(root) if stripped else style[1]).status_code == 200


def test_elsewhere_than_on_loopback_addresses_are_known_and_names_are_not(people):
    client = browser_of(people, host="0.0.0.0")
    assert client.get("/", headers={"Host": "192.168.1.7:8377"}).status_code == 200
    # A name that somebody had resolve to this machine is no address of it.
    assert client.get("/", headers={"Host": "evil.example:8377"}).status_code == 421
    assert status(client, Origin="http://evil.example") == 403
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.168.1.7") and not is_loopback("localhost.evil")


def test_pages_keep_to_themselves(people):
    client = browser_of(people)
    headers = client.get("/").headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
    for path in ("/", "/rules", "/options", "/players", "/static/table.css", "/static/table.js"):
        text = re.sub(r"http://www\.w3\.org/2000/svg", "", client.get(path).text)
        assert not re.search(r"https?://|//[a-z]+\.", text), f"{path} names another place"
        assert "<script>" not in text and " onclick" not in text


def test_bodies_are_bounded_and_checked(people):
    client = browser_of(people)
    assert client.post("/records", content=b"text=" + b"x" * 2_100_000).status_code == 413

    def stream():
        for _ in range(300):
            yield b"x" * 10_000

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/records", content=stream(), headers=form).status_code == 413
    assert client.post("/options", content="&".join(f"a{n}=1" for n in range(500)), headers=form).status_code == 400
    odd = client.post("/table", content=b"\xff\xfe%%%=&&=;%ff=%ff", headers=form)
    assert odd.status_code == 200
    assert client.get("/").status_code == 200


def test_the_vendored_script_is_the_one_that_is_named():
    folder = Path(__file__).parents[1] / "agents" / "web" / "static"
    about = json.loads((folder / "htmx.json").read_text())
    content = (folder / about["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == about["sha256"] and about["version"] in content.decode()
    assert "Zero-Clause BSD" in (folder / "htmx.LICENSE").read_text()


def test_where_it_listens_is_checked(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "GINENV_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host, wrong in (("127.0.0.1", 99999), ("192.0.2.1", 0), ("127.0.0.1", port)):
            with refuses(GinError, str(wrong or host)):
                run(host, port=wrong, browser=False)


def names_of(folder: Path) -> list[str]:
    """Players that a stranger would name: a program that leaves a trace, paths that exist and paths that do not."""
    trace = shlex.join([sys.executable, "-c", f"open({str(folder / 'trace')!r}, 'w')"])
    made = folder / "there"
    made.mkdir(exist_ok=True)
    (made / "level.json").write_text("{}")
    paths = [str(made), str(folder / "absent"), f"{made}:learn=false", f"./{made.name}", "/etc", "/etc/passwd"]
    options = [f"level-2:profile={made}", f"level-2:profile={folder / 'absent'}", f"search:network={made}"]
    huge = ["search:worlds=65536", "level-4:worlds=4096", "population:count=100000000"]
    return [f"cmd:{trace}", "py:os:system", *paths, *options, *huge, "search:worlds=nan", "network:temperature=1e400"]


def test_no_form_or_address_names_a_program_or_a_path(guest, tmp_path):
    ann: Guest = guest()
    for name in names_of(tmp_path):
        answers = [
            ann.client.post("/options", data={"opponent": name}),
            ann.client.get("/learned", params={"level": name}),
            ann.client.post("/learned", data={"level": name, "sure": "1"}),
        ]
        for answer in answers:
            assert 'class="say warning"' in answer.text, (name, answer.url)
        assert ann.person.session.options.opponent == "formula"
    assert not (tmp_path / "trace").exists() and not (tmp_path / "absent").exists()


def test_a_store_names_no_program(guest, tmp_path):
    name = names_of(tmp_path)[0]
    ann: Guest = guest(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0, opponent=name))
    ann.person.session.file.options = ann.person.session.options.model_copy(update={"opponent": name})
    for path in ("/", "/table", "/rules"):
        assert ann.client.get(path).status_code in (200, 400), path
    assert "There is an unfinished game" in plain(ann.post("/new", sure="1")), "nothing is lost"
    assert not (tmp_path / "trace").exists()


def test_what_the_command_line_names_plays(guest, directory):
    name = str(directory)
    ann: Guest = guest(allowed=[name])
    assert f'value="{name}"' in ann.get("/rules")
    assert "Your opponent is" in plain(ann.post("/options", opponent=name))
    with pytest.raises(GinError):
        check_allowed(f"{name}/..", [name])
