"""Progress and tables: what is drawn, what is printed, and where it goes."""

import io

from rich.console import Console

from agents.arena import play_match
from agents.reports import terminal


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
