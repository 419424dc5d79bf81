#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clips.html in a real browser: listening, correcting, judging and saving, with the keyboard too, in English and Persian, on narrow screens.

usage: tests/clips/page_test.py      MYXTTS_BUILD=build/release

Ends with 77, which CTest takes for skipped, where there is no chromium.
"""
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import wave

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from browser import CHROMIUM, CTRL, KEYS, Browser  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MYXTTS_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release")).resolve()
KEYS.update({"a": 65, "r": 82, "j": 74, "k": 75, "e": 69, " ": 32})


def setUpModule():
    global folder, browser, page
    folder = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    page = folder / "corpus/clips.html"
    (folder / "corpus/wavs").mkdir(parents=True)
    subprocess.run([BUILD / "bin/clips_test", "--gtest_filter=ClipsPage.IsWrittenForTheBrowser"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "MYXTTS_CLIPS_PAGE": str(page)})
    with wave.open(str(folder / "corpus/wavs/chapter-0118.wav"), "wb") as sound:
        sound.setparams((1, 2, 22050, 0, "NONE", ""))
        sound.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 9))) for i in range(22050)))
    for number in range(117):  # all but 0117, which is missing
        os.link(folder / "corpus/wavs/chapter-0118.wav", folder / f"corpus/wavs/chapter-{number:04}.wav")
    browser = Browser(folder / "browser")
    unittest.addModuleCleanup(browser.close)
    (folder / "downloads").mkdir()
    browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder / "downloads"))


def changes():
    return browser.evaluate("myxtts.corrections.list()")


def row(expression):
    return browser.evaluate(f"(row => {expression})(myxtts.list.row())")


def figures():
    return browser.evaluate("[...document.querySelectorAll('#figures dd')].map(value => value.textContent)")


class Page(unittest.TestCase):
    def setUp(self):
        browser.resize(1280)
        browser.prefer(prefers_color_scheme="light")
        self.open()
        browser.evaluate("localStorage.clear()")
        browser.evaluate("myxtts.corrections.isSaved = true")
        self.open()
        browser.complaints.clear()

    def tearDown(self):
        browser.evaluate("myxtts.corrections.isSaved = true")  # nothing asks whether to leave
        self.assertEqual(browser.complaints, [])

    def open(self, lang="en"):
        browser.open("about:blank")
        browser.open(f"{page.as_uri()}?lang={lang}")

    def test_the_most_doubtful_clip_is_first_and_corrected_ones_are_last(self):
        self.assertEqual(row("row.clip.name"), "chapter-0118")
        self.assertEqual(browser.evaluate("myxtts.list.shown.at(-1).name"), "chapter-0119")
        confidences = browser.evaluate("myxtts.list.shown.slice(0, -1).map(clip => clip.confidence)")
        self.assertEqual(confidences, sorted(confidences))
        self.assertEqual(figures(), ["120", "12.0 min", "88", "7.5 min"])
        self.assertEqual(browser.evaluate("document.getElementById('title').innerHTML"), "An &lt;b&gt;old&lt;/b&gt; book")

    def test_each_clip_shows_its_place_confidence_source_and_doubt(self):
        browser.evaluate("document.getElementById('search').value = 'chapter-0060'; myxtts.list.choose()")
        shown = row("row.element.innerText")
        for text in ("91% sure", "from the text", "فصل دو.mp3 10:00.0–10:06.0", "Words are heard inside that are not in the text.", "Heard: Sentence numb her sixty."):
            self.assertIn(text, shown)

    def test_a_text_is_corrected_in_place_kept_over_a_reload_and_saved(self):
        browser.evaluate("(field => { field.focus(); field.value = ' Sentence  number\\n118, '; field.dispatchEvent(new Event('input')); })(myxtts.list.row().text)")
        expected = [{"clip": "chapter-0118", "was": "Sentence number 118.", "text": "Sentence number 118,"}]
        self.assertEqual(changes(), expected)
        browser.evaluate("myxtts.corrections.isSaved = true")
        self.open()
        self.assertEqual(changes(), expected)
        self.assertEqual(row("row.text.value"), "Sentence number 118,")
        browser.click("#save")
        file = folder / "downloads/corrections.json"
        deadline = time.monotonic() + 20
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(json.loads(file.read_text()), {"format": "myxtts-corrections", "version": 1, "clips": expected})

    def test_a_text_that_is_as_it_was_is_not_touched(self):
        for text in ("Other.", "Sentence number 118."):
            browser.evaluate(f"(field => {{ field.value = '{text}'; field.dispatchEvent(new Event('input')); }})(myxtts.list.row().text)")
        self.assertEqual(changes(), [])
        self.assertIn("Nothing is touched yet.", browser.evaluate("document.getElementById('touched').textContent"))

    def test_the_keyboard_plays_judges_and_edits(self):
        browser.press(" ")
        browser.wait_for("myxtts.list.row().play.textContent === 'Pause'")
        browser.press(" ")
        browser.wait_for("myxtts.list.row().play.textContent === 'Play'")
        browser.press("a")
        self.assertEqual(row("row.clip.name"), "chapter-0117", "the next one is at hand")
        browser.press("r")
        browser.press("k")
        browser.press("r")  # a second time takes it back
        self.assertEqual(changes(), [{"clip": "chapter-0118", "was": "Sentence number 118.", "accepted": True}])
        browser.press("j")
        browser.press("e")
        self.assertEqual(browser.evaluate("document.activeElement.tagName"), "TEXTAREA")
        browser.press("r")  # a letter of the text
        self.assertEqual(len(changes()), 1 + (row("row.text.value") != row("row.clip.text")))
        browser.press("Enter", CTRL)
        self.assertTrue(any(change.get("accepted") and change["clip"] == "chapter-0116" for change in changes()))
        browser.press("Escape")

    def test_pages_filters_and_search_reach_every_clip(self):
        self.assertEqual(browser.evaluate("document.querySelectorAll('.clip').length"), 50)
        browser.evaluate("myxtts.list.current = 49")
        browser.press("j")
        self.assertEqual(browser.evaluate("[myxtts.list.page, myxtts.list.current]"), [1, 0])
        browser.press("k")
        self.assertEqual(browser.evaluate("[myxtts.list.page, myxtts.list.current]"), [0, 49])
        browser.evaluate("myxtts.list.judge(false)")
        browser.evaluate("(filter => { filter.value = 'rejected'; filter.onchange(); })(document.getElementById('filter'))")
        self.assertEqual(browser.evaluate("document.querySelectorAll('.clip').length"), 1)
        browser.evaluate("(search => { search.value = 'no such'; search.oninput(); })(document.getElementById('search'))")
        self.assertIn("There is no such clip.", browser.evaluate("document.getElementById('clips').textContent"))

    def test_what_was_left_out_is_summed_up_and_listed(self):
        self.assertEqual(browser.evaluate("document.getElementById('reasons').innerText.split('\\n').filter(Boolean)"),
                         ["Two speak at once. 300 times, 5.0 min.", "Music is heard. 150 times, 2.5 min."])
        browser.evaluate("document.querySelector('#left-out details').open = true")
        for rows in (200, 400, 450):
            self.assertEqual(browser.evaluate("document.querySelectorAll('#left-out tbody tr').length"), rows)
            browser.evaluate("document.getElementById('more-left-out').click()")
        self.assertIn("The first paragraph", browser.evaluate("document.getElementById('unread').textContent"))

    def test_a_sound_that_is_missing_is_said(self):
        browser.press("j")
        browser.press(" ")
        browser.wait_for("document.getElementById('error').textContent.includes('wavs/chapter-0117.wav cannot be played')")
        browser.complaints.clear()

    def test_nothing_is_cut_off_in_either_language_theme_or_width(self):
        for lang, direction in (("en", "ltr"), ("fa", "rtl")):
            for width in (360, 768, 1600):
                browser.resize(width)
                self.open(lang)
                browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
                self.assertEqual(browser.evaluate("document.documentElement.dir"), direction)
                self.assertLessEqual(*browser.evaluate("[document.scrollingElement.scrollWidth, innerWidth]"), (lang, width))
        persian = browser.evaluate("document.body.innerText")
        self.assertNotIn("undefined", persian)
        self.assertEqual(browser.evaluate("Object.keys(kEnglish).filter(key => !(key in kPersian))"), [])
        direction = browser.evaluate("(clip => getComputedStyle([...document.querySelectorAll('.clip textarea')].find(field => field.value.includes('کتاب'))).direction)()")
        self.assertEqual(direction, "rtl", "a Persian text in its own direction")

    def test_light_and_dark_are_as_the_system_says_or_as_chosen(self):
        colours = []
        for theme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=theme)
            colours.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.assertNotEqual(*colours)
        browser.evaluate("(select => { select.value = 'light'; select.onchange(); })(document.getElementById('theme'))")
        self.assertEqual(browser.evaluate("getComputedStyle(document.body).backgroundColor"), colours[0])


if __name__ == "__main__":
    if not CHROMIUM:
        print("no chromium here")
        sys.exit(77)
    unittest.main()
