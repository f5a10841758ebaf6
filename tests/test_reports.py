"""Curves, charts and progress: what is drawn, what is printed, and where it goes."""

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from agents.arena import play_match
from agents.reports import terminal
from agents.reports.charts import svg_of_page
from agents.reports.curves import curves_figure, read_curve
from ginenv.errors import GinError
from tests.support.refusals import refuses


def points(*shares: float) -> list[dict]:
    other = {"games_won": 0.1, "half_width": 0.02}
    panels = [{"simple": {"games_won": share, "half_width": 0.05}, "a<b": other} for share in shares]
    return [{"decisions": 1_000_000 * k, "minutes": 0.5 * k, "panel": panel} for k, panel in enumerate(panels)]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    for name, shares in (("ppo", (0.1, 0.4, 0.6)), ("other", (0.1, 0.2))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "curve.json").write_text(json.dumps(points(*shares)))
    return [tmp_path / "ppo", tmp_path / "other"]


def test_curves_are_drawn_over_decisions_and_minutes(runs: list[Path]) -> None:
    """Runs are named by their directories, a curve ends where its run does, and the same runs give the same bytes."""
    figure = curves_figure([read_curve(path) for path in runs])
    for panel, unit in zip(figure.axes, (1_000_000, 0.5), strict=True):
        lines = {line.get_label(): line.get_xydata() for line in panel.get_lines()}
        np.testing.assert_allclose(lines["ppo – simple"], [(0, 0.1), (unit, 0.4), (2 * unit, 0.6)])
        np.testing.assert_allclose(lines["other – a<b"], [(0, 0.1), (unit, 0.1)])
    text = svg_of_page(figure, "curves")
    assert text == svg_of_page(curves_figure([read_curve(path) for path in runs]), "curves")
    root = ElementTree.fromstring(text.replace("xlink:", ""))
    words = {"".join(element.itertext()).strip() for element in root.iter("text")}
    assert {"ppo", "other", "against simple", "against a<b", "decisions", "minutes"} <= words


def test_what_is_no_curve_is_refused(tmp_path: Path) -> None:
    for text in ("[]", "{}", "[1]", "no"):
        (tmp_path / "curve.json").write_text(text)
        with refuses(GinError, "curve"):
            read_curve(tmp_path)
    with refuses(GinError, tmp_path / "nowhere" / "curve.json"):
        read_curve(tmp_path / "nowhere")


def test_progress_is_a_line_a_minute_where_nobody_watches(monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with terminal.progress_bar(Console(file=out, width=60), 1000, "games of [/b]") as tick:
        # What is there at once was done in an earlier run; then it is 80 a minute.
        tick(200)
        for minute in range(1, 10):
            for second in (0, 20, 40):
                now[0] = 60 * minute + second
                tick(200 + 80 * minute)
    lines = out.getvalue().splitlines()
    assert len(lines) == 9
    assert (
        lines[0] == "games of [/b]: 280 of 1,000, 9 min left" and lines[4] == "games of [/b]: 600 of 1,000, 5 min left"
    )


def test_a_name_with_brackets_is_printed_as_it_is() -> None:
    name = "cmd:false [b] [red]"
    result = play_match(name, "random", pairs=1, unit="hands")
    out = io.StringIO()
    console = Console(file=out, width=200)
    for table in (*terminal.match_tables(result), *terminal.opponents_tables([result])):
        console.print(table)
    assert out.getvalue().count(name) >= 3
