"""The report page of many texts: its size, and the seconds until its list answers in a browser."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from onmf import ONMF
from onmf.page import html
from onmf.rows import DOCUMENTS
from tables import table, write_section

SIZES = (2_000, 20_000, 100_000)
SEARCHES = ("badu", "ba", "kilo mana", "zz")  # in some texts, in nearly all, two words, in none
CHANGED = """(act) => new Promise((done) => {
    const start = performance.now();
    new MutationObserver((_, watcher) => { watcher.disconnect(); done(performance.now() - start); })
        .observe(document.getElementById('leaf'), { childList: true });
    const sort = document.getElementById('list-sort');
    if (act === null) sort.dispatchEvent(new Event('change', { bubbles: true }));
    else {
        document.getElementById('search').value = act;
        document.getElementById('filters').requestSubmit();
    }
})"""
NOTE = """

Texts of random words, lognormal lengths. *Page* is the processor time of `onmf.page.html` without
the fit; *open* the seconds until the first page of the list is drawn, *search* the slowest of four
searches, both in Chromium. Texts are carried up to 40 million characters, samples up to 100,000."""


def random_texts(n: int) -> list[str]:
    """n texts with words of two to four syllables, by Zipf's law."""
    rng = np.random.default_rng(0)
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in "aeiou"])
    words = {"".join(rng.choice(syllables, k)) for k in (2, 3, 4) for _ in range(7000)}
    vocabulary = rng.permutation(sorted(words))
    share = 1 / np.arange(1, len(vocabulary) + 1)
    lengths = rng.lognormal(5.3, 0.6, n).astype(int) + 5
    drawn = vocabulary[rng.choice(len(vocabulary), lengths.sum(), p=share / share.sum())]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def run() -> None:
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for n in SIZES:
            texts, place = random_texts(n), Path(folder, "page.html")
            rng = np.random.default_rng(1)
            X = rng.gamma(0.5, size=(20, 40))[np.arange(n) % 20] + 0.2 * rng.random((n, 40))
            model = ONMF(20, random_state=0).fit(X)
            found, start = model.explain(X, splits=1), time.process_time()
            place.write_text(html(model, X, explanation=found, texts=texts, terms=DOCUMENTS))
            spent = time.process_time() - start
            opened, searched = in_browser(browser, place)
            size, long = place.stat().st_size / 1e6, sum(map(len, texts)) / 1e6
            figures = [f"{value:.1f}" for value in (long, spent, size, opened)]
            rows.append([f"{n:,}", *figures, f"{searched:.2f}"])
            heads = ["texts", "million characters", "page, s", "MB", "open, s", "search, s"]
            write_section("page", "The page of many texts", table(heads, rows) + NOTE)
        browser.close()


def in_browser(browser: Any, place: Path) -> tuple[float, float]:
    """Seconds until the list is drawn first, and those of the slowest search."""
    page = browser.new_page()
    page.goto(place.as_uri())
    page.locator(".card").first.wait_for()
    opened = page.evaluate(CHANGED, None) / 1e3
    searched = max(page.evaluate(CHANGED, words) for words in SEARCHES) / 1e3
    page.close()
    return opened, searched
