#!/usr/bin/env python3
"""Bots that break the line protocol, each in its own way; the arena must survive all of them.

    python -m tests.support.bad_bots KIND [SEED]

Each plays the last legal action until its fault occurs; the seed decides when.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

KINDS = {
    "crash-at-start": "ends with a traceback before it is ready",
    "exit-at-start": "ends with status 0 before it is ready",
    "silent-at-start": "never gets ready",
    "wrong-protocol": "is ready for another version of the protocol",
    "true-protocol": "is ready for the version true",
    "wrong-key": "is ready with a key that does not exist",
    "crash": "ends with a traceback in the middle",
    "exit": "ends with status 0 in the middle",
    "killed": "ends itself by a signal",
    "crash-on-exit": "plays well, and fails when it should exit",
    "stall": "stops answering",
    "partial": "answers half a line and stops",
    "deaf": "stops reading its input",
    "no-json": "answers with words",
    "no-object": "answers with a list",
    "nested": "answers with a hundred thousand brackets",
    "binary": "answers with bytes that are not text",
    "wrong-type": "answers with another type of message",
    "old-id": "answers the question before",
    "missing": "leaves a slot out",
    "twice": "answers twice for a slot",
    "no-action": "answers without an action",
    "not-a-move": "answers with an action that does not exist",
    "illegal": "answers with an action that is not legal",
    "long-move": "answers with an action of 180 kB",
    "long-number": "answers with an arrangement of 180,000 digits",
    "number": "answers with a number as action",
    "flood": "answers with endless output",
    "chatter": "says more than it was asked",
    "noise": "floods its error output",
    "last-words": "floods both outputs after the bye, and ends as it should",
    "orphan": "leaves a process behind",
    "stubborn": "ignores that it should end",
}


def say(text):
    """Writes one line to the arena."""
    print(text, flush=True)


def misbehave(kind, request):
    """Does what the kind is named after; returns whether the normal answer follows."""
    if kind == "crash":
        raise RuntimeError("this bot crashes in the middle")
    if kind == "exit":
        sys.exit(0)
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGTERM)
    if kind == "partial":
        print('{"type":"answers","id":', end="", flush=True)
    if kind in ("stall", "partial", "deaf"):
        time.sleep(600)
    if kind == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if kind == "noise":
        for _ in range(1000):
            sys.stderr.write("noise " * 1000)
        return True
    if kind == "chatter":
        say('{"type":"hint","text":"I am thinking"}')
        return True
    if kind == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        raise RuntimeError("this bot leaves a process behind")
    if kind == "binary":
        sys.stdout.buffer.write(bytes(range(128, 256)) + b"\n")
        sys.stdout.buffer.flush()
        return False
    words = {"no-json": "discard 7C", "no-object": "[1, 2]", "nested": "[" * 100_000, "wrong-type": '{"type":"move"}'}
    if kind in words:
        say(words[kind])
        return False
    slots = [game["slot"] for game in request["games"] if "legal" in game]
    moves = {"not-a-move": "fold", "illegal": "lay off AS", "number": 17, "twice": "pass"}
    moves |= {"long-move": "knock " * 30_000, "long-number": f"spread {'9' * 180_000}"}
    action = moves.get(kind)
    answers = [{"slot": slot} if kind == "no-action" else {"slot": slot, "action": action} for slot in slots]
    if kind == "missing":
        answers = []
    if kind == "twice":
        answers *= 2
    say(json.dumps({"type": "answers", "id": request["id"] - (kind == "old-id"), "answers": answers}))
    return False


def main():
    """Plays until the fault."""
    kind, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    left = random.Random(seed).randrange(1, 6)
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if kind == "crash-at-start":
        raise RuntimeError("this bot crashes at start")
    if kind == "exit-at-start":
        sys.exit(0)
    if kind == "silent-at-start":
        time.sleep(600)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            answer = {"type": "ready", "protocol": {"wrong-protocol": 99, "true-protocol": True}.get(kind, 1)}
            if kind == "wrong-key":
                answer["max_bacth"] = 5
            say(json.dumps(answer))
        elif message["type"] == "act":
            left -= 1
            harmless = kind in ("crash-on-exit", "stubborn", "last-words")
            if left <= 0 and not harmless and not misbehave(kind, message):
                continue
            answers = [{"slot": g["slot"], "action": g["legal"][-1]} for g in message["games"] if "legal" in g]
            say(json.dumps({"type": "answers", "id": message["id"], "answers": answers}))
        elif kind == "crash-on-exit":
            raise RuntimeError("this bot crashes on exit")
        elif kind == "last-words":
            for stream in (sys.stdout, sys.stderr):
                print("good-bye " * 50_000, file=stream, flush=True)
    if kind == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main()
