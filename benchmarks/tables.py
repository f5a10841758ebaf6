"""Writes the documentation's tables from the results files of the benchmarks and from the code.

`python -m benchmarks.tables` writes docs/results.md, and the tables between the marks in README.md and other pages; with `--check` it
writes nothing and fails if a page differs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro

from agents.analysis.marks import MARKS
from agents.files import write_text
from agents.levels.level import NAMES, load_level
from agents.network.checkpoint import read_metadata
from agents.network.player import SHIPPED
from agents.search.config import SearchConfig
from benchmarks.level_tables import gains_table, ladder_table, levels_summary, variety_table
from benchmarks.markdown import RESULTS, interval, percent, points, read, share, table
from benchmarks.page_tables import TABLES
from ginenv.tables.players import parse_player

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "results.md"
# Opponents in the training pool; the others were kept out of training.
SEEN = ("simple", "formula", "camper", "knocker", "easy")
# Turns for which the tables show the belief.
BELIEF_TURNS = (1, 3, 6, 9)
# Opponents of the network in the README.
PUBLIC = {
    "openspiel-simple": "`openspiel-simple` (OpenSpiel's)",
    "simple": "`simple` (EAAI challenge baseline)",
    "knocker": "`knocker`",
}

# Descriptions of checkpoints.
_LEARNERS = {
    "benchmarks/checkpoints/stages": "a network that shipped earlier (`benchmarks/checkpoints/stages`)",
    "benchmarks/checkpoints/previous": "the network that shipped before (`benchmarks/checkpoints/previous`)",
}


def _match(name: str) -> dict[str, Any]:
    return read(name)["matches"][0]


def network_table() -> list[str]:
    """The shipped network against the bots, and under every preset against `formula` and the network that shipped before."""
    bots, presets = [], []
    for path in sorted(RESULTS.glob("network-eaai-*.json")):
        match = _match(path.stem)
        name = match["players"][1]
        seen = "met in training" if name in SEEN else "" if name in _LEARNERS else "held out"
        bots.append([_LEARNERS.get(name, f"`{name}`"), f"{match['jobs']:,}", share(match), points(match), seen])
    for path in sorted(RESULTS.glob("network-rules-*.json")):
        rules = path.stem.removeprefix("network-rules-")
        match, before = _match(path.stem), _match(f"network-previous-{rules}")
        presets.append([f"`{rules}`", share(match), points(match), share(before), points(before)])
    return [
        *table(["`network` against", "games", "games won", "points per hand", ""], bots),
        *table(
            [
                "`network` under, 10,000 hands each",
                "hands won against `formula`",
                "points per hand",
                "hands won against the network that shipped before",
                "points per hand",
            ],
            presets,
        ),
    ]


def again_table() -> list[str]:
    """The network of a second run of the whole recipe, beside the shipped one on the same deals."""
    rows = []
    for path in sorted(RESULTS.glob("again-eaai-*.json")):
        match = _match(path.stem)
        name, first = match["players"][1], f"network-eaai-{match['players'][1].replace('/', '-')}"
        shipped = points(_match(first)) if (RESULTS / f"{first}.json").exists() else ""
        rows.append([_LEARNERS.get(name, f"`{name}`"), f"{match['jobs']:,}", share(match), points(match), shipped])
    return table(
        ["that network against", "games", "games won", "points per hand", "points per hand of `network`"], rows
    )


def exploit_table() -> list[str]:
    """What the best of several trained responses wins from a frozen player."""
    rows = []
    for path in sorted(RESULTS.glob("exploit-*.json")):
        document = read(path.stem)
        config, match = document["config"], _match(path.stem)
        budget = f"{config['seeds']} × {config['decisions']}"
        gained = interval(document["gained"])
        rows.append([f"`{config['agent']}`", budget, f"{match['jobs']:,}", share(match), points(match), gained])
    headings = [
        "best response, begun from `network`, against",
        "decisions",
        "games",
        "games won",
        "points per hand",
        "more than `network` wins from it, on the same deals",
    ]
    return table(headings, rows)


def belief_table() -> list[str]:
    """How much better than counting the shipped network predicts the opponent's cards."""
    rows = []
    for file, seen in (("belief", "met in training"), ("belief-aside", "held out")):
        document = read(file)
        for name, found in document["opponents"].items():
            below = {turn["turn"]: turn["below"] for turn in found["turns"]}
            shares = [percent(below[turn]) for turn in BELIEF_TURNS]
            if name != "itself" or file == "belief":
                rows.append([name if name == "itself" else f"`{name}`", *shares, "" if name == "itself" else seen])
    return table(["opponent", *(f"turn {turn}" for turn in BELIEF_TURNS), ""], rows)


