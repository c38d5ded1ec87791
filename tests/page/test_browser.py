"""The page in a browser: drawn, alive under mouse and keys, silent, and alone."""

from pathlib import Path

import numpy as np
import pytest

from onmf import ONMF
from onmf.page import embedding, html
from page.browsing import CHROMIUM
from page.standins import choice

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium found to open the page in"),
    pytest.mark.slow,
]

NEXT_FRAMES = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))"
HOSTILE = [
    "<script>window.ran = 1</script>",
    "</script><img src=x onerror='window.ran = 1'>",
    "<b onmouseover='window.ran = 1'>bold</b>",
    "\"'`${window.ran = 1}",
    "a\u2028b",
    "\u202eright to left",
    "endless" * 300,
]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page with every panel and with names that would run if they could."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 40)
    X = rng.gamma(0.5, size=(10, 50))[y] + 0.15 * rng.random((400, 50))
    model = ONMF(10, random_state=0).fit(X)
    names = HOSTILE + [f"sample {i}" for i in range(393)]
    features = HOSTILE + [f"word{j}" for j in range(43)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "MAX_TSNE_SAMPLES", 300)
        patch.setattr(embedding, "LANDMARKS", 300)
        text = html(
            model,
            X,
            samples=names,
            features=features,
            truth=np.array([*HOSTILE, "x", "y", "z"])[y],
            choice=choice(),
        )
    place = tmp_path_factory.mktemp("page") / "report.html"
    place.write_text(text, encoding="utf-8")
    return place


@pytest.fixture
def opened(browser, page_file):
    """The page, opened with given settings; in the end it has asked for and said nothing."""
    contexts, trouble, requests = [], [], []

    def open_(**settings):
        size = {"width": 1200, "height": 900}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(page_file.as_uri())
        # The rows of the list come when it is near, and push down what is below them, even between
        # the press and the release of a click: the page says when they are there.
        page.locator("#list").scroll_into_view_if_needed()
        page.locator("#list-status", has_text="of 400 samples").wait_for()
        page.evaluate("scrollTo(0, 0)")
        page.evaluate(NEXT_FRAMES)  # the map gets its size
        return page

    yield open_
    for context in contexts:
        assert not any(page.evaluate("'ran' in window") for page in context.pages)
        context.close()
    assert trouble == []
    assert set(requests) == {page_file.as_uri()}


def colours(page, selector="#canvas"):
    """How many pixels of the canvas have each colour, the most frequent 40."""
    return page.evaluate(
        """(selector) => {
            const { width, height } = document.querySelector(selector);
            const copy = Object.assign(document.createElement('canvas'), { width, height });
            const brush = copy.getContext('2d', { willReadFrequently: true });
            brush.drawImage(document.querySelector(selector), 0, 0);
            const bytes = brush.getImageData(0, 0, width, height).data;
            const counts = new Map();
            for (let i = 0; i < bytes.length; i += 4) {
                if (bytes[i + 3] < 200) continue;
                const key = `${bytes[i]},${bytes[i + 1]},${bytes[i + 2]}`;
                counts.set(key, (counts.get(key) ?? 0) + 1);
            }
            return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]).slice(0, 40));
        }""",
        selector,
    )


