#!/usr/bin/env python3
"""Bots that break the line protocol, each in its own way; the arena must survive all of them.

    python -m tests.support.bad_bots KIND [SEED]

Each plays the last legal action until its fault occurs; the seed decides when.

- before the first question: crash-at-start, wrong-protocol, wrong-key
- in an answer: no-json, twice (a game), illegal, partial (half a line)
- instead of an answer: stall, flood, orphan (ends, and leaves a process behind)
- after the bye: crash-on-exit, stubborn (ignores that it should end)
"""

import json
import random
import signal
import subprocess
import sys
import time


def say(text):
    """Writes one line to the arena."""
    print(text, flush=True)


def misbehave(kind, request):
    """Does what the kind is named after, in place of the normal answer."""
    if kind == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        raise RuntimeError("this bot leaves a process behind")
    if kind == "partial":
        print('{"type":"answers","id":', end="", flush=True)
    if kind in ("stall", "partial"):
        time.sleep(600)
    while kind == "flood":
        sys.stdout.write("x" * 65536)
    if kind == "no-json":
        say("discard 7C")
        return
    action = "lay off AS" if kind == "illegal" else "pass"
    answers = [{"slot": game["slot"], "action": action} for game in request["games"] if "legal" in game]
    say(json.dumps({"type": "answers", "id": request["id"], "answers": answers * (2 if kind == "twice" else 1)}))


def main():
    """Plays until the fault."""
    kind, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    left = random.Random(seed).randrange(1, 6)
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if kind == "crash-at-start":
        raise RuntimeError("this bot crashes at start")
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            answer = {"type": "ready", "protocol": 99 if kind == "wrong-protocol" else 2}
            if kind == "wrong-key":
                answer["max_bacth"] = 5
            say(json.dumps(answer))
        elif message["type"] == "act":
            left -= 1
            if left <= 0 and kind not in ("crash-on-exit", "stubborn"):
                misbehave(kind, message)
                continue
            answers = [{"slot": g["slot"], "action": g["legal"][-1]} for g in message["games"] if "legal" in g]
            say(json.dumps({"type": "answers", "id": message["id"], "answers": answers}))
        elif kind == "crash-on-exit":
            raise RuntimeError("this bot crashes on exit")
    if kind == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main()
