"""What the gateway answers by itself while the hub is down. Pure."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Down:
    """``log``: the end of the hub's log, None for those who may not see it."""

    failing: bool
    crashes: int
    last_exit: str | None
    retry_in_s: float | None
    log_path: str
    log: str | None
    reason: str | None = None


def message(down: Down) -> str:
    if not down.failing and not down.crashes:
        return "raydebug's hub is starting."
    how = f" (last: {down.last_exit})" if down.last_exit else ""
    if not down.failing:
        return f"raydebug's hub ended{how} and is being started again."
    again = f" It is tried again in {down.retry_in_s:.0f} s." if down.retry_in_s is not None else ""
    return f"raydebug's hub can't be kept running: it ended {down.crashes} times in a row{how}.{again}"


def hint(down: Down) -> str:
    if not down.failing:
        return f"Try again in a moment. Its log on the head node: {down.log_path}"
    return f"Read its log on the head node: {down.log_path}. Jobs and Ray itself are not affected."


def as_json(down: Down) -> str:
    return json.dumps({"error": {"code": "hub_down", "message": message(down), "hint": hint(down)}})


def as_html(down: Down) -> str:
    """Reloads itself; by script, since a share link's secret lies behind ``#`` and must survive."""
    log = ""
    if down.log is not None:
        log = f"<h2>The end of its log</h2><pre>{html.escape(down.log) or '(empty)'}</pre>"
    reason = f"<p>{html.escape(down.reason)}</p>" if down.reason else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>raydebug: hub down</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1rem }}
pre {{ font-size: 12px; padding: .8rem; overflow: auto; border: 1px solid #8886; border-radius: 6px }}
</style></head><body>
<h1>{html.escape(message(down))}</h1>
<p>{html.escape(hint(down))}</p>{reason}{log}
<p>This page reloads itself every 2 seconds.</p>
<script>setTimeout(function () {{ location.reload() }}, 2000)</script>
<noscript><meta http-equiv="refresh" content="2"></noscript>
</body></html>
"""
