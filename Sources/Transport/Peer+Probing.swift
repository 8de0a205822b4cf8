package import KoineBase
import KoineRTP

// Clusters of packets that find out what the path carries beyond what is being sent.

extension Peer {
  private static let paddingLength = 255

  /// What the path out carries, in bit/s. What should be sent now, as `PeerEvent.estimate` tells, may be less for a moment.
  package var capacity: Int { estimator.capacity }

  /// The loss of packets to the other end, 0...1, smoothed over about a second of a stream.
  package var outgoingLoss: Double { estimator.loss }

  /// No feedback comes: the path may be gone, and its capacity is not known.
  package var isSilent: Bool { estimator.isSilent }

  /// There would be so much to send, in bit/s. Said again and again, as long as it is so: where nothing goes out, because the
  /// path is too narrow for it, no report comes that would let the path be measured anew.
  /// - Returns: whether there is something to be polled.
  package func want(_ bitrate: Int, at now: Tick) -> Bool {
    wantedBitrate = bitrate
    guard isConnected, probe == nil, estimator.isQuiet(at: now) else { return false }
    considerProbe(at: now)
    return probe != nil
  }

  /// Begins a cluster if there is more to send than the path is known to carry.
  func considerProbe(at now: Tick) {
    guard probe == nil, wantedBitrate > 0, paddingStream != nil else { return }
    probe = estimator.planProbe(wanted: wantedBitrate, at: now)
  }

  /// The next packet of the cluster, once it is due: what waits to be sent, else padding.
  func pollProbe(into out: UnsafeMutableRawBufferPointer, _ srtp: SRTPSession, at now: Tick) -> Int? {
    guard let cluster = probe else { return nil }
    // Looked at before `due`: media that leave faster than the cluster's own rate move it on and on.
    if cluster.isOver(at: now) {
      probe = nil
      estimator.probeSent()
      return nil
    }
    guard now >= cluster.due else { return nil }
    while let (item, isRetransmission) = pacer.next(isFree: true, at: now) {
      guard let sender = senders[item.sender] else { continue }
      if let count = write(item, isRetransmission: isRetransmission, of: sender, into: out, srtp, at: now) {
        return count
      }
    }
    return writePadding(into: out, srtp, at: now)
  }

  /// Padding goes where retransmissions go (RFC 4588): receivers pass nothing of it on.
  /// Of several the oldest, so that the same calls give the same packets.
  private var paddingStream: (sender: Sender, layer: Int)? {
    var oldest: (id: Int, sender: Sender, layer: Int)?
    for (id, sender) in senders where !sender.parameters.codec.isAudio && id < oldest?.id ?? .max {
      if let layer = sender.streams.lastIndex(where: { $0.hasRetransmissions && $0.packets > 0 }) {
        oldest = (id, sender, layer)
      }
    }
    return oldest.map { ($0.sender, $0.layer) }
  }

  private func writePadding(into out: UnsafeMutableRawBufferPointer, _ srtp: SRTPSession, at now: Tick) -> Int? {
    guard let (sender, layer) = paddingStream, let header = sender.streams[layer].paddingHeader() else {
      probe = nil
      return nil
    }
    var extensions = HeaderExtensions()
    sender.streams[layer].name(&extensions, isRetransmission: true)
    extensions.absoluteSendTime = LocalClock.absoluteSendTime(at: now)
    extensions.transportSequence = number(Self.paddingLength, at: now)
    guard let headerLength = header.write(into: out, extensions: extensions, map: configuration.extensions) else {
      probe = nil
      return nil
    }
    out[0] |= 0x20  // padded: its last byte tells how much
    let payload = UnsafeMutableRawBufferPointer(rebasing: scratch.writable[..<Self.paddingLength])
    for index in payload.indices { payload[index] = 0 }
    payload[Self.paddingLength - 1] = UInt8(Self.paddingLength)
    let headerBytes = UnsafeRawBufferPointer(rebasing: out[..<headerLength])
    trace(headerBytes, UnsafeRawBufferPointer(payload))
    return try? srtp.protectRTP(header: headerBytes, payload: UnsafeRawBufferPointer(payload), into: out)
  }

  /// A transport-wide number for a packet that leaves now.
  func number(_ payloadSize: Int, at now: Tick) -> UInt16 {
    let size = payloadSize + Self.packetOverhead
    probe?.sent(size)
    return estimator.number(forPacketOf: size, probe: probe?.id ?? 0, at: now)
  }

  /// Header, extensions and tag, with IP and UDP.
  private static let packetOverhead = 80
}
