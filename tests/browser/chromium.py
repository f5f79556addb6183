"""The system's Chromium, without a screen and without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
needs_chromium = pytest.mark.skipif(
    PROGRAM is None and not os.environ.get("REQUIRE_CLIENTS"),
    reason="chromium is absent (apt-get install chromium)",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. Playwright never fetches one of its own: the system's is named."""
    if PROGRAM is None:
        pytest.fail("REQUIRE_CLIENTS is set, but chromium is absent")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(ARGUMENTS))
        yield browser
        browser.close()
