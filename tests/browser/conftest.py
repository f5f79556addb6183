"""Reports, opened from a file as a user opens an artifact that was downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.reports.plan_html import plan_html

from .chromium import chromium

DESKTOP = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a module, gone after it: its event loop would be in the way of others."""
    with chromium() as running:
        yield running


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the report of a plan; at the end nothing may have been fetched or complained about."""
    contexts: list[BrowserContext] = []
    noise: list[str] = []

    def open_(
        plan: Plan, title: str = "plan", other: tuple[str, Plan] | None = None, **how: Any
    ) -> Page:
        path = tmp_path / f"plan-{len(contexts)}.html"
        path.write_text(plan_html(plan, title=title, other=other), encoding="utf-8")
        context = browser.new_context(**{"viewport": DESKTOP, "offline": True, **how})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))
        page.on("dialog", lambda dialog: noise.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: None if request.url == path.as_uri() else noise.append(request.url),
        )
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not noise
