import CKoineBenchmark
import KoineBase
import KoineRouter
import KoineSockets
import KoineTransport

/// A publisher or a receiver of `ForwardBenchmark`.
struct ForwardClient {
  let peer: Peer
  let connection: ClientID
  let address: TransportAddress
  let socket: Int32
  /// Of a publisher.
  var camera: SenderID?
  var frames = 0
}

/// The buffers with which one worker acts as the clients.
final class ForwardReader: @unchecked Sendable {  // one thread at a time, as `ForkJoinPool` says
  private var inbox = DatagramRing(count: 16_384)
  private let buffer = Bytes(capacity: 1_600)
  var said: [(client: Int, datagram: Bytes)] = []

  func run(_ client: ForwardClient, _ index: Int, from router: TransportAddress, at now: Tick) {
    if let deadline = client.peer.deadline, deadline <= now { client.peer.handleTimeout(at: now) }
    while true {
      let count = bare_receive(client.socket, buffer.base, buffer.capacity)
      guard count > 0 else { break }
      client.peer.handle(copy(count), from: router, to: client.address, at: now)
    }
    while let transmit = client.peer.poll(into: buffer.writable, at: now) { said.append((index, copy(transmit.count))) }
    while client.peer.pollEvent() != nil {}
  }

  private func copy(_ count: Int) -> Bytes {
    let datagram = inbox.take()
    datagram.append(UnsafeRawBufferPointer(start: buffer.base, count: count))
    return datagram
  }
}

/// Where one hand writes and sends.
final class BatchSender: @unchecked Sendable {  // one thread at a time, as `ForkJoinPool` says
  private let out = Bytes(capacity: 1_600)
  private let sender: UDPSender
  /// Of pictures.
  var packets = 0

  init(_ sender: UDPSender) { self.sender = sender }

  func send(_ departure: PeerOutput) {
    while let transmit = departure.poll(into: out.writable) {
      sender.send(
        UnsafeRawBufferPointer(start: out.base, count: transmit.count), to: transmit.destination.socketAddress)
      if transmit.count > 1_000 { packets += 1 }
    }
    sender.flush()
  }
}
