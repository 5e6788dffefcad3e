#!/usr/bin/env python3
"""look: opens pages in headless Chromium, as a reader would, and measures what a reader would see.

    look.py [--script] CHROMIUM SHOTS PAGE.html...

Each page is opened at a desktop's and a phone's width, light and dark, and for print. Told, and 1 at the end, is:
an error or a warning on the console, any request but for the page itself, anything wider than the window, a
picture without size or without a text for those who do not see it, ids that are there twice, text of a picture that
is cut off or lies upon other text, text that hardly differs from its ground. Screenshots go to the folder SHOTS.
A page has no script, unless --script says that it may have one of its own.

Chromium is spoken to over a pipe (--remote-debugging-pipe): no port, no library.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SIZES = [("desktop", 1280, 900, False), ("phone", 390, 844, True)]
PAPER = 718  # A4, less margins of 10 mm

MEASURE = r"""
(() => {
  const wrong = [];
  const name = e => e.id ? '#' + e.id : (e.closest('[id]') ? '#' + e.closest('[id]').id + ' ' : '') + e.tagName;
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth)
    wrong.push(`the page is ${root.scrollWidth} wide, the window ${innerWidth}`);
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (!e.closest('svg') && (box.right > innerWidth + 1 || box.left < -1))
      wrong.push(`${name(e)} reaches from ${box.left} to ${box.right} of ${innerWidth}`);
  }
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (ids.has(e.id)) wrong.push(`the id ${e.id} is there twice`);
    ids.add(e.id);
  }
  for (const e of document.querySelectorAll('script, link, iframe, object, embed, img:not([src^="data:"])'))
    wrong.push(`there is a ${e.tagName}`);
  const pictures = [...document.querySelectorAll('figure')];
  for (const figure of pictures) {
    const svg = figure.querySelector('svg');
    if (!svg) { wrong.push('a figure has no picture'); continue; }
    const frame = svg.getBoundingClientRect();
    if (frame.width < 200 || frame.height < 100) wrong.push(`${name(svg)} is ${frame.width} x ${frame.height}`);
    if ((svg.getAttribute('aria-label') || '').length < 20) wrong.push(`${name(svg)} has no text for those who do not see it`);
    if (!figure.querySelector('figcaption')) wrong.push(`${name(svg)} has no caption`);
    if (!svg.querySelector('path, polygon, rect, use')) wrong.push(`${name(svg)} is empty`);
    const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
    const boxes = texts.map(t => ({text: t.textContent.trim(), box: t.getBoundingClientRect()}));
    if (boxes.length < 5) wrong.push(`${name(svg)} has ${boxes.length} texts: its axes have no numbers`);
    boxes.forEach((a, i) => {
      const cut = Math.max(frame.left - a.box.left, a.box.right - frame.right, frame.top - a.box.top, a.box.bottom - frame.bottom);
      if (cut > 1) wrong.push(`${name(svg)}: '${a.text}' is cut off by ${cut.toFixed(1)}`);
      if (a.box.height < 8) wrong.push(`${name(svg)}: '${a.text}' is only ${a.box.height.toFixed(1)} high`);
      for (const b of boxes.slice(i + 1)) {
        const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        const rows = Math.min(a.box.height, b.box.height);
        if (across > 1 && down > 0.3 * rows) wrong.push(`${name(svg)}: '${a.text}' lies upon '${b.text}'`);
      }
    });
  }
  const numbers = c => c.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = c => { const [r, g, b] = numbers(c).map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = getComputedStyle(document.body).backgroundColor;
  for (const e of document.querySelectorAll('p, dt, dd, li, h1, h2, figcaption, strong')) {
    const box = e.closest('.box'), style = getComputedStyle(e);
    const r = ratio(style.color, box ? getComputedStyle(box).backgroundColor : ground);
    if (r < 4.5) wrong.push(`${name(e)} '${e.textContent.slice(0, 20)}' has a contrast of ${r.toFixed(1)}`);
  }
  for (const t of document.querySelectorAll('svg text')) {
    const r = ratio(getComputedStyle(t).fill, ground);
    if (r < 4.5) wrong.push(`${name(t)} '${t.textContent}' has a contrast of ${r.toFixed(1)}`);
  }
  return {wrong, pictures: pictures.length, height: root.scrollHeight};
})()
"""


class Browser:
    """A Chromium with one tab."""

    def __init__(self, program, profile):
        to_read, to_write = os.pipe(), os.pipe()
        command = [program, "--headless", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   "--user-data-dir=" + profile, "about:blank"]
        if os.getuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to run as root with one

        def place():
            # The two ends may be 3 and 4 themselves, in any order: move them out of the way first.
            a, b = os.dup(to_read[0]), os.dup(to_write[1])
            while a in (3, 4) or b in (3, 4):
                a, b = os.dup(a), os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(command, preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read[0])
        os.close(to_write[1])
        self.out, self.into = to_read[1], to_write[0]
        self.rest, self.number, self.events = b"", 0, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 16)
            if not more:
                raise SystemExit("look: Chromium has ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"look: {method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(i)
            self.events.append(self.receive())

    def open(self, url):
        self.events = []
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def measure(self, width):
        """The window's width is not asked of the page: a phone's grows with what is too wide for it."""
        result = self.call("Runtime.evaluate", expression=MEASURE.replace("innerWidth", str(width)), returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"look: {result['exceptionDetails']}")
        return result["result"]["value"]

    def complaints(self, url):
        """What was said on the console or asked of anybody, up to now."""
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                yield "an exception: " + params["exceptionDetails"]["text"]
            elif event.get("method") == "Runtime.consoleAPICalled":
                yield "the console says: " + str(params["args"])
            elif event.get("method") == "Log.entryAdded":
                yield "the log says: " + params["entry"]["text"]
            elif event.get("method") == "Network.requestWillBeSent" and params["request"]["url"] != url:
                yield "a request for " + params["request"]["url"][:80]

    def shoot(self, path, width, height):
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 8000), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        os.close(self.out)
        self.process.wait(timeout=60)


def look(browser, page, shots):
    """All that is wrong with a page, and how many pictures it has."""
    url = pathlib.Path(page).resolve().as_uri()
    wrong, pictures = [], 0
    label = pathlib.Path(page).resolve().parent.parent.name
    for name, width, height, mobile in SIZES:
        for scheme in ("light", "dark"):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                         mobile=mobile)
            browser.call("Emulation.setEmulatedMedia", media="",
                         features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.open(url)
            seen = browser.measure(width)
            pictures = seen["pictures"]
            wrong += [f"{name}, {scheme}: {text}" for text in [*seen["wrong"], *browser.complaints(url)]]
            browser.shoot(f"{shots}/{label}-{name}-{scheme}.png", width, seen["height"])
    browser.call("Emulation.setDeviceMetricsOverride", width=PAPER, height=1000, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    wrong += [f"print: {text}" for text in browser.measure(PAPER)["wrong"]]
    browser.call("Page.printToPDF")
    return wrong, pictures


def main():
    words = sys.argv[1:]
    global MEASURE
    if words[0] == "--script":
        MEASURE = MEASURE.replace("'script, link", "'script[src], link")
        words = words[1:]
    program, shots, pages = words[0], words[1], words[2:]
    failed = False
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        for page in pages:
            wrong, pictures = look(browser, page, shots)
            for text in wrong:
                print(f"{page}: {text}")
            print(f"{page}: {pictures} pictures at 1280 and 390, light, dark and print: {'FAILED' if wrong else 'ok'}")
            failed = failed or bool(wrong)
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
