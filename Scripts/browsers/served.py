"""A served room for the checks with foreign clients: `koine serve` as a process, an aiortc participant, and waiting with a deadline.

A check ends by `fail`, which prints one line with the check's name and exits with status 1.
"""

import atexit
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHECK = pathlib.Path(sys.argv[0]).name


def fail(text):
    print(f"{CHECK}: {text}", file=sys.stderr)
    sys.exit(1)


def until(what, condition, seconds=90):
    """Waits until `condition` returns True. It may return anything else, which a failure prints as last seen."""
    end = time.monotonic() + seconds
    seen = None
    while time.monotonic() < end:
        try:
            seen = condition()
            if seen is True:
                return
        except RuntimeError as error:
            seen = error
        time.sleep(0.25)
    fail(f"not within {seconds} s: {what}; last seen: {seen}")


def programs_of(*build_options):
    """The folder with the programs that `swift build` with these options makes."""
    shown = subprocess.run(
        ["swift", "build", *build_options, "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


def measured_programs(is_short):
    """The optimised programs where `swift build -c release` has made them, except for a short pass: CI has the debug build."""
    release = programs_of("-c", "release")
    return programs_of() if is_short or not (release / "koine").exists() else release


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`koine serve` on a free port of the loopback address. It is killed when the check ends, however that is."""

    def __init__(self, programs, log, *options, environment=None, port=None):
        self.programs, self.options, self.environment = programs, options, environment
        self.log = open(log, "w", encoding="utf-8")
        self.port = port or free_port()
        self.start()
        atexit.register(lambda: self.process.poll() is None and self.kill())

    def start(self, seconds=20):
        self.process = subprocess.Popen(
            [self.programs / "koine", "serve", "--listen", f"127.0.0.1:{self.port}", *self.options], stderr=self.log,
            env=dict(os.environ, **(self.environment or {})))

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        until("the server listens", listens, seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=20):
        self.process.terminate()
        if self.process.wait(seconds) != 0:
            fail(f"the server ended with {self.process.returncode}")


class AioRTC:
    """A peer that is neither ours nor a browser; Debian's own Python has its library."""

    def __init__(self, name, server, room, out):
        self.report = out / f"{name}.jsonl"
        self.process = subprocess.Popen(
            ["/usr/bin/python3", ROOT / "Scripts" / "browsers" / "aiortc_peer.py",
             f"ws://127.0.0.1:{server.port}/browser", room, name],
            stdout=open(self.report, "w", encoding="utf-8"), stdin=subprocess.DEVNULL, preexec_fn=self.before_others)

    @staticmethod
    def before_others():
        """Its checks of the path fail when an answer lies about for half a second, as seven streams in Python let it."""
        if os.getuid() == 0:
            os.nice(-15)

    def figures(self):
        if self.process.poll() is not None:
            fail(f"the aiortc participant ended with {self.process.returncode}")
        lines = self.report.read_text(encoding="utf-8").splitlines()
        return {"received": json.loads(lines[-1])} if lines else None

    def close(self):
        self.process.kill()
        self.process.wait()