def speed_table() -> list[str]:
    """Speed beside OpenSpiel, each measured in one run."""
    rows = [
        [
            re.sub(r", (openspiel|eaai)$", r", rules `\1`", row["name"]),
            f"{row['hands_per_second']:,.0f} hands",
            f"{row['hands_ratio']:,.1f} ×",
        ]
        for row in read("engine_speed")["rows"]
    ] + [
        [row["name"], f"{row['steps_per_second']:,.0f} steps", f"{row['ratio']:,.1f} ×"]
        for row in read("env_speed")["rows"]
    ]
    return table(["one core", "per second", "beside OpenSpiel"], rows)


TRAINING = """The learner's own decisions in the fastest round of `python -m benchmarks.speed.training_speed`, beside MaskablePPO on an
environment that costs nothing."""


def _decisions_heading(cores: int, units: bool) -> str:
    return f"decisions per second ({cores} cores {'with' if units else 'without'} matrix units)"


def training_table() -> list[str]:
    """Training beside MaskablePPO."""
    speed = read("training_speed")
    ratios = {name: 1.0 for name in speed["best"] if name.startswith("MaskablePPO")} | speed["ratios"]
    rows = [
        [name, f"{figures['per_second']:,.0f}", f"{ratios[name]:.1f} ×"]
        for name, figures in sorted(speed["best"].items(), key=lambda item: ratios[item[0]])
    ]
    heading = _decisions_heading(speed["settings"]["cores"], speed["machine"]["bfloat16_units"])
    return table(["what is trained", heading, "beside MaskablePPO"], rows)


def executors_table() -> list[str]:
    """Matches of bots in this process, in two, and on two nodes of a Ray cluster."""
    measured = read("executors")
    rows = []
    for name in ("here", "two processes", "Ray, two nodes"):
        row = measured["rows"][name]
        speeds = " to ".join(f"{speed:,}" for speed in row["range"])
        shares = " to ".join(f"{100 * share:+.1f}" for share in row["overhead_range"])
        used = f"{row['processor_seconds_per_1000_pairs']:.2f}"
        rows.append(
            [name, f"{row['pairs_per_second']:,} ({speeds})", used, f"{100 * row['overhead']:+.1f} % ({shares})"]
        )
    one, other = measured["players"]
    about = (
        f"`{one}` against `{other}`, {measured['pairs']:,} pairs in tasks of {measured['pairs_of_a_task']}, "
        f"{measured['rounds']} rounds in turn on {measured['machine']['cores']} cores, while {measured['load'][0]:g} processes "
        "wanted to run; medians, and in brackets the range.\n"
    )
    headings = ["played", "pairs a second", "processor seconds for 1,000 pairs", "overhead in processor time"]
    return [about, *table(headings, rows)]


def search_table() -> list[str]:
    """The search on top of the shipped network: strength by budget, and its time."""
    measured = read("search_strength")
    matches = []
    for key, match in measured.items():
        player, opponent = key.split(" – ")[:2]
        if not set(parse_player(player).options) <= set(SearchConfig.model_fields):
            # A row from an earlier version of the search, kept in the file.
            continue
        matches.append([f"`{player}`", f"`{opponent}`", f"{match['jobs']:,}", share(match), points(match)])
    speed = read("search_speed")
    positions = [
        [worlds, f"{row['mean_ms']:.1f}", f"{row['p95_ms']:.1f}"]
        for worlds, row in sorted(speed["search"].items(), key=lambda item: int(item[0]))
    ]
    return [
        *table(["`search`", "against", "games", "games won", "points per hand"], matches),
        *table(
            [
                f"worlds ({speed['positions']:,} positions, one decision at a time, one core)",
                "mean ms",
                "95 % of them, ms",
            ],
            positions,
        ),
    ]


def headroom_table() -> list[str]:
    """What choosing better at one decision is worth: by the true hand, which no player may know, and by the search."""
    document = read("headroom")
    who = [key for key in document["gain"]["all"] if key != "decisions"]
    rows = [
        [name, f"{row['decisions']:,}", *(interval(row[key]) for key in who)] for name, row in document["gain"].items()
    ]
    return table(["points per decision of the network, against itself", "decisions", *who], rows)


def luck_table() -> list[str]:
    """How much shorter intervals are with luck subtracted, whether that biases them, and what it costs."""
    document = read("luck_off")
    rows = [
        [
            " – ".join(f"`{name}`" for name in row["players"]),
            f"{row['jobs']:,} {row['unit']}",
            f"{100 * row['points_shorter']:.0f} %",
            f"{100 * row['share_shorter']:.0f} %",
            interval(row["points_difference"]),
            f"{row['time_ratio']:.1f}" if row["time_ratio"] else "–",
        ]
        for row in document["matches"]
    ]
    covered = document["coverage"]
    words = f"Of {covered['matches']} matches of {covered['pairs']} pairs of hands between equal players, "
    words += f"{100 * covered['points']:.1f} % have an interval of points that holds 0."
    headings = ["match", "played", "points", "share", "points per hand, less luck minus luck left in", "time"]
    return [*table(headings, rows), words, ""]


