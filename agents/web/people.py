"""The people at this server: what each has open, who plays with whom, and whose browser is elsewhere."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from agents.play.session import Session
from agents.play.store import Home, PlayerFile, link_digest
from agents.web.jobs import Jobs
from agents.web.table import Table
from ginenv.errors import GinError

# More than several windows of one person ask for at once.
_MAX_REQUESTS = 8
# Seconds that somebody who invites a friend waits for what the friend is doing.
_PATIENCE = 5.0


class Person:
    """A person, and what the pages keep for this person between two requests.

    Args:
        session: the person's session.

    Attributes:
        lock: held by the request that is being answered; people who play with one another share one.
        queue: how many requests may be answered or wait for the lock.
        table: the game in play, as the page shows it.
        side_table: where a recorded hand is played on (``agents.web.play_on``), or None.
        jobs: work that the person waits for.
        answered: the last answer in practice, until the next position is asked for (``agents.web.practice``).
        waits_for_game: whether a game begins as soon as the rules are compiled.
        messages: sentences to show once, as pairs of a kind (``warning`` or ``plain``) and words.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = threading.RLock()
        self.queue = threading.BoundedSemaphore(_MAX_REQUESTS)
        self.messages: list[tuple[str, str]] = []
        self.table = Table(session, self.say)
        self.side_table: Any = None
        self.jobs = Jobs()
        self.answered: Any = None
        self.waits_for_game = False

    @property
    def name(self) -> str:
        """The person's name."""
        return self.session.file.name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock inside its block, also if it becomes another one meanwhile."""
        while True:
            lock = self.lock
            with lock:
                if lock is self.lock:
                    yield
                    return

    def say(self, words: str, kind: str = "plain") -> None:
        """Has a sentence shown once."""
        if words:
            self.messages.append((kind, words))

    def take_messages(self) -> list[tuple[str, str]]:
        """Returns what is to be shown once, including the session's notices."""
        for notice in self.session.notices():
            self.say(notice, "warning")
        messages, self.messages = self.messages, []
        return messages

    @contextmanager
    def shows_errors(self, before: str = "") -> Iterator[None]:
        """Turns a refusal inside its block into a sentence to show, behind some words."""
        try:
            yield
        except (GinError, OSError) as error:
            self.say(f"{before}{error}", "warning")

    def close(self) -> None:
        """Ends what the person has open."""
        with self.locked():
            self.session.close()


class People:
    """Everybody at this server.

    Args:
        home: where everything is kept.
        freeze: whether levels do not learn while this server runs.
        allowed: programs and directories that may play, as the command line named them.

    Attributes:
        links: the links that were made while this server runs, by the names of the people; the store keeps no token.
        arrived: those who have come to the table by their links since they were last invited.
    """

    def __init__(self, home: Home, freeze: bool = False, allowed: Sequence[str] = ()) -> None:
        self.home, self.freeze, self.allowed = home, freeze, tuple(allowed)
        self.links: dict[str, str] = {}
        self.arrived: set[str] = set()
        self._invited = home.invitations()
        self._people: dict[str, Person] = {}
        self._lock = threading.RLock()

    def person(self, name: str) -> Person:
        """An existing player, whose session begins at the first call.

        Raises:
            GinError: if there is no such player, or the player is at another table.
        """
        with self._lock:
            stored_name = self.home.canonical_name(name)
            return self._people.get(stored_name) or self._sit_down(self.home.open(stored_name))

    def create(self, name: str) -> Person:
        """Creates a player, whose session begins."""
        with self._lock:
            return self._sit_down(self.home.create(name))

    def _sit_down(self, file: PlayerFile) -> Person:
        friends = partial(self._friend, file.name)
        person = Person(Session(file, freeze=self.freeze, allowed=self.allowed, friends=friends))
        self._people[file.name] = person
        return person

    def _friend(self, name: str, friend: str) -> Session:
        """The session of a friend, who from now on shares a lock with the player of this name, whose request is being answered."""
        lock, other = self.person(name).lock, self.person(friend)
        if other.lock is not lock:
            # Not for ever: the friend may be waiting for this player.
            if not (theirs := other.lock).acquire(timeout=_PATIENCE):
                raise GinError(f"{other.name} is busy with another page; try again in a moment")
            try:
                if theirs is not other.lock:
                    raise GinError(f"{other.name} is busy with another game; try again in a moment")
                other.session.leave_game()
                other.lock = lock
            finally:
                theirs.release()
        return other.session

    def invited(self, token: str) -> str:
        """The name of the person whose link has this token; empty where there is none."""
        return self._invited.get(link_digest(token), "")

    def is_away(self, name: str) -> bool:
        """Whether a player plays by a link, from a browser of their own."""
        return name in self._invited.values()

    def invite(self, name: str, address: str = "") -> None:
        """Gives a player a link below this address of the server, with the token of the last one; without an address, takes it back."""
        self.arrived.discard(name)
        token = self.links.pop(name, "").rpartition("=")[2]
        if bool(address) != self.is_away(name):
            token = secrets.token_hex(16) if address else ""
            self.home.invite(name, token)
            self._invited = self.home.invitations()
        if token:
            self.links[name] = f"{address}/?token={token}"

    def check_plays_alone(self, name: str) -> None:
        """Refuses a player who has an unfinished game with a friend."""
        if friend := self.person(name).session.file.friend:
            raise GinError(f"{name} is in a game with {friend}; it has to end first")

    def free(self, name: str) -> None:
        """Ends a player's session, so that the player can play at another table; raises like ``check_plays_alone``."""
        with self._lock:
            self.check_plays_alone(name)
            person = self._people.pop(name)
        person.close()

    def close(self) -> None:
        """Ends all sessions."""
        while self._people:
            self._people.popitem()[1].close()
