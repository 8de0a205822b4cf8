"""A TCP relay on loopback whose connections can be cut, for what happens when a client's signalling breaks."""

import socket
import threading


class Relay:
    def __init__(self, port):
        self.to = port
        self.lock = threading.Lock()
        self.pairs = []
        self.is_cut = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Ends all connections, and takes none until `mend`."""
        with self.lock:
            self.is_cut = True
            for pair in self.pairs:
                self._end(pair)
            self.pairs = []

    def mend(self):
        with self.lock:
            self.is_cut = False

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            with self.lock:
                if self.is_cut:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self.to))
                except OSError:  # the server is down
                    near.close()
                    continue
                self.pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        self._end((source, sink))

    @staticmethod
    def _end(pair):
        for one in pair:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
