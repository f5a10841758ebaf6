#!/usr/bin/env python3
"""Lets a language model behind a chat endpoint of the common form play, as a program of the line protocol (docs/protocol.md).

    export OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=...
    gin rate "cmd:python examples/chat_player.py MODEL --temperature 0 --max-total-tokens 5000000" --budget 60-hands --seconds 300

Every question goes out by itself, with the rules, so no memory is needed. An answer that is not legal is explained and asked for again;
after three, the answer stands, and the hand is lost. An endpoint that fails is asked again, later and later; then the program ends with a
sentence.
"""

import argparse
import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import NoReturn

from agents.programs.words import entry_words, rules_words
from ginenv import get_rules

URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/") + "/chat/completions"
# Answers to a question that may be wrong, and calls until an endpoint counts as broken.
TRIES, CALLS = 3, 6
# Statuses of an endpoint that is busy or breaks down; others will not change.
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 529)
FORM = "Think as long as you need, and end with a line that holds nothing but the action, as it is written after Legal."
# What models put around an answer; what ends it may be cut off.
MARKED = re.compile(r"<answer>(.*?)(?:</answer>|$)|\\boxed\{(?:\\\w+\{)?([^{}]*)\}", re.DOTALL | re.IGNORECASE)


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Lets a language model behind a chat endpoint play.")
    parser.add_argument("model")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--max-tokens", type=int, help="of one answer (sent as max_completion_tokens)")
    parser.add_argument("--effort", help="sent as reasoning_effort")
    parser.add_argument("--concurrency", type=int, default=8, help="questions at once")
    parser.add_argument(
        "--max-total-tokens", type=int, help="end when all answers, as --usage counts them, took so many"
    )
    parser.add_argument(
        "--usage", type=Path, help="file that counts tokens over all runs; runs/chat/MODEL.json if left out"
    )
    parser.add_argument(
        "--pause", type=float, default=2.0, help="seconds until an endpoint that failed is asked again; they double"
    )
    chosen = parser.parse_args()
    chosen.usage = chosen.usage or Path("runs/chat", re.sub(r"[^\w.-]+", "-", chosen.model) + ".json")
    return chosen


class Usage:
    """What all answers took, in a file, since each program plays some hands only."""

    def __init__(self, path, most):
        self.path, self.most, self.lock = path, most, threading.Lock()
        self.sums = json.loads(path.read_text()) if path.exists() else {}

    def check(self):
        """Ends the program where the limit is reached."""
        spent = self.sums.get("prompt_tokens", 0) + self.sums.get("completion_tokens", 0)
        if self.most is not None and spent >= self.most:
            stop(f"the limit of {self.most} tokens is reached: {self.path} has {spent}")

    def add(self, **counts):
        """Adds to the sums."""
        with self.lock:
            for key, count in counts.items():
                self.sums[key] = self.sums.get(key, 0) + (count if isinstance(count, int) else 0)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(".new")
            beside.write_text(json.dumps(self.sums))
            beside.replace(self.path)


def stop(words) -> NoReturn:
    """Ends the program from any thread; the match quotes the sentence, and keeps what was played before."""
    sys.stderr.write(words + "\n")
    sys.stderr.flush()
    os._exit(1)


def text_of(answer):
    """What the model said, if this is an answer."""
    text = answer["choices"][0]["message"]["content"]
    return text if isinstance(text, str) else ""


def complete(chosen, messages):
    """The endpoint's answer to some messages; an endpoint that fails is asked again."""
    options = {
        "temperature": chosen.temperature, "max_completion_tokens": chosen.max_tokens, "reasoning_effort": chosen.effort
    }  # fmt: skip
    given = {key: value for key, value in options.items() if value is not None}
    body = json.dumps({"model": chosen.model, "messages": messages, **given}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
    }
    fault = ""
    for call in range(CALLS):
        time.sleep(chosen.pause * 2 ** (call - 1) if call else 0)
        try:
            with urllib.request.urlopen(urllib.request.Request(URL, body, headers), timeout=600) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            fault = f"{error.code}: {error.read()[:200].decode(errors='replace')}"
            if error.code not in PASSING:
                break
            continue
        except (OSError, http.client.HTTPException) as error:
            fault = f"with {error}"
            continue
        try:
            found = json.loads(content)
            text_of(found)
        except (ValueError, LookupError, TypeError):
            fault = f"with what is no completion: {content[:200].decode(errors='replace')}"
        else:
            return found
    stop(f"{URL} answered {' '.join(fault.split())}")


def action_in(text):
    """The action: what is marked as the answer, or the last line that is not empty, without marks around it."""
    marked = MARKED.findall(text)
    text = "".join(marked[-1]) if marked else text
    lines = [line for line in re.sub(r"[*_`'\"\\]", " ", text).splitlines() if line.strip()]
    found = " ".join(lines[-1].split()).rstrip(". ") if lines else ""
    return re.sub(r"^(- )?((final )?(action|answer): *)?", "", found, flags=re.IGNORECASE)


def decide(chosen, usage, rules, game):
    """The answer to one question."""
    messages = [{"role": "system", "content": f"{rules}\n\n{FORM}"}, {"role": "user", "content": entry_words(game)}]
    legal = {action.lower(): action for action in game["legal"]}
    action = ""
    for _ in range(TRIES):
        usage.check()
        answer = complete(chosen, messages)
        took, text = answer.get("usage"), text_of(answer)
        action = action_in(text)
        is_legal = action.lower() in legal
        tokens = (
            {key: took.get(key) for key in ("prompt_tokens", "completion_tokens")} if isinstance(took, dict) else {}
        )
        usage.add(answers=1, illegal=not is_legal, **tokens)
        if is_legal:
            return {"slot": game["slot"], "action": legal[action.lower()]}
        wrong = f"{action[:40]!r} is not legal. Legal: {', '.join(game['legal'])}. {FORM}"
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": wrong}]
    return {"slot": game["slot"], "action": action[:40] or "nothing"}


def main():
    """Answers each line of the arena."""
    chosen = arguments()
    usage, rules = Usage(chosen.usage, chosen.max_total_tokens), ""
    with ThreadPoolExecutor(chosen.concurrency) as pool:
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "bye":
                break
            if message["type"] == "hello":
                rules = rules_words(get_rules(message["rules"]))
                answer = {"type": "ready", "protocol": 2, "name": chosen.model, "max_batch": chosen.concurrency}
            else:
                waiting = [game for game in message["games"] if "legal" in game]
                answers = list(pool.map(decide, repeat(chosen), repeat(usage), repeat(rules), waiting))
                answer = {"type": "answers", "id": message["id"], "answers": answers}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
