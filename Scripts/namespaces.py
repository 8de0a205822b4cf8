"""A network of namespaces on a switch, for scripts that pull cables and cut connections between machines. It needs root.

Each place is a network namespace with one interface, `wire`, whose other end is a port of a bridge in a namespace of its own. So nothing
of the machine's own network changes, and several runs do not meet: the names hold the process id. The script has a mount namespace of its
own, too, which ends with its last process.
"""

import atexit
import ctypes
import os
import pathlib
import signal
import subprocess
import sys

NEW_MOUNTS, NEW_NETWORK = 0x00020000, 0x40000000  # of sched.h
FOLDER = pathlib.Path("/run/netns")
# Nothing has this hardware address.
NOBODY = "02:00:00:00:00:01"
libc = ctypes.CDLL(None, use_errno=True)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def separate_mounts():
    """What is mounted from here on is seen by this process and its children only."""
    if libc.unshare(NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


class Network:
    """Places with addresses 10.78.0.x, all of which reach each other until a cable is pulled or a pair is cut."""

    def __init__(self, title, places):
        self.title, self.hosts = title, places
        self.remove_leftovers()
        separate_mounts()
        atexit.register(self.close)
        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        self.switch = self.name("switch")
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge", "forward_delay", "0")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for place in places:
            self.add(place)

    def name(self, place):
        return f"{self.title}-{os.getpid()}-{place}"

    def add(self, place):
        space = self.name(place)
        ip("netns", "add", space)
        ip("link", "add", "name", "wire", "netns", space, "type", "veth", "peer", "name", place, "netns", self.switch)
        ip("-n", space, "link", "set", "lo", "up")
        ip("-n", space, "address", "add", f"{self.address(place)}/24", "dev", "wire")
        ip("-n", space, "link", "set", "wire", "up")
        ip("-n", self.switch, "link", "set", place, "master", "bridge", "up")

    def address(self, place):
        return f"10.78.0.{self.hosts[place]}"

    def prefix(self, place):
        """Of a command that runs there. It is killed when this process ends, however that is."""
        return ["ip", "netns", "exec", self.name(place), "setpriv", "--pdeathsig", "KILL"]

    def enter(self, place):
        """From here on this process connects from there, and so do children without a prefix."""
        with open(FOLDER / self.name(place)) as space:
            if libc.setns(space.fileno(), NEW_NETWORK):
                raise OSError(ctypes.get_errno(), "setns")

    def pull(self, place):
        """Pulls the place's cable at the switch: the place's own interface stays up, without a carrier."""
        ip("-n", self.switch, "link", "set", place, "down")

    def plug(self, place):
        ip("-n", self.switch, "link", "set", place, "up")

    def cut(self, one, other):
        """What the two send each other is lost, in both directions and without an error."""
        for here, there in (one, other), (other, one):
            ip("-n", self.name(here), "neighbour", "replace", self.address(there), "lladdr", NOBODY, "nud", "permanent", "dev", "wire")

    def mend(self, one, other):
        for here, there in (one, other), (other, one):
            ip("-n", self.name(here), "neighbour", "delete", self.address(there), "dev", "wire")

    def close(self):
        for place in [*self.hosts, "switch"]:
            subprocess.run(["ip", "netns", "delete", self.name(place)], stderr=subprocess.DEVNULL)

    def remove_leftovers(self):
        """Of runs that were killed: their namespaces have ended with their processes, their names have not."""
        for name in FOLDER.glob(f"{self.title}-*") if FOLDER.exists() else []:
            number = name.name.removeprefix(f"{self.title}-").split("-")[0]
            if number.isdigit() and not pathlib.Path(f"/proc/{number}").exists():
                subprocess.run(["ip", "netns", "delete", name.name], stderr=subprocess.DEVNULL)
