"""A real browser without a window, for the tests of live pages."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

HARMLESS = re.compile(r"GPU stall due to ReadPixels")
"""What the driver of a machine without a graphics card says when somebody takes a picture of a page."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium as the system has it; nothing is downloaded.

    Raises:
        RuntimeError: it is not installed.
    """
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium")
    if found is None:
        raise RuntimeError("the pages must be tested in Chromium, which is not installed; `make pages` installs it")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--enable-unsafe-swiftshader"])
        try:
            yield browser
        finally:
            browser.close()


class Reader:
    """A page opened from disk, and everything that it complained about.

    Attributes:
        page: to act on it, see Playwright.
        said: messages of the console, errors, and requests for anything but the file itself.
    """

    def __init__(self, browser: Browser, path: Path, *, dark: bool = False, width: int = 1200) -> None:
        self.said: list[str] = []
        size: ViewportSize = {"width": width, "height": 900}
        self.page: Page = browser.new_page(viewport=size, color_scheme="dark" if dark else "light")
        self.page.on("console", lambda message: self._hear(message.text))
        self.page.on("pageerror", lambda error: self._hear(str(error)))
        address = path.as_uri()
        self.page.on("request", lambda request: None if request.url == address else self._hear(request.url))
        self.page.goto(address)
        self.settle()

    def _hear(self, text: str) -> None:
        if not HARMLESS.search(text):
            self.said.append(text)

    def settle(self) -> None:
        """Two frames, so that what was asked for is drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def text(self, name: str) -> str:
        """What an element says; letters of formulas are letters."""
        return unicodedata.normalize("NFKC", self.page.inner_text(f"#{name}"))

    def slide(self, **values: int) -> None:
        """Move sliders, as a hand does."""
        for name, value in values.items():
            self.page.locator(f"#{name.replace('_', '-')}").fill(str(value))
        self.settle()

    def colours(self, name: str) -> int:
        """How many different colours a picture of an element has, inside of its edge, which may be round."""
        import io

        import numpy as np
        from matplotlib.image import imread

        # words that lie over a picture are no part of it
        taken = self.page.locator(f"#{name}").screenshot(style=".axis { visibility: hidden }")
        pixels = np.asarray(imread(io.BytesIO(taken), format="png"))
        edge = [round(0.08 * size) for size in pixels.shape[:2]]
        pixels = pixels[edge[0] : -edge[0], edge[1] : -edge[1]]
        return len(np.unique(pixels[:, :, :3].reshape(-1, 3), axis=0))
