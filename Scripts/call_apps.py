"""Apps of every style by their samples, and what they must see and hear of each other: for the scripts that drive servers."""

import atexit
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = pathlib.Path(sys.argv[0]).name


def fail(text):
    print(f"{SCRIPT}: {text}", file=sys.stderr)
    sys.exit(1)


def until(what, condition, seconds=60, pause=0.5):
    """Waits until the condition is True. Returns the seconds that it took."""
    start = time.monotonic()
    while (seen := condition()) is not True:
        if time.monotonic() > start + seconds:
            fail(f"not within {seconds} s: {what}; last seen: {seen}")
        time.sleep(pause)
    return time.monotonic() - start


@functools.cache
def programs():
    """Where the debug build has put the programs, or the folder KOINE_PROGRAMS, of a release build."""
    if chosen := os.environ.get("KOINE_PROGRAMS"):
        return pathlib.Path(chosen).absolute()
    shown = subprocess.run(
        ["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


class App:
    """An app of one style, by its sample, at a back end: addresses of servers."""

    def __init__(self, name, program, room, backend, folder, prefix=(), camera="160x90@5", options=()):
        self.name, self.log = name, folder / f"{name}.log"
        self.packets_lost = 0  # of all directions, as it told last
        self.process = subprocess.Popen(
            [*prefix, program, "--room", room, "--name", name, "--peers", "0",
             "--seconds", "0", "--json", "--trace", "--camera", f"stamp:{name},{camera}", *options],
            env=dict(os.environ, KOINE_BACKEND=backend), stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=open(self.log, "w"))
        atexit.register(lambda: self.process.poll() is None and self.process.kill())

    def say(self, text):
        self.process.stdin.write((text + "\n").encode())
        self.process.stdin.flush()

    def text(self):
        if self.process.poll() is not None:
            fail(f"{self.name} ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
        return self.log.read_text()

    def ask(self):
        """Asks for its figures. Returns the length of its log, behind which `answer` finds them."""
        length = self.log.stat().st_size
        self.process.send_signal(signal.SIGUSR1)
        return length

    def answer(self, length):
        """Frames and audio packets from each of the others so far, and why a camera's video is paused; None: not yet."""
        if self.process.poll() is not None:
            self.text()
        with open(self.log, errors="replace") as log:
            log.seek(length)
            reports = re.findall(r"^\{\n.*?^\}\n", log.read(), re.DOTALL | re.MULTILINE)
        if not reports:
            return None
        directions = json.loads(reports[-1])["directions"]
        self.packets_lost = sum(way["packetsLost"] for way in directions)
        return {way["sender"]: (way["framesRendered"], way["audioPackets"], way.get("pause")) for way in directions}

    def figures(self, length=None):
        """As `answer`, with patience: a request is not heard before the app follows its call."""
        length, ends = self.ask() if length is None else length, time.monotonic() + 20
        again = time.monotonic() + 1
        while (figures := self.answer(length)) is None:
            now = time.monotonic()
            if now > ends:
                fail(f"{self.name} does not tell its figures")
            if now > again:
                self.ask()
                again = now + 1
            time.sleep(0.02)
        return figures

    def leave(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            fail(f"{self.name} does not leave")


class Call:
    """Apps in one room."""

    def __init__(self, apps):
        self.apps = {app.name: app for app in apps}
        self.heard = []
        for app in apps:
            until(f"{app.name} is told something", lambda: bool(app.text()))

    def figures(self, among=None):
        """Of all apps, or of some, which are asked at the same time."""
        asked = {name: self.apps[name].ask() for name in among or self.apps}
        return {name: self.apps[name].figures(length) for name, length in asked.items()}

    def missing(self, before, frames=10, packets=10, among=None):
        """From whom nothing new has come to whom since `before`, of all or some: fewer frames or audio packets than these."""
        missing, resting, now = [], [], self.figures(among)
        for name in now:
            for sender in now.keys() - {name}:
                then, new = (figures[name].get(sender, (0, 0, None)) for figures in (before, now))
                # Whoever has joined anew counts from nought. Where the machine does not keep up a picture may rest,
                # and the app is told.
                stands = [
                    b - a < least and not (b < a and b >= least)
                    for a, b, least in zip(then[:2], new[:2], (frames, packets))]
                if stands[1] or stands[0] and new[2] != "poorPath":
                    missing.append(f"{name} < {sender}: {then} {new}")
                elif stands[0]:
                    resting.append(f"{name} < {sender}")
        if len(resting) > len(now):
            missing.append(f"so many pictures rest: {resting}")
        return missing

    def goes_on(self, after, seconds=60, pause=0.5, among=None):
        """New pictures and new sound of all, or of some, come to all of them. Returns the seconds that it took."""
        before = self.figures(among)
        return until(
            f"pictures and sound of all come to all {after}", lambda: self.missing(before, among=among) or True, seconds,
            pause)

    def recovers(self, since, after, seconds, settle=0.4):
        """After a fault at the monotonic time `since`: two frames and five audio packets of all have come to all that did not come
        `settle` seconds after the fault, when what was on its way has arrived. Returns the seconds since the fault. `slowest` says
        which receivers waited how long."""
        time.sleep(max(0, since + settle - time.monotonic()))
        before, self.slowest = self.figures(), {}

        def all_came():
            missing = self.missing(before, 2, 5)
            for receiver in {one.split(" < ")[0] for one in missing}:
                self.slowest[receiver] = round(time.monotonic() - since, 1)
            return missing or True

        until(f"video and audio of all come to all {after}", all_came, since + seconds - time.monotonic(), 0.05)
        return time.monotonic() - since

    def has_heard(self, heard, after):
        self.heard += [one for one in heard if one not in self.heard]
        for word, name in heard:
            until(f"{name} hears '{word}' once {after}", lambda: (
                count := self.apps[name].text().count(f": {word})")) == 1 or count)

    def was_told(self, marks, told, after):
        for name, words in told.items():
            in_order = re.compile(".*".join(words), re.DOTALL)
            until(f"{name} is told {words} {after}", lambda: bool(
                in_order.search(news := self.apps[name].text()[marks[name]:])) or news[-2000:])

    def marks(self):
        return {name: len(app.text()) for name, app in self.apps.items()}
