"""Faults of a cluster whose Redis, nodes and participants are in network namespaces of their own (`Scripts/check-cluster --network`).

Six apps of all styles, a Chromium and two participants that send kept messages (browsers/data_peer.py) are in one room. After each
fault all must see and hear all again. At the end everything that was acknowledged must be in the room's history once, with the number
of its receipt.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from call_apps import App, Call, ROOT, fail, programs, until
from cluster_parts import Cluster, Node, Process, Redis
from namespaces import Network

sys.path.insert(0, str(ROOT / "Scripts" / "browsers"))
from visitor import LOST, Visitor  # noqa: E402

PLACES = {"desk": 1, "r1": 11, "r2": 12, "r3": 13, "n1": 21, "n2": 22, "n3": 23, "east": 31, "west": 32}
EAST = {"Cal": "koine-call-agent", "Sue": "koine-stage-strategy", "Mia": "koine-meeting-session"}
WEST = {"Lia": "koine-event-listener", "Mio": "koine-meeting-session", "Leo": "koine-event-listener"}
NODES, PORT = ("n1", "n2", "n3"), 8080
REDIS_PORT, SENTINEL_PORT, MASTER = 6379, 26379, "main"
# A client counts its redirects anew after a stay of 5 s (SignalingClient).
STEADY_STAY = 5.5
# Room for the append-only file of a run.
DISK = 32 * 1024 * 1024

# Targets in seconds (C1 to C8 of the cluster's design).
PLACED, REDIRECTED, KILLED, PULLED, STEPPED_DOWN, SERVING_AGAIN, FAILED_OVER = 0.010, 0.5, 3, 12, 3, 5, 6


class Sentinel(Process):
    def __init__(self, name, host, master, password, folder, prefix):
        self.name, self.host, self.prefix, self.folder = name, host, prefix, folder
        self.file = folder / f"{name}.conf"
        self.file.write_text("\n".join([
            f"port {SENTINEL_PORT}", f"bind {host}", f"dir {folder}", f"requirepass {password}",
            f"sentinel monitor {MASTER} {master} {REDIS_PORT} 2", f"sentinel auth-pass {MASTER} {password}",
            f"sentinel down-after-milliseconds {MASTER} 1000", f"sentinel failover-timeout {MASTER} 10000", ""]))
        self.password = password
        self.begin()

    def launch(self):
        return subprocess.Popen(
            [*self.prefix, "redis-sentinel", self.file], stdout=open(self.folder / f"{self.name}.log", "a"),
            stderr=subprocess.STDOUT)

    def ask(self, *words):
        return subprocess.run(
            ["redis-cli", "-h", self.host, "-p", str(SENTINEL_PORT), "--no-auth-warning", "-a", self.password, *words],
            capture_output=True, text=True).stdout.strip()


class Sender:
    """A participant that sends kept messages: browsers/data_peer.py as a process."""

    PROGRAM = ["/usr/bin/python3", ROOT / "Scripts" / "browsers" / "data_peer.py"]

    def __init__(self, name, room, places, folder, prefix=()):
        self.name, self.log, self.length, self.lines = name, folder / f"{name}.jsonl", 0, []
        self.errors = folder / f"{name}.log"
        self.process = subprocess.Popen(
            [*prefix, *self.PROGRAM, room, name, places], stdin=subprocess.DEVNULL, stdout=open(self.log, "w"),
            stderr=open(self.errors, "w"))

    def read(self):
        """All that it has written so far."""
        if self.process.poll() is not None:
            fail(f"{self.name} ended with {self.process.returncode}:\n{self.errors.read_text()[-3000:]}")
        with open(self.log) as log:
            log.seek(self.length)
            new = log.read()
        new = new[:new.rfind("\n") + 1]
        self.length += len(new)
        self.lines += map(json.loads, new.splitlines())
        return self.lines

    def receipts(self):
        """The lines of receipts without a failure."""
        return [line for line in self.read() if "receipt" in line and not line["failure"]]

    def first_receipt(self, since):
        """When the first message that was sent after this monotonic time was acknowledged."""
        sent = {line["sent"] for line in self.read() if "sent" in line and line["at"] > since}
        return next((line["at"] for line in self.receipts() if line["receipt"] in sent), None)

    def waiting(self, before):
        """Messages sent before this monotonic time without a receipt."""
        acknowledged = {line["receipt"] for line in self.receipts()}
        return [line["sent"] for line in self.read() if "sent" in line and line["at"] < before and line["sent"] not in acknowledged]

    def close(self):
        self.read()
        self.process.kill()
        self.process.wait()


class NetworkCheck:
    """`kills`: how often the home is killed. `tolerance`: by which targets are multiplied on a busy machine."""

    def __init__(self, room, say, kills, tolerance):
        self.room, self.kills, self.tolerance, self.missed = room, kills, tolerance, []
        self.say_line, self.start = say, time.monotonic()
        self.network = Network("koine-cluster", PLACES)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="koine-cluster-"))
        self.disk = self.folder / "r1"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "koine", self.disk], check=True)
        self.network.enter("desk")
        self.redis = Redis(self.disk, self.network.address("r1"), REDIS_PORT, prefix=self.network.prefix("r1"))
        nodes = [
            Node(name, self.redis.url, self.folder, self.network.address(name), PORT, self.network.prefix(name)) for name in NODES]
        self.cluster, self.moves, self.sentinels = Cluster(room, self.redis.url, nodes), 0, []
        for node in nodes:
            until(f"{node.name} knows the others", lambda: node.metrics().get('koine_cluster_nodes{state="serving"}') == 3, 10, 0.1)

    def say(self, text):
        self.say_line(f"{text}  [{time.monotonic() - self.start:.0f} s]")

    def judge(self, what, took, target):
        """Prints a measured time. The check fails at its end if one missed its target."""
        is_missed = took > target * self.tolerance
        self.say(f"{what}: {took:.3g} s (target {target} s{', MISSED' if is_missed else ''})")
        if is_missed:
            self.missed.append(what)

    # MARK: The call

    def begin(self):
        apps = [
            App(name, programs() / program, self.room, self.cluster.addresses(number), self.folder, self.network.prefix(place))
            for place, styles in (("east", EAST), ("west", WEST)) for number, (name, program) in enumerate(styles.items())]
        self.senders = [
            Sender(name, self.room, self.cluster.addresses(number), self.folder, self.network.prefix(place))
            for number, (name, place) in enumerate({"Rio": "east", "Ria": "west"}.items())]
        visitor = Visitor("Bob", self.room, list(self.cluster.nodes.values()), self.network.prefix("west")).enters()
        self.call, self.restored = Call([*apps, visitor]), 0
        self.call.goes_on("at the beginning")
        self.talk("hello")
        self.acknowledges(time.monotonic(), "at the beginning", 30)
        self.say("apps of every style and a Chromium that came to different nodes see and hear each other")

    def talk(self, word):
        """Two say a word that is kept, and others hear it once."""
        self.call.apps["Lia"].say(word)
        self.call.apps["Mia"].say(word + " too")
        self.call.has_heard([(word, "Leo"), (word + " too", "Mio")], f"after '{word}'")

    def lost(self, marks):
        """How many participants were told that the room was out of reach."""
        return sorted(name for name, app in self.call.apps.items() if LOST in app.text()[marks[name]:])

    def nobody_was_told(self, marks, what):
        if lost := self.lost(marks):
            fail(f"{', '.join(lost)} took the room for lost while {what}")

    def acknowledges(self, since, after, seconds):
        """Returns how long after `since` both senders have receipts for messages that they sent later."""
        until(f"messages are acknowledged {after}", lambda: all(
            sender.first_receipt(since) for sender in self.senders) or [sender.read()[-3:] for sender in self.senders], seconds, 0.05)
        return max(sender.first_receipt(since) for sender in self.senders) - since

    # MARK: Without faults

    def redirected_join(self):
        """Joins at a node that is not the room's home."""
        self.moves += 1
        wrong = self.cluster.others(self.cluster.home())
        # The report is of the whole stay: the figures are those of the beginning.
        sample = [programs() / "koine-event-listener", "--room", self.room, "--name", f"Eva{self.moves}", "--peers", "0"]
        shown = subprocess.run(
            [*self.network.prefix("east"), *sample, "--seconds", "2", "--json"], capture_output=True, text=True,
            env={"KOINE_BACKEND": wrong[self.moves % 2].address})
        times = [way.get("joinToFirstPicture") for way in json.loads(shown.stdout)["directions"]]
        if not any(times):
            fail(f"no frame came within 2 s to a participant that joined at a wrong node:\n{shown.stderr}")
        return min(filter(None, times)) / 1000

    def joins_and_round_trips(self):
        times = sorted(self.redirected_join() for _ in range(5))
        self.judge("C2: join at a wrong node to the first frame, the median of 5", times[2], REDIRECTED)
        before = self.round_trips()
        time.sleep(15)
        after = self.round_trips()
        counts = {bound: after[bound] - before[bound] for bound in after}
        total = counts[float("inf")]
        half, most = (next(bound for bound in sorted(counts) if counts[bound] >= part * total) for part in (0.5, 0.99))
        self.judge(f"C1: of {total:.0f} requests to the ledger half took at most {half} s, 99 of 100", most, PLACED)

    def round_trips(self):
        """Upper bound in seconds → requests to the ledger that took no longer, of all nodes."""
        sums, name = {}, "koine_ledger_round_trip_seconds_bucket"
        for node in self.cluster.nodes.values():
            for metric, count in node.metrics().items():
                if metric.startswith(name):
                    bound = float(metric.split('"')[1])
                    sums[bound] = sums.get(bound, 0) + count
        return sums

    # MARK: Faults of nodes

    def home_is_killed(self):
        times = []
        for _ in range(self.kills):
            home, start = self.cluster.home(), time.monotonic()
            home.kill()
            times.append(self.call.recovers(start, "after the home was killed", 30))
            home.start()
            if self.cluster.home() is home:
                fail("a home that was killed is still the home")
            # After a shorter stay a client takes the next redirect for one of those with which servers point at each other, and pauses.
            time.sleep(STEADY_STAY)
        self.talk("after the kills")
        times.sort()
        shown = ", ".join(f"{took:.2f}" for took in times)
        if len(times) > 1:
            self.say(f"home killed {len(times)} times: {shown} s")
        self.judge("C3: home killed, all see and hear all, 95 of 100", times[math.ceil(0.95 * len(times)) - 1], KILLED)

    def cable_is_pulled(self):
        home, start = self.cluster.home(), time.monotonic()
        self.network.pull(home.name)
        took = self.call.recovers(start, "after the home's cable was pulled", 40)
        if self.cluster.home() is home:
            fail("a node without its cable is still the home")
        self.network.plug(home.name)
        ready = home.becomes_ready(15)
        self.steps_down(home, time.monotonic(), 10)
        self.talk("after the cable")
        self.call.goes_on("after the cable was plugged in again", 20)
        self.judge("C4: home's cable pulled, all see and hear all", took, PULLED)
        self.say(f"    the node was ready {ready:.1f} s after its cable was plugged in")

    def steps_down(self, node, since, seconds):
        """Returns when a former home has no room any more."""
        def has_none():
            try:
                return node.metrics()["koine_rooms_home"] == 0
            except OSError as reason:
                return str(reason)

        until(f"{node.name} is no home any more", has_none, seconds, 0.02)
        return time.monotonic() - since

    def home_is_frozen(self):
        home, start = self.cluster.home(), time.monotonic()
        home.freeze()
        woken = []

        def wake():
            home.thaw()
            woken.append(time.monotonic())

        alarm = threading.Timer(10, wake)
        alarm.start()
        took = self.call.recovers(start, "while the home is frozen", 40)
        alarm.join()
        stepped = self.steps_down(home, woken[0], 20)
        if self.cluster.home() is home:
            fail("a frozen node is still the home")
        self.talk("after the thaw")
        self.call.goes_on("after the home woke up", 20)
        self.say(f"home frozen: all see and hear all after {took:.2f} s")
        self.judge("C5: frozen for 10 s and woken, the node steps down", stepped, STEPPED_DOWN)

    # MARK: Cut connections

    def nodes_are_cut(self):
        home, marks = self.cluster.home(), self.call.marks()
        other = self.cluster.others(home)[0]
        self.network.cut(home.name, other.name)
        time.sleep(8)
        self.call.goes_on("while two nodes are cut off from each other", 20)
        self.network.mend(home.name, other.name)
        self.nobody_was_told(marks, "two nodes were cut off from each other")
        if self.cluster.home() is not home:
            fail("the room has moved while two nodes were cut off from each other")
        self.say("two nodes cut off from each other for 8 s: calls went on, and no participant was told of it")

    def home_is_cut_from_some(self):
        home, marks = self.cluster.home(), self.call.marks()
        self.network.cut(home.name, "west")
        time.sleep(15)
        self.call.goes_on("among those that reach the home", 20, among=list(EAST))
        if self.cluster.home() is not home:
            fail("the room has moved while its home sends heartbeats")
        if told := set(self.lost(marks)) & set(EAST):
            fail(f"{', '.join(sorted(told))} reached the home and took the room for lost")
        start = time.monotonic()
        self.network.mend(home.name, "west")
        took = self.call.recovers(start, "after the connection was mended", 40)
        self.talk("after the cut")
        self.judge("home cut off from a Chromium and three apps for 15 s, then mended: all see and hear all", took, PULLED)

    # MARK: Faults of Redis

    def nodes_serve_again(self, since, after):
        """Returns the seconds from `since` until all nodes are ready and messages are acknowledged."""
        ready = []
        for node in self.cluster.nodes.values():
            node.becomes_ready(20)
            ready.append(time.monotonic() - since)
        return max(ready), self.acknowledges(since, after, 30)

    def packets_lost(self):
        """Of all apps so far, in the paths to them."""
        apps = [app for app in self.call.apps.values() if isinstance(app, App)]
        self.call.figures([app.name for app in apps])
        return sum(app.packets_lost for app in apps)

    def stores_what_waited(self, before):
        until("messages that waited for the ledger are acknowledged", lambda: not any(
            sender.waiting(before) for sender in self.senders) or [sender.waiting(before)[:5] for sender in self.senders], 30, 0.2)

    def redis_is_killed(self, seconds=60):
        marks, lost = self.call.marks(), self.packets_lost()
        start = time.monotonic()
        self.redis.kill()
        time.sleep(seconds - 10)
        self.call.goes_on("while Redis is away", 9)
        time.sleep(max(0, start + seconds - time.monotonic()))
        lost, back = self.packets_lost() - lost, time.monotonic()
        self.redis.start()
        ready, acknowledged = self.nodes_serve_again(back, "after Redis was started again")
        self.stores_what_waited(back)
        self.nobody_was_told(marks, "only Redis was away")
        self.talk("after Redis")
        self.say(
            f"C6: Redis killed for {seconds} s: calls went on, {lost} packets were lost, no app was told of it, all messages are "
            "acknowledged")
        self.judge("C7: nodes serve again after Redis is back", ready, SERVING_AGAIN)
        self.say(f"    the next message was acknowledged {acknowledged:.2f} s after Redis was started")

    def redis_is_away_for_long(self):
        self.redis_is_killed(7 * 60)

    def log_length(self):
        return int(self.redis.ask("XLEN", f"k:log:{self.room}"))

    def copy_data(self, name):
        """Copies Redis' append-only file. Returns how many messages it has."""
        shutil.copytree(self.disk / "appendonlydir", self.folder / name)
        return self.log_length()

    def restart_with(self, copy):
        """Returns when nodes serve again, and when a message is acknowledged, in seconds after the start with the copy."""
        self.redis.kill()
        shutil.rmtree(self.disk / "appendonlydir")
        shutil.copytree(self.folder / copy, self.disk / "appendonlydir")
        start = time.monotonic()
        self.redis.start()
        return start, *self.nodes_serve_again(start, "after Redis has started with old data")

    def redis_starts_with_old_data(self):
        """The homes of the rooms are those of the data: all that Redis lacks comes back from them."""
        marks, copied = self.call.marks(), self.copy_data("copy")
        time.sleep(15)
        before = self.history("before Redis starts with old data")
        start, ready, acknowledged = self.restart_with("copy")
        self.call.goes_on("after Redis has started with old data", 20)
        self.stores_what_waited(start)
        self.talk("after the old data")
        self.nobody_was_told(marks, "Redis started with old data")
        until("the log is complete again", lambda: (length := self.log_length()) >= len(before) or length, 20, 0.2)
        self.judge(f"Redis started with data that lacked {len(before) - copied} messages: nodes serve again", ready, SERVING_AGAIN)
        self.say(f"    the next message was acknowledged after {acknowledged:.2f} s, and Redis has all messages again")

    def redis_starts_with_older_data(self):
        """The room has had other homes since. It goes back to the home of the data, without what was acknowledged elsewhere: only
        numbers go on, and all see and hear all."""
        marks, before = self.call.marks(), self.proves_receipts("before Redis starts with older data")
        start, ready, acknowledged = self.restart_with("first copy")
        self.restored = start + 1
        took = self.call.recovers(start, "after Redis has started with older data", 40)
        self.stores_what_waited(start)
        self.talk("after the older data")
        after = self.history("after Redis has started with older data")
        told = ", ".join(self.lost(marks)) or "no participant"
        self.judge("Redis started with data of an earlier home: all see and hear all", took, PULLED)
        self.say(
            f"    nodes were ready after {ready:.2f} s, a message was acknowledged after {acknowledged:.2f} s; took the room for lost: "
            f"{told}; of {len(before)} kept messages {len(before.keys() - after.keys())} were lost with the data")

    def disk_is_full(self):
        marks, start = self.call.marks(), time.monotonic()
        filler = self.disk / "filler"
        try:
            with open(filler, "wb", buffering=0) as file:
                while file.write(b"\0" * 4096):
                    pass
        except OSError:
            pass
        until("Redis refuses to write", lambda: "MISCONF" in (said := self.redis.ask("SET", "k:proof", "1")) or said, 10, 0.1)
        until("the home knows", lambda: self.cluster_is_away(), 10, 0.1)
        time.sleep(max(0, start + 12 - time.monotonic()))
        self.call.goes_on("while the disk of Redis is full", 20)
        filler.unlink()
        back = time.monotonic()
        ready, acknowledged = self.nodes_serve_again(back, "after the disk of Redis has space")
        self.stores_what_waited(back)
        self.nobody_was_told(marks, "the disk of Redis was full")
        self.talk("after the full disk")
        self.judge("disk of Redis full for 12 s, calls went on; nodes serve again after there is space", ready, SERVING_AGAIN)
        self.say(f"    the next message was acknowledged after {acknowledged:.2f} s")

    def cluster_is_away(self):
        ready = [node.name for node in self.cluster.nodes.values() if node.is_ready() is True]
        return not ready or f"{ready} are ready"

    # MARK: Operation

    def begin_sentinels(self):
        """A replica, and three sentinels."""
        host, password = self.network.address("r1"), self.redis.password
        (self.folder / "r2").mkdir()
        self.replica = Redis(
            self.folder / "r2", self.network.address("r2"), REDIS_PORT, password, self.network.prefix("r2"),
            ["--replicaof", host, str(REDIS_PORT)])
        self.sentinels = [
            Sentinel(f"s{number}", self.network.address(place), host, password, self.folder, self.network.prefix(place))
            for number, place in enumerate(["r1", "r2", "r3"], 1)]
        for sentinel in self.sentinels:
            until(f"{sentinel.name} knows the others", lambda: (
                (said := sentinel.ask("sentinel", "ckquorum", MASTER)).startswith("OK 3") or said), 20)
            until(f"{sentinel.name} knows the replica", lambda: bool(sentinel.ask("sentinel", "replicas", MASTER)), 20)
        addresses = ",".join(f"{sentinel.host}:{SENTINEL_PORT}" for sentinel in self.sentinels)
        return f"redis+sentinel://:{password}@{addresses}/{MASTER}"

    def nodes_are_restarted(self):
        """One after the other, as for an update. They find Redis by its sentinels from then on."""
        ledger = self.begin_sentinels()
        marks, times = self.call.marks(), []
        for name, node in self.cluster.nodes.items():
            start = time.monotonic()
            node.end()
            times.append(self.call.recovers(start, f"after {name} has ended", 30))
            node.ledger = ledger
            node.start()
        self.cluster.ledger = ledger
        self.talk("after the restart")
        shown = ", ".join(f"{took:.2f}" for took in times)
        told = ", ".join(self.lost(marks)) or "no participant"
        self.say(f"nodes restarted one after the other: all see and hear all {shown} s after SIGTERM; took the room for lost: {told}")

    def sentinel_fails_over(self):
        if not self.sentinels:
            self.nodes_are_restarted()
        marks, start = self.call.marks(), time.monotonic()
        self.redis.kill()
        took = self.acknowledges(start, "after Redis' master was killed", 60)
        self.stores_what_waited(start)
        self.call.goes_on("after the failover", 20)
        self.nobody_was_told(marks, "sentinels replaced the master")
        self.redis.start()
        until("the former master is a replica", lambda: (role := self.redis.ask("role").split()[0]) == "slave" or role, 30)
        self.talk("after the failover")
        self.judge("C8: Sentinel failover, messages are acknowledged again", took, FAILED_OVER)

    # MARK: What was acknowledged

    def history(self, after):
        """What the room keeps for a participant that joins now: id → number."""
        shown = subprocess.run(
            [*self.network.prefix("east"), *Sender.PROGRAM, "--history", self.room, "Late", self.cluster.addresses(1)], capture_output=True,
            text=True, timeout=120)
        kept = [(line["kept"], line["order"]) for line in map(json.loads, shown.stdout.splitlines()) if "kept" in line]
        if shown.returncode or not kept:
            fail(f"there is no history {after}:\n{shown.stdout[-1000:]}{shown.stderr[-2000:]}")
        if len(dict(kept)) < len(kept):
            fail(f"the history has messages twice {after}: {[one for one in kept if kept.count(one) > 1][:5]}")
        return dict(kept)

    def proves_receipts(self, when):
        """No number is of two messages, and the history has what was acknowledged. Since Redis has started with older data, only
        what was acknowledged after that. Returns the history."""
        receipts = {sender: sender.receipts() for sender in self.senders}
        history, owners, count, late = self.history(when), {}, 0, 0
        for sender, lines in receipts.items():
            for line in lines:
                name, order = line["receipt"], line["order"]
                count, late = count + 1, late + line["isLate"]
                if owners.setdefault(order, name) != name:
                    fail(f"{name} and {owners[order]} have receipts of number {order}")
                if line["at"] > self.restored and history.get(name) != order:
                    fail(f"{name} was acknowledged as number {order}, and the history has it as {history.get(name)}: {line}")
            self.proves_order(sender)
        self.say(
            f"{count} receipts of {len(owners)} numbers {when}, {late} of them on connections that were given up: no number is of two "
            "messages, and all are in the history once, with the number of their receipts")
        return history

    def proves_order(self, sender):
        """Numbers rise at each receiver."""
        last = 0
        for line in sender.read():
            if "joined" in line and line["isNew"] and not line["continues"]:
                last = 0
            if "data" in line:
                if line["order"] <= last:
                    fail(f"{sender.name} has got number {line['order']} after {last}")
                last = line["order"]

    def end(self):
        self.proves_receipts("at the end")
        for sender in self.senders:
            sender.close()
        self.call.has_heard(self.call.heard, "to the end")  # nothing came a second time
        for app in self.call.apps.values():
            app.leave()
        for node in self.cluster.nodes.values():
            node.end()
        subprocess.run(["umount", "--lazy", self.disk], check=True)
        shutil.rmtree(self.folder)

    def run(self, faults):
        self.begin()
        self.copy_data("first copy")
        for fault in faults:
            getattr(self, fault)()
        self.end()
        if self.missed:
            fail(f"targets were missed: {'; '.join(self.missed)}")
        self.say("all targets were met, and all processes ended in order")


# By their names in --faults, in their order.
FAULTS = {
    "joins": "joins_and_round_trips", "kill": "home_is_killed", "cable": "cable_is_pulled", "pair": "nodes_are_cut",
    "west": "home_is_cut_from_some", "freeze": "home_is_frozen", "redis": "redis_is_killed",
    "away": "redis_is_away_for_long", "old": "redis_starts_with_old_data",
    "older": "redis_starts_with_older_data", "disk": "disk_is_full", "restart": "nodes_are_restarted", "sentinel": "sentinel_fails_over",
}
