"""The list of all samples in a browser: search, choice, order, pages, periods, thumbnails."""

from pathlib import Path

import numpy as np
import pytest

from command_line import run
from onmf import ONMF, cluster
from onmf.page import html
from onmf.page.periods import Period
from onmf.page.samples import SampleTimes
from onmf.prepare import Words
from onmf.rows.terms import DOCUMENTS
from onmf.tree import Node, Tree
from page.browsing import CHROMIUM

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium found to open the page in"),
    pytest.mark.slow,
]

TOPICS = ("goal match team player", "bank interest rate profit", "prime minister vote party")
PIXELS = """all => all.map((one) => [one.width, one.height,
    ...one.getContext('2d').getImageData(0, 0, 4, 6).data])"""
HOSTILE = "</script><img src=x onerror='window.ran = 1'> <b onclick=1>Needle</b>"


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    made = [f"{' '.join(rng.permutation(TOPICS[i % 3].split() * 2))} number{i}" for i in range(90)]
    made[7] = f"{made[7]} {HOSTILE} {'far ' * 200} end"
    return made


def topics_of(texts, name):
    """Three topics, one of them with a name."""
    return cluster(texts, 3, prepare=[Words(min_df=1, strip=())]).rename({1: name})


def write(place, found, texts, **facts):
    """The page of texts and their topics."""
    counts, about = found.model[0].transform(texts), found.explanation
    page = html(found.onmf, counts, texts=texts, terms=DOCUMENTS, explanation=about, **facts)
    place.write_text(page, encoding="utf-8")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory, texts):
    found = topics_of(texts, "Motor sport <i>")
    model = found.onmf
    times = SampleTimes(["May", "June", "July"], np.arange(90) // 30)
    ids, parts = model.cluster_ids_.tolist(), np.split(model.labels_, 3)
    sizes = [{i: int(np.sum(part == i)) for i in ids} for part in parts]
    periods = [Period(name, sizes[t], {}) for t, name in enumerate(times.names)]
    place = tmp_path_factory.mktemp("page") / "report.html"
    names = [f"doc {i}" for i in range(90)]
    write(place, found, texts, samples=names, times=times, periods=periods)
    return place


@pytest.fixture
def page(browser, page_file):
    context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    page, trouble = context.new_page(), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(page_file.as_uri())
    yield page
    assert page.evaluate("'ran' in window") is False
    assert trouble == []
    context.close()


def status(page, said):
    page.locator("#list-status", has_text=said).wait_for(timeout=5000)


def rows(page):
    return page.locator("#rows li .row-head b").all_text_contents()


def search(page, words):
    page.locator("#search").fill(words)


def test_the_list_is_unpacked_when_it_is_used_and_drawn_in_pages(page):
    page.locator("#list").scroll_into_view_if_needed()
    status(page, "1 to 20 of 90 documents")
    first = rows(page)
    assert len(first) == 20
    seen = set(first)
    for leaf in range(2, 6):
        page.locator("#forth").click()
        status(page, f"{20 * leaf - 19} to ")
        seen |= set(rows(page))
    assert page.locator("#forth").is_disabled()
    assert seen == {f"doc {i}" for i in range(90)}


def test_search_finds_words_in_texts_and_marks_them(page):
    search(page, "needle NUMBER7")
    status(page, "1 document")
    assert rows(page) == ["doc 7"]
    assert "Needle" in page.locator("#rows mark").all_text_contents()
    text = page.locator("#rows .text")
    assert HOSTILE in text.text_content()
    assert page.locator("#rows img, #rows b[onclick]").count() == 0
    text.click()
    assert text.evaluate("one => one.classList.contains('open')")
    assert text.text_content().rstrip().endswith("end")
    search(page, "no such word")
    status(page, "0 documents")
    assert rows(page) == []


def test_search_finds_topics_by_name_and_by_words(page):
    search(page, "motor sport")
    chip = page.locator("#found-clusters button")
    chip.wait_for()
    assert chip.all_text_contents() == ["1 Motor sport <i>"]
    chip.click()
    status(page, "1 to 20 of 30 documents")
    assert page.locator("#list-cluster").input_value() == "1"
    assert {*page.locator("#rows .chip").all_text_contents()} == {"1 Motor sport <i>"}
    search(page, "goal")
    page.locator("#found-clusters button", has_not_text="Motor").wait_for(timeout=5000)
    assert page.locator("#found-clusters button").count() == 1


def test_a_card_leads_to_all_its_documents_in_the_order_asked_for(page):
    page.locator(".card footer button", has_text="All 30 documents").nth(2).click()
    status(page, "of 30 documents")
    for order, key, sign in (("-certainty", 0, -1), ("+certainty", 0, 1), ("+distance", 1, 1)):
        page.locator("#list-sort").select_option(order)
        facts = page.locator("#rows .row-facts").all_text_contents()
        values = [float(text.split(" · ")[1 + key].split()[-1]) for text in facts]
        assert values == sorted(values, reverse=sign < 0)
        assert len(values) == 20


def test_a_bar_of_the_time_chart_leads_to_the_documents_of_its_period(page):
    page.locator("#time .lane").nth(1).locator("a").nth(2).click()
    status(page, "10 documents")
    assert {int(name.split()[1]) // 30 for name in rows(page)} == {2}
    assert page.locator("#list-period").input_value() == "2 2"
    assert page.locator("#list-cluster").input_value() == "1"
    assert page.locator("#list").bounding_box()["y"] < 200
    page.locator("#list-period").select_option("")
    status(page, "of 30 documents")


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_the_time_chart_is_clipped(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    inside = """all => all.every((one) => {
        const box = one.getBoundingClientRect();
        return box.left >= 0 && box.right <= innerWidth && one.scrollWidth <= one.clientWidth + 1;
    })"""
    assert page.locator(".lane-name, .axis span, .lane-most").count() == 3 + 3 + 3
    assert page.locator(".lane-name, .axis span, .lane-most").evaluate_all(inside)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_images_have_thumbnails(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = np.zeros((40, 6 * 4))
    X[:20, :12], X[20:, 12:] = 1 + rng.random((20, 12)), 1 + rng.random((20, 12))
    model = ONMF(2, random_state=0).fit(X)
    (tmp_path / "report.html").write_text(html(model, X, images=(6, 4)))
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.locator("#list").scroll_into_view_if_needed()
    status(page, "1 to 20 of 40 samples")
    names = rows(page)
    drawn = page.locator("#rows .thumbnail").evaluate_all(PIXELS)
    assert len(drawn) == 20
    for name, picture in zip(names, drawn, strict=True):
        check_picture(picture, X[int(name)])
    card = page.locator(".card").first
    shown = card.locator(".pairs li > span:first-of-type").all_text_contents()
    pictures = card.locator(".pairs .thumbnail").evaluate_all(PIXELS)
    assert len(shown) == len(pictures) == 10
    for name, picture in zip(shown, pictures, strict=True):
        check_picture(picture, X[int(name)])
    (mean,) = card.locator(":scope > .thumbnail").evaluate_all(PIXELS)
    check_picture(mean, model.cluster_centers_[0])


def check_picture(picture, image):
    width, height, *colours = picture
    assert (width, height) == (4, 6)
    for channel in range(3):
        np.testing.assert_array_equal(colours[channel::4], np.rint(255 * image / image.max()))


def test_the_levels_open_and_lead_to_the_documents_of_a_topic(browser, page_file, texts):
    """Three topics, two of which are put together; the names are those of the page."""
    found = topics_of(texts, "<img src=x> & co")
    model = found.onmf
    nodes = [
        Node(0, None, 0, 90, None, ()),
        Node(1, 0, 1, 60, None, ("<b>bold</b>",)),
        Node(2, 0, 1, 30, None, ("alone",)),
        Node(3, 1, 2, 30, 0, ()),
        Node(4, 1, 2, 30, 1, ("goal",)),
        Node(5, 2, 2, 30, 2, ()),
    ]
    model.tree_ = Tree(nodes, 3 + model.labels_)
    place = page_file.with_name("levels.html")
    write(place, found, texts, samples=[f"doc {i}" for i in range(90)])
    page = browser.new_context(reduced_motion="reduce").new_page()
    page.goto(place.as_uri())
    levels = page.locator("#levels")
    assert levels.locator("img, b").count() == 0
    assert "Node 1 (60 documents): <b>bold</b>" in levels.text_content()
    assert "alone" not in levels.text_content()  # a group of one topic
    topic = levels.locator("li li", has_text="Topic 1 <img src=x> & co (30 documents): goal").last
    assert not topic.is_visible()
    levels.locator("summary", has_text="Node 1").click()
    assert topic.is_visible()
    topic.locator("a").click()
    status(page, "1 to 20 of 30 documents")
    assert page.locator("#list-cluster").input_value() == "1"
    assert page.locator("#list").bounding_box()["y"] < 200
    assert {int(name.split()[1]) for name in rows(page)} <= {*np.flatnonzero(model.labels_ == 1)}
    page.close()


def test_a_new_name_is_shown(browser, tmp_path, monkeypatch, texts):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\n".join(text.replace("\n", " ") for text in texts))
    assert run("cluster", "a.txt", "--text", "-k", 3, "-o", "out") == 0
    assert run("edit", "out", "--rename", "2=Motor sport & <b>co</b>") == 0
    page = browser.new_page()
    page.goto(Path("out/report.html").resolve().as_uri())
    assert page.locator(".card h3").nth(2).text_content() == "Motor sport & <b>co</b>"
    assert page.locator("#legend .name").nth(2).text_content() == "Motor sport & <b>co</b>"
    page.locator(".card footer button").nth(4).click()
    status(page, "of 30 documents")
    chip = page.locator("#rows .chip").first.text_content()
    assert chip == "2 Motor sport & <b>co</b>"
