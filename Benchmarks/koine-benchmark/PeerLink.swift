import KoineBase
import KoineMediaEngine
import KoineTransport

/// Two connected peers in one process: frames go into one and come out of the other, through packets, SRTP, pacing, reports
/// and acknowledgements. What a socket would carry goes from memory to memory.
///
/// Lives on one lane, of a real or a virtual clock. `@unchecked Sendable`: everything is touched on that lane only.
final class PeerLink: FrameOutput, @unchecked Sendable {
  private let lane: Lane
  private let sender: Peer
  private let receiver: Peer
  private let here = TransportAddress.loopback(port: 4_000)
  private let there = TransportAddress.loopback(port: 5_000)
  private let out = Bytes(capacity: 1_600)
  private var ring = DatagramRing(count: 4_096)
  private var stream: SenderID?
  private var source: ReceiverID?
  private var deliver: (EncodedFrame) -> Void = { _ in }
  private var alarm: (at: Tick, alarm: Alarm)?
  private let connected = Lock(false)
  private let sentBytes = Lock(0)

  /// - Parameter deliver: gets the frames that came through, on the link's lane.
  init(codec: Codec, scheduler: Scheduler, deliver: @escaping @Sendable (EncodedFrame) -> Void) throws {
    lane = scheduler.lane("network")
    let certificate = try Certificate.shared()
    let now = scheduler.now
    sender = try Peer(
      configuration: PeerConfiguration(role: .client, certificate: certificate), random: SeededRandom(seed: 1), now: now
    )
    receiver = try Peer(
      configuration: PeerConfiguration(role: .server, certificate: certificate), random: SeededRandom(seed: 2), now: now
    )
    sender.addLocalAddress(here)
    receiver.addLocalAddress(there)
    let parameters = StreamParameters(
      mid: "0", codec: codec, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 11, rtxSSRC: 12)])
    stream = sender.addSender(parameters)
    source = receiver.addReceiver(parameters, mode: .frames)
    self.deliver = deliver
    lane.post { [self] in
      receiver.setRemote(sender.localDescription, at: lane.scheduler.now)
      sender.setRemote(receiver.localDescription, at: lane.scheduler.now)
      settle()
    }
  }

  var isConnected: Bool { connected.withLock { $0 } }
  /// Of coded frames taken in.
  var bytes: Int { sentBytes.withLock { $0 } }

  /// Any thread.
  func send(_ frame: EncodedFrame) {
    sentBytes.withLock { $0 += frame.data.count }
    lane.post { [self] in
      guard let stream else { return }
      sender.send(frame, on: stream, at: lane.scheduler.now)
      settle()
    }
  }

  func requestKeyFrame() {
    lane.post { [self] in
      guard let source else { return }
      receiver.requestKeyFrame(of: source, at: lane.scheduler.now)
      settle()
    }
  }

  /// Nothing wakes up any more.
  func stop() {
    lane.post { [self] in
      alarm?.alarm.cancel()
      alarm = nil
      stream = nil
    }
  }

  private func settle() {
    let now = lane.scheduler.now
    while carry(from: sender, here, to: receiver, there, at: now)
      || carry(from: receiver, there, to: sender, here, at: now)
    {}
    while let event = receiver.pollEvent() {
      if case .frame(_, let frame) = event { deliver(frame) }
    }
    while let event = sender.pollEvent() {
      if case .connected = event { connected.withLock { $0 = true } }
    }
    arm(sender.deadline.sooner(receiver.deadline))
  }

  private func carry(
    from: Peer, _ source: TransportAddress, to: Peer, _ destination: TransportAddress, at now: Tick
  ) -> Bool {
    var hasMoved = false
    while let transmit = from.poll(into: out.writable, at: now) {
      let datagram = ring.take()
      datagram.append(UnsafeRawBufferPointer(start: out.base, count: transmit.count))
      to.handle(datagram, from: source, to: destination, at: now)
      hasMoved = true
    }
    return hasMoved
  }

  private func arm(_ deadline: Tick?) {
    guard let deadline, stream != nil, alarm.map({ deadline < $0.at }) ?? true else { return }
    alarm?.alarm.cancel()
    let at = max(deadline, lane.scheduler.now)
    alarm = (at, lane.post(at: at) { [weak self] in self?.wake(at) })
  }

  private func wake(_ due: Tick) {
    guard alarm?.at == due else { return }
    alarm = nil
    let now = lane.scheduler.now
    if let deadline = sender.deadline, deadline <= now { sender.handleTimeout(at: now) }
    if let deadline = receiver.deadline, deadline <= now { receiver.handleTimeout(at: now) }
    settle()
  }
}
