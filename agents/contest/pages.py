"""The pages of a contest: the standings, and one for each bot; files that load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from agents.analysis.findings import GAME
from agents.arena.results import versions
from agents.arena.tournament import Standings
from agents.contest.contest import Bot, Contest
from agents.contest.feedback import HANDS, OPPONENT, WORLDS
from agents.files import write_json, write_text, writing
from agents.reports.pages import page
from agents.reports.terminal import RATES, rate_texts
from agents.reports.tournament import report
from ginenv.hands.text import parse_position
from ginenv.pictures.render import to_svg


def publish(contest: Contest, command: str, doing: str) -> Standings:
    """Writes the standings, a page for each bot, the tournament's report and all figures as JSON.

    Args:
        contest: the contest.
        command: what repeats it.
        doing: what is still being done, in words; the pages then load themselves again. Empty at the end.
    """
    standings, out = contest.standings(), contest.config.out
    faults = standings.faults()
    rows = [_row(contest, standings, number, faults) for number in standings.order]
    common = {"config": contest.config, "doing": doing, "missing": standings.missing, "command": command}
    refused = [bot for bot in contest.bots if not bot.player]
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for bot in contest.bots:
            row = next((row for row in rows if row["bot"] is bot), None)
            write_text(out / page_name(bot), page("contest_bot.html", **common, row=row, **_feedback(bot)))
        write_text(out / "index.html", page("contest.html", **common, rows=rows, refused=refused, link=page_name))
        write_text(out / "report.html", report(standings, command))
        write_json(
            out / "results.json",
            {
                "command": command,
                "versions": versions(),
                "standings": [{"name": row["bot"].name, **row["figures"]} for row in rows],
                "refused": {bot.name: bot.wrong for bot in refused},
                **standings.to_dict(),
            },
        )
    return standings


def page_name(bot: Bot) -> str:
    """The file of a bot's page."""
    return f"bot-{bot.name}.html"


def _row(contest: Contest, standings: Standings, number: int, faults: list[dict[str, Any]]) -> dict[str, Any]:
    bot = contest.admitted[number]
    others = [other for other in range(len(standings.names)) if other != number]
    shares = [(standings.names[other], *standings.share(number, other)) for other in others]
    met = [(name, mean, half) for name, mean, half in shares if mean == mean]
    rating, low, high = standings.ratings[number]
    mine = [fault for fault in faults if fault["player"] == bot.player]
    figures = {
        "rating": round(float(rating), 1),
        "low": round(float(low), 1),
        "high": round(float(high), 1),
        "won": round(sum(mean for _, mean, _ in met) / len(met), 4) if met else None,
        "forfeits": standings.forfeits(number),
    }
    styles = [(heading, text) for (heading, _, _), text in zip(RATES, rate_texts(standings.rates(number)), strict=True)]
    return {"bot": bot, "figures": figures, "shares": met, "faults": mine, "style": styles}


def _feedback(bot: Bot) -> dict[str, Any]:
    found = bot.feedback
    dearest = list(_shown(found)) if found else []
    loss = _cost(found["loss"] / found["decisions"], found["unit"]) if found and found["decisions"] else ""
    about = {"hands": HANDS, "worlds": WORLDS, "opponent": OPPONENT}
    return {"bot": bot, "dearest": dearest, "loss": loss, "about": about}


def _shown(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in found["dearest"]:
        picture = Markup(to_svg(parse_position(each["position"]).view()[0]))
        yield {**each, "picture": picture, "cost": _cost(each["loss"], found["unit"])}


def _cost(loss: float, unit: str) -> str:
    return f"{loss:.1%} of the game" if unit == GAME else f"{loss:.2f} points"
