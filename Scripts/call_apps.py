"""Apps of every style by their samples, and what they must see and hear of each other: for the scripts that drive servers."""

import atexit
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


def programs():
    """Where the build has put the programs."""
    shown = subprocess.run(
        ["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


class App:
    """An app of one style, by its sample, at a back end: addresses of servers."""

    def __init__(self, name, program, room, backend, folder, prefix=(), camera="160x90@5"):
        self.name, self.log = name, folder / f"{name}.log"
        self.process = subprocess.Popen(
            [*prefix, program, "--room", room, "--name", name, "--peers", "0",
             "--seconds", "0", "--json", "--trace", "--camera", f"stamp:{name},{camera}"],
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

    def figures(self):
        """Pictures and packets from each of the others so far, and why a picture rests."""
        before = self.text().count("\n}\n")

        def are_told():
            self.process.send_signal(signal.SIGUSR1)  # not heard before it follows its call
            time.sleep(0.1)
            return self.text().count("\n}\n") > before

        until(f"{self.name} tells its figures", are_told, 20)
        reports = re.findall(r"^\{\n.*?^\}\n", self.text(), re.DOTALL | re.MULTILINE)
        return {
            way["sender"]: (way["framesRendered"], way["packets"], way.get("pause"))
            for way in json.loads(reports[-1])["directions"]}

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

    def goes_on(self, after, seconds=60, pause=0.5):
        """New pictures and new sound of all come to all. Returns the seconds that it took."""
        before = {name: app.figures() for name, app in self.apps.items()}

        def all_came():
            missing, resting = [], []
            for name, app in self.apps.items():
                now = app.figures()
                for sender in self.apps.keys() - {name}:
                    then, new = before[name].get(sender, (0, 0, None)), now.get(sender, (0, 0, None))
                    # Whoever has joined anew counts from nought. Where the machine does not keep up a picture may rest,
                    # and the app is told.
                    stands = [b - a < 10 and not (b < a and b >= 10) for a, b in zip(then[:2], new[:2])]
                    if stands[1] or stands[0] and new[2] != "poorPath":
                        missing.append(f"{name} < {sender}: {then} {new}")
                    elif stands[0]:
                        resting.append(f"{name} < {sender}")
            if len(resting) > len(self.apps):
                missing.append(f"so many pictures rest: {resting}")
            return missing or True

        return until(f"pictures and sound of all come to all {after}", all_came, seconds, pause)

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