def web_table() -> list[str]:
    """What ``benchmarks.speed.web_speed`` has measured."""
    rows = []
    for name, each in read("web_speed")["times"].items():
        median, p95, most = (f"{each['wall'][key]:.1f}" for key in ("median", "p95", "most"))
        rows.append([name, str(each["count"]), median, p95, most, f"{each['counts']} ≤ {each['bar']:g}"])
    return table(["", "measured", "median", "95 %", "most", "bar"], rows)


def serve_table() -> list[str]:
    """What ``benchmarks.speed.serve_speed`` has measured."""
    found = read("serve_speed")
    rows = [
        [name, f"{each['value']:.1f}", "–" if each["bar"] is None else f"{each['bar']:g}"]
        for name, each in found["figures"].items()
    ]
    words = (
        f"`{found['player']}`, {found['sessions']:,} sessions of {found['questions']} questions; {found['cores']} cores, on which other "
        f"programs ran (load {found['load before']:.0f} before)."
    )
    return [*table(["", "measured", "bar"], rows), "", words, ""]


def mistakes_table() -> list[str]:
    """What ``benchmarks.strength.mistakes`` has found."""
    found = read("mistakes")
    summary, rows = found["summary"], []
    now = {name: load_level(name).digest for name in NAMES} | {"network": read_metadata(SHIPPED)["weights_sha256"]}
    for name, each in sorted(summary["players"].items(), key=lambda item: found["ratings"][item[0]]["rating"]):
        marks = [f"{100 * each['marks'][mark]:.2f}" for mark in MARKS]
        loss = f"{100 * each['loss']:.3f} ± {100 * each['half']:.3f}"
        # If a level or a network has changed since, an earlier one was measured.
        earlier = "" if found["arguments"]["weights"].get(name) == now.get(name) else ", an earlier one"
        rows.append(
            [f"`{name}`{earlier}", f"{found['ratings'][name]['rating']:+.0f}", str(each["hands"]), loss, *marks]
        )
    headings = [
        "player",
        "rating among these",
        "hands",
        "loss per decision, %",
        *(f"{mark}, % of decisions" for mark in MARKS),
    ]
    words = (
        f"Spearman's rank correlation of loss and rating {summary['spearman']:.2f}; of {summary['blunders']} blunders "
        f"{100 * summary['confirmed']:.0f} % are blunders in 16 times the worlds."
    )
    return [*table(headings, rows), words, ""]


NETWORK = """`network` comes from the steps of `make network`, two and a half hours on two cores with bfloat16 vectors for the
first two, 80 minutes of one core for the last ([log](log/training.md)):

1. 280 M decisions from scratch (`configs/strong.yaml`; the learning curve lies beside the network);
2. twice some 40 M more, with a third to a half of the games against bots (`configs/rounds.yaml`). After each round the weights from
   before and after it are averaged. That keeps what the round won against bots without what it cost against strong players;
3. 200 M more that learn from the critic's value of every probable action (`configs/finish.yaml`), averaged with what they began from.

Steps 1 and 2 were run before the critic was told which bots play. `simple` is the baseline of
the 2021 EAAI challenge, `openspiel-simple` the bot of OpenSpiel. `simple`, `formula`, `knocker`, `camper` and `easy` were training
opponents; the style `base=camper,danger=0` was not, but it differs from `camper` in only one number. The `gc` rows (and those of levels
below) were measured while these rules ended a hand at the fiftieth card."""
AGAIN = """`make network` was run once more, whole and from scratch, in two hours and 19 minutes on two cores. The network that it made
is level with the one that ships, and wins up to a quarter of a point less from bots:"""
BELIEF = """How far the log-loss of its prediction of each card in the opponent's hand lies below that of counting the cards it
has seen (`python -m benchmarks.strength.beliefs`, 4,000 hands against each opponent)."""
HEADROOM = """`python -m benchmarks.strength.headroom`: the candidates of one decision are each played out 64 times from the true state.
Half of the play-outs choose a candidate, the other half measure what the choice gains. No player may know the true hand."""
LUCK = """By how much intervals of 95 % are shorter than those of plain mirrored deals (`python -m benchmarks.strength.luck_off`); time is
processor time as a multiple of that without. The rows with networks have one or two players whose probabilities are known. Whatever the
values are, the difference of the means is 0 in expectation."""
EXPLOIT = """**The network can be exploited**: the best of three responses wins 0.4 points per hand from it, though not more than half of
the games. For scale, the same learner gains more against `formula`, which the network met in training, and against three styles of known
weakness, with half of the decisions and begun from the network that shipped before. Longer training may find more.

A response (`gin exploit`) begins from the shipped network and is held close to it. It ends as the best point of its learning
curve, by deals kept for choosing; the last column is what training added, on fresh deals."""