def lonely(page):
    """The sample farthest from all others: where it is on the screen, its name, its cluster."""
    carried = page.evaluate("JSON.parse(document.getElementById('data').textContent).map")
    box = page.locator("#canvas").bounding_box()
    xy = np.column_stack([carried["x"], carried["y"]])
    apart = np.linalg.norm(xy[:, None] - xy[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    i = int(apart.min(axis=1).argmax())
    (wide, high), size = xy.max(axis=0), np.array([box["width"], box["height"]])
    scale = min((size - 0.1 * size.min()) / [wide, high])
    x = box["x"] + (size[0] - scale * wide) / 2 + scale * xy[i, 0]
    y = box["y"] + (size[1] + scale * high) / 2 - scale * xy[i, 1]
    return {"x": x, "y": y, "sample": carried["sample"][i], "cluster": carried["cluster"][i]}


def pressed(page):
    return page.locator("#legend button[aria-pressed=true]").evaluate_all(
        "all => all.map((one) => [...document.querySelectorAll('#legend button')].indexOf(one))"
    )


def test_the_map_is_drawn_in_the_colours_of_the_clusters(opened):
    drawn = colours(opened())
    assert sum(drawn.values()) > 5_000
    assert len([count for count in drawn.values() if count > 50]) >= 8


def test_all_panels_are_there_with_their_headings(opened):
    page = opened()
    shown = page.locator("h2:visible").all_text_contents()
    assert shown == [
        "Clusters",
        "All samples",
        "Map",
        "Distinctive features",
        "Agreement with known classes",
        "How many clusters",
        "Technical details",
        "Centroids",
        "Convergence",
        "Parameters and versions",
    ]
    assert page.locator(".card").count() == 10
    assert page.locator("#confusion tbody tr").count() == 10
    assert page.locator("#choice-charts svg").count() == 6
    assert page.locator("#choice-table tr.best th").all_text_contents() == ["3"]
    assert page.locator("#answer").text_content() == "3 clusters: <b>because</b>. Why"
    assert page.locator("#heat-figure rect").count() == 10 * 50
    assert page.locator("#curves svg").count() == 3
    assert page.locator("#dots-figure circle").count() >= 10 * 20


def test_clusters_have_one_name_on_the_map_in_the_list_and_in_the_tables(opened):
    page = opened()
    names = page.evaluate("data => JSON.parse(data).clusters.map((c) => c.name)",
                          page.locator("#data").text_content())  # fmt: skip
    assert all(names)
    assert page.locator("#legend .name").all_text_contents() == names
    assert page.locator(".card h3").all_text_contents() == names
    assert page.locator("#confusion .upright").all_text_contents() == names


def test_in_print_no_heading_stands_alone_no_table_is_cut_and_nothing_is_too_wide(opened):
    page = opened()
    page.set_viewport_size({"width": 688, "height": 980})  # A4 without its margins
    page.emulate_media(media="print")
    page.wait_for_timeout(100)
    kept = (
        "all => all.filter((one) => getComputedStyle(one).breakInside !== 'avoid')"
        ".map((one) => one.id)"
    )
    # A section is on one page, if it fits; the two long ones begin one, or break between groups.
    assert page.locator("main > section").evaluate_all(kept) == ["clusters", "list", "run"]
    assert page.locator("table, figure, .card, .record div, tr").evaluate_all(kept) == []
    begins = "one => getComputedStyle(one).breakBefore"
    assert page.locator("#clusters").evaluate(begins) == "page"
    after = "all => all.every((one) => getComputedStyle(one).breakAfter === 'avoid')"
    assert page.locator("h1, h2, h3, h4, thead").evaluate_all(after)
    wide = "all => all.filter((one) => one.getBoundingClientRect().right > innerWidth + 1).length"
    assert page.locator("main svg, main canvas, main table, main p").evaluate_all(wide) == 0


def test_figures_can_be_saved_for_a_slide(opened, tmp_path):
    page = opened()
    for section, ending, begins in (
        ("dots", "svg", b"<svg"),
        ("heat", "svg", b"<svg"),
        ("map", "png", b"\x89PNG"),
        ("map", "svg", b"<svg"),
    ):
        with page.expect_download() as download:
            page.locator(f"#{section} .save", has_text=ending.upper()).first.click()
        assert download.value.suggested_filename.endswith(ending)
        download.value.save_as(tmp_path / ending)
        assert (tmp_path / ending).read_bytes().startswith(begins)
    assert b"var(" not in (tmp_path / "svg").read_bytes()  # colours are written into it


def test_hovering_over_a_sample_shows_its_name_and_cluster(opened):
    page = opened()
    page.locator("#canvas").scroll_into_view_if_needed()
    spot = lonely(page)
    page.mouse.move(spot["x"], spot["y"])
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert spot["sample"] in tip.text_content()
    named = page.locator("#legend button").nth(spot["cluster"]).locator(".name").text_content()
    assert f"{spot['cluster']} {named}" in tip.text_content()
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_a_click_on_a_sample_isolates_its_cluster_and_escape_shows_all(opened):
    page = opened()
    page.locator("#canvas").scroll_into_view_if_needed()
    before = colours(page)
    spot = lonely(page)
    page.mouse.click(spot["x"], spot["y"])
    assert pressed(page) == [spot["cluster"]]
    full = sum(before.values())  # only what is nearly opaque is counted, so not what is faded
    assert 0 < sum(colours(page).values()) < full / 2
    assert page.locator(".card.dim").count() == 9
    page.mouse.move(5, 5)
    page.keyboard.press("Escape")
    assert pressed(page) == []
    assert colours(page) == before


def test_a_click_in_the_list_isolates_and_a_second_one_shows_all(opened):
    page = opened()
    button = page.locator("#legend button").nth(2)
    button.click()
    assert pressed(page) == [2]
    assert "Cluster 2 only" in page.locator("#spoken").text_content()
    assert page.locator("#all").is_enabled()
    button.click()
    assert pressed(page) == []


def test_the_list_works_by_keys_alone(opened):
    page = opened()
    page.locator("#legend button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert pressed(page) == [2]
    page.keyboard.press("End")
    page.keyboard.press("Space")
    assert pressed(page) == [9]
    page.keyboard.press("Escape")
    assert pressed(page) == []


def test_the_map_is_reached_by_tab_and_walked_by_arrows(opened):
    page = opened()
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "canvas":
            break
    assert page.evaluate("document.activeElement.id") == "canvas"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("ArrowRight")
    first = page.locator("#spoken").text_content()
    assert "Cluster" in first
    assert page.locator("#tip").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("#spoken").text_content() != first
    cluster = int(page.locator("#spoken").text_content().rsplit(" ", 1)[1])
    page.keyboard.press("Enter")
    assert pressed(page) == [cluster]


def test_dark_follows_the_system_and_the_button(opened):
    def paper(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    white, black = paper(light), paper(dark)
    assert white != black
    assert colours(light) != colours(dark)
    light.locator("#theme").click()
    assert paper(light) == black
    assert colours(light) == colours(dark)
    assert light.locator("#theme").text_content() == "Light"


def test_names_are_shown_as_they_are_and_never_run(opened):
    page = opened()
    text = page.locator("main").text_content()
    for name in HOSTILE[:4]:
        assert name in text
    assert page.locator("main img, main b[onmouseover], main script").count() == 0
    assert page.evaluate("'ran' in window") is False


def test_a_narrow_screen_needs_no_sideways_scrolling(opened):
    page = opened()
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert sum(colours(page).values()) > 1_000


def test_it_prints_in_light_colours_even_from_the_dark(opened):
    page = opened(color_scheme="dark")
    page.evaluate(
        "() => addEventListener('beforeprint', "
        "() => { window.seen = document.documentElement.dataset.theme; })"
    )
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert document.count(b"/Type /Page\n") + document.count(b"/Type /Page ") < 15
    assert page.evaluate("window.seen") == "light"
    assert page.evaluate("document.documentElement.dataset.theme ?? 'none'") == "none"


def test_the_policy_forbids_every_request(browser, page_file):
    """Not only does the page not ask: it may not."""
    page = browser.new_context().new_page()
    page.goto(Path(page_file).as_uri())
    refused = page.evaluate(
        """() => new Promise((done) => {
            const tell = (event) => done(event.effectiveDirective);
            document.addEventListener('securitypolicyviolation', tell);
            fetch('https://example.org').catch(() => {});
            setTimeout(() => done('nothing'), 3000);
        })"""
    )
    assert refused == "connect-src"
    page.context.close()
