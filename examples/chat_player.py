#!/usr/bin/env python3
"""Lets a language model behind a chat endpoint of the common form play, as a program of the line protocol (docs/protocol.md).

    export OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=...
    gin rate "cmd:python examples/chat_player.py MODEL" --budget 60-hands --seconds 300

Every question goes out by itself, with the rules, so no memory is needed. An answer that is not legal is counted, explained and asked for
again; after three, the answer stands, and the hand is lost.
"""

import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from agents.programs.words import entry_words, rules_words
from ginenv import get_rules

URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/") + "/chat/completions"
# Questions at once, answers to each that may be wrong, and calls until an endpoint that is busy counts as broken.
AT_ONCE, TRIES, CALLS = 8, 3, 5
FORM = "Think as long as you need, and end with a line that holds nothing but the action, as it is written after Legal."


def complete(model, messages):
    """The endpoint's answer to some messages; an endpoint that is busy is asked again."""
    body = json.dumps({"model": model, "messages": messages}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
    }
    for call in range(1, CALLS + 1):
        try:
            with urllib.request.urlopen(urllib.request.Request(URL, body, headers), timeout=600) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if call == CALLS or error.code not in (408, 429, 500, 502, 503, 504):
                sys.exit(f"{URL} answered {error.code}: {error.read()[:200].decode(errors='replace')}")
            time.sleep(2**call)


def action_in(text):
    """The action in the last line that is not empty, without marks around it and without "Action:" before it."""
    lines = [line for line in re.sub(r"[*_`'\"]", " ", text).splitlines() if line.strip()]
    found = " ".join(lines[-1].split()).rstrip(".") if lines else ""
    return re.sub(r"^(final )?(action|answer): *", "", found, flags=re.IGNORECASE)


def decide(model, rules, game):
    """The answer to one question."""
    messages = [{"role": "system", "content": f"{rules}\n\n{FORM}"}, {"role": "user", "content": entry_words(game)}]
    legal = {action.lower(): action for action in game["legal"]}
    illegal = 0
    while True:
        answer = complete(model, messages)
        text = answer["choices"][0]["message"].get("content") or ""
        action = action_in(text)
        illegal += action.lower() not in legal
        if action.lower() in legal or illegal == TRIES:
            return {"slot": game["slot"], "action": legal.get(action.lower(), action[:40] or "nothing")}
        wrong = f"{action[:40]!r} is not legal. Legal: {', '.join(game['legal'])}. {FORM}"
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": wrong}]


def main():
    """Answers each line of the arena."""
    model, rules = sys.argv[1], ""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "bye":
                break
            if message["type"] == "hello":
                rules = rules_words(get_rules(message["rules"]))
                answer = {"type": "ready", "protocol": 1, "name": model, "max_batch": AT_ONCE}
            else:
                waiting = [game for game in message["games"] if "legal" in game]
                answers = list(pool.map(decide, repeat(model), repeat(rules), waiting))
                answer = {"type": "answers", "id": message["id"], "answers": answers}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