LADDER = """Levels grow with the logarithm of the hands that they have seen, whoever played them. Levels 1 to 3 share one network, trained
from `network` (`make levels`)."""
GAINS = """`own` learns from its opponent's hands, `mixed` from as many of all the others; the difference is what a level gains by knowing
*whom* it plays. Twelve styles were drawn for this alone; the strangers are two bots that reason in another way than any style, a network
that shipped before, and the level itself. [Adaptation](adaptation.md) says what follows."""
SPEED = """Hands are compared with an OpenSpiel loop that deals a new hand each time, under OpenSpiel's rules (the preset `openspiel`);
from a cloned root OpenSpiel is faster, as the table says. Steps are a learner's, with observation and mask, compared with
OpenSpiel's decisions."""


SECTIONS: tuple[tuple[str, str, Callable[[], list[str]]], ...] = (
    ("The shipped network", NETWORK, network_table),
    ("The same recipe once more", AGAIN, again_table),
    ("Best responses", EXPLOIT, exploit_table),
    ("Luck subtracted", LUCK, luck_table),
    ("Search", "", search_table),
    ("What a search can add", HEADROOM, headroom_table),
    ("The ladder of the levels", LADDER, ladder_table),
    ("What the levels gain by learning", GAINS, gains_table),
    ("Variety of the levels", "", variety_table),
    ("What the network believes", BELIEF, belief_table),
    ("Speed", SPEED, speed_table),
    ("Training", TRAINING, training_table),
    ("Matches in other processes", "One run of `python -m benchmarks.speed.executors`.", executors_table),
    (
        "The table in the browser",
        "`python -m benchmarks.speed.web_speed`; by the clock, read by a client on the same machine.",
        web_table,
    ),
    ("Players over HTTP", "`python -m benchmarks.speed.serve_speed`; by the clock.", serve_table),
    ("What mistakes mean", "`python -m benchmarks.strength.mistakes`; in percent of the game.", mistakes_table),
)


def results() -> str:
    """``docs/results.md``: every table."""
    about = """# Results

Written by `python -m benchmarks.tables` from the files in `benchmarks/results/`; do not edit it by hand.

Rules `eaai` unless said, 95 % intervals. Matches are on held-out mirrored deals, and clustered by deal; what
levels gain is clustered by series or history. The command behind each figure is in `benchmarks/README.md`.
"""
    parts = [about]
    for title, words, write in SECTIONS:
        parts += [f"## {title}\n", *([words + "\n"] if words else []), *write()]
    return "\n".join(parts).rstrip("\n") + "\n"


def summary_table() -> list[str]:
    """The README's table of strength."""
    search = read("search_strength")
    exploit = read("exploit-network")
    played = [("`network`", PUBLIC[name], _match(f"network-eaai-{name}")) for name in PUBLIC] + [
        ("`search`", "`network`", search["search:worlds=128 – network – 2000 games, seed 1"]),
        (f"best of {exploit['config']['seeds']} responses", "`network`", exploit["matches"][0]),
    ]
    rows = [[one, other, f"{match['jobs']:,}", share(match), points(match)] for one, other, match in played]
    return table(["player", "against", "games", "games won", "points per hand"], rows)


def filled(path: Path, tables: dict[str, Callable[[], list[str]]]) -> str:
    """A page with its tables between their marks, ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""
    text = path.read_text(encoding="utf-8")
    for name, write in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            sys.exit(f"{path.name} lacks the marks of {name}")
        text = "\n".join([f"{before}{begin}", *write(), f"{end}{after}"])
    return text


def pages() -> dict[Path, str]:
    """Every page that holds tables, as it should be."""
    return {
        README: filled(README, {"results": summary_table, "levels": levels_summary}),
        PAGE: results(),
        **{ROOT / "docs" / name: filled(ROOT / "docs" / name, tables) for name, tables in TABLES.items()},
    }


def main(check: bool = False) -> None:
    """Writes the pages, or compares them.

    Args:
        check: write nothing; fail where a page says something else.
    """
    for path, text in pages().items():
        if not check:
            write_text(path, text)
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} differs from the results files or the code; python -m benchmarks.tables writes it")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
