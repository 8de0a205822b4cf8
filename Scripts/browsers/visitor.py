"""A Chromium with the page of a node of a cluster, for `Scripts/check-cluster`."""

import atexit

from call_apps import until
from drivers import Chromium

LOST = "the room is out of reach"
WAITS = "waits for admission"


class Visitor:
    """A Chromium with the page of a node."""

    WATCH = """(() => {
        window.news = [];
        const note = (name, text) => koine.addEventListener(name, (event) => news.push(text(event.detail)));
        note("reconnecting", () => "LOST");
        note("ended", (detail) => `ended: ${detail.reason} ${detail.failure?.message}`);
        note("said", ({ name, text }) => `${name}: ${text}`);
        note("waiting", () => "WAITS");
    })()""".replace("LOST", LOST).replace("WAITS", WAITS)
    FIGURES = """(async () => {
        if (!window.koine?.me || !koine.peer) return null;
        const incoming = new Map();
        for (const entry of (await koine.peer.getStats()).values()) if (entry.type === "inbound-rtp") incoming.set(entry.mid, entry);
        return koine.others.map(({ name, tracks }) => {
            const entries = [...tracks.values()].map(({ transceiver }) => incoming.get(transceiver?.mid)).filter(Boolean);
            const sum = (kind, key) => entries.filter((one) => one.kind === kind).reduce((all, one) => all + (one[key] ?? 0), 0);
            return [name, sum("video", "framesDecoded"), sum("audio", "packetsReceived")];
        });
    })()"""

    def __init__(self, name, room, nodes, prefix=(), token=None):
        """`nodes`: the page is that of the first one."""
        self.name = name
        origins = ",".join(f"http://{node.host}:{node.port}" for node in nodes)
        self.browser = Chromium(
            f"http://{nodes[0].host}:{nodes[0].port}/?room={room}&name={name}&rows=180"
            + (f"#token={token}" if token else ""), prefix,
            [f"--unsafely-treat-insecure-origin-as-secure={origins}"])
        atexit.register(lambda: self.browser.process.poll() is None and self.browser.close())
        until("the page is loaded", lambda: self.browser.evaluate("document.readyState") == "complete")
        self.browser.evaluate("document.getElementById('enter').requestSubmit()")
        until("the page has a room", lambda: self.browser.evaluate("Boolean(window.koine)"), 60, 0.05)
        self.browser.evaluate(self.WATCH)

    def enters(self):
        until("the page is in the room", lambda: self.browser.evaluate(
            "Boolean(koine.me) || document.getElementById('refusal').textContent"), 60)
        return self

    def text(self):
        return "\n".join(["in the room", *self.browser.evaluate("news"), ""])

    def ask(self):
        return None

    def guests(self):
        """Names of those whom it may admit."""
        return self.browser.evaluate("koine.guests.map(({ name }) => name)")

    def admit(self):
        """Clicks on the page's first button for this."""
        self.browser.evaluate("document.querySelector('#guests button').click()")

    def figures(self, _=None):
        return {name: (frames, packets, None) for name, frames, packets in self.browser.evaluate(self.FIGURES) or []}

    def leave(self):
        self.browser.evaluate("koine.leave()")
        until("the page has left", lambda: "ended: left" in self.text(), 10)
        self.browser.close()
