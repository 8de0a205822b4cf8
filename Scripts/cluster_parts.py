"""The processes of a cluster for `Scripts/check-cluster`: Redis, nodes, and the operator's questions."""

import atexit
import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
import uuid

from call_apps import fail, programs, until


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A process that is started again under the same name and ends with the script."""

    process = None

    def start(self):
        self.process = self.launch()

    def begin(self):
        atexit.register(self.kill)
        self.start()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


class Redis(Process):
    """A Redis with an append-only file in `folder`. `prefix` runs it in another place, `options` are in the form of its file."""

    def __init__(self, folder, host="127.0.0.1", port=None, password=None, prefix=(), options=()):
        self.folder, self.host, self.prefix, self.options = folder, host, prefix, options
        self.port, self.password = port or free_port(), password or uuid.uuid4().hex
        self.log = folder.parent / f"{folder.name}.log"
        self.url = f"redis://:{self.password}@{self.host}:{self.port}"
        self.begin()

    def launch(self):
        return subprocess.Popen(
            [*self.prefix, "redis-server", "--port", str(self.port), "--bind", self.host, "--requirepass", self.password,
             "--masterauth", self.password, "--dir", self.folder, "--appendonly", "yes", "--maxmemory-policy", "noeviction",
             "--save", "", *self.options], stdout=open(self.log, "a"), stderr=subprocess.STDOUT)

    def ask(self, *words):
        shown = subprocess.run(
            ["redis-cli", "-h", self.host, "-p", str(self.port), "--no-auth-warning", "-a", self.password, *words],
            capture_output=True, text=True)
        return shown.stdout.strip() or shown.stderr.strip()

    def commands(self):
        """How many commands it has executed, by name."""
        return {
            line.split(":")[0].removeprefix("cmdstat_"): int(line.split("calls=")[1].split(",")[0])
            for line in self.ask("info", "commandstats").splitlines() if line.startswith("cmdstat_")}


class Node(Process):
    def __init__(self, name, ledger, folder, host="127.0.0.1", port=None, prefix=(), options=(), admission=("--open",)):
        self.name, self.ledger, self.log, self.host, self.prefix = name, ledger, folder / f"{name}.log", host, prefix
        self.options, self.admission = options, admission
        self.port = port or free_port()
        self.address = f"ws://{self.host}:{self.port}"
        self.begin()

    def launch(self):
        return subprocess.Popen(
            [*self.prefix, programs() / "koine", "serve", *self.admission, "--listen", f"{self.host}:{self.port}", "--node", self.name,
             "--public", self.address, "--limits", "voices=10", "--drain-limit", "60", *self.options],
            env=dict(os.environ, KOINE_SERVE_CLUSTER=self.ledger), stderr=open(self.log, "a"))

    def start(self):
        super().start()
        self.becomes_ready(20)

    def becomes_ready(self, seconds):
        return until(f"{self.name} is ready", self.is_ready, seconds, 0.1)

    def is_ready(self):
        if self.process.poll() is not None:
            fail(f"{self.name} has ended with {self.process.returncode}:\n{self.log.read_text()[-2000:]}")
        try:
            return urllib.request.urlopen(f"http://{self.host}:{self.port}/readyz", timeout=2).status == 200
        except (urllib.error.URLError, OSError) as reason:
            return str(reason)

    def metrics(self):
        """Each metric with its labels → its value."""
        lines = urllib.request.urlopen(f"http://{self.host}:{self.port}/metrics", timeout=2).read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")}

    def end(self):
        """As an operator ends it: its rooms go to other nodes first."""
        self.process.terminate()
        if self.process.wait(90) != 0:
            fail(f"{self.name} has ended with {self.process.returncode}")


class Cluster:
    def __init__(self, room, ledger, nodes):
        self.room, self.ledger, self.nodes = room, ledger, {node.name: node for node in nodes}

    def ask(self, *words):
        shown = subprocess.run(
            [programs() / "koine", "cluster", *words, "--json"], capture_output=True, text=True,
            env=dict(os.environ, KOINE_SERVE_CLUSTER=self.ledger))
        if shown.returncode:
            fail(f"koine cluster {' '.join(words)}: {shown.stderr}")
        return json.loads(shown.stdout)

    def home(self, room=None):
        """The home of a room, or of the check's own."""
        homes = [each["home"] for each in self.ask("rooms")["rooms"] if each["room"] == (room or self.room)]
        if len(homes) != 1:
            fail(f"the room has {len(homes)} homes")
        return self.nodes[homes[0]]

    def others(self, home):
        return [node for node in self.nodes.values() if node is not home]

    def addresses(self, first):
        """Of all nodes, beginning with another one for each participant."""
        places = [node.address for node in self.nodes.values()]
        first %= len(places)
        return ",".join(places[first:] + places[:first])
