"""Training runs and reports in a folder: learning curves are drawn again, reports are shown as they are."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from agents.reports.charts import svg_of_page
from agents.reports.curves import curves_figure, read_curve
from agents.web.request import Request
from ginenv.errors import GinError

_MAX_FILES = 200
_MAX_CURVES = 6
# A report brings its own styles and nothing else; no script in it runs.
_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def _files(folder: Path, pattern: str) -> list[str]:
    """Files that match a pattern under a folder, as paths relative to it, the newest first."""
    files = sorted(folder.glob(f"**/{pattern}"), key=lambda path: -path.stat().st_mtime)[:_MAX_FILES]
    return [path.relative_to(folder).as_posix() for path in files]


def results(request: Request) -> Response:
    """The runs and reports that there are, and the curves of some runs."""
    folder: Path = request.app.state.runs
    runs = [path.rpartition("/")[0] or "." for path in _files(folder, "curve.json")]
    wanted = [run for run in request.query_params.getlist("run") if run in runs]
    chosen, chart = wanted[:_MAX_CURVES] or runs[:1], Markup("")
    if chosen:
        with request.person.shows_errors():
            curves = [read_curve(folder / run) for run in chosen]
            chart = Markup(svg_of_page(curves_figure(curves), "Games won against the panel"))
    reports = _files(folder, "report.html")
    return request.page("results.html", folder=folder.name, runs=runs, chosen=chosen, chart=chart, reports=reports)


def report(request: Request) -> Response:
    """A report, unchanged."""
    folder: Path = request.app.state.runs
    name = request.query_params.get("file", "")
    if name not in _files(folder, "report.html"):
        raise GinError(f"there is no report {name[:200]!r} here")
    return HTMLResponse((folder / name).read_bytes(), headers={"Content-Security-Policy": _REPORT_POLICY})
