package import KoineBase
import KoineRTP

// RTCP: reports once a second, feedback when there is reason for it.

extension Peer {
  private static let reportInterval = Duration.seconds(1)

  // MARK: In

  func handleControl(_ bytes: UnsafeRawBufferPointer, at now: Tick) {
    do {
      try RTCP.forEach(in: bytes) { handle($0, at: now) }
    } catch {
      dropped += 1
    }
  }

  private func handle(_ packet: RTCP, at now: Tick) {
    switch packet {
    case .senderReport(let report):
      if let route = routes[report.sender], !route.isRetransmission {
        receivers[route.stream].senderReported(report, at: now)
        if receivers[route.stream].mode == .packets {
          events.append(.senderReport(receivers[route.stream].receiver, layer: receivers[route.stream].layer, report))
        }
      }
      take(report.blocks, at: now)
    case .receiverReport(_, let blocks): take(blocks, at: now)
    case .nack(let nack): answer(nack, at: now)
    case .pictureLoss(_, let media): keyFrameRequested(media)
    case .fullIntraRequest(_, let entries): for entry in entries { keyFrameRequested(entry.media) }
    case .transportFeedback(let feedback):
      estimator.handle(feedback, at: now)
      tellEstimate()
    case .estimate, .sourceDescription, .goodbye, .unknown: break  // streams come and go by signalling
    }
  }

  private func take(_ blocks: [ReportBlock], at now: Tick) {
    for block in blocks {
      guard let (sender, layer) = sendersBySSRC[block.source] else { continue }
      guard let sample = senders[sender]?.streams[layer].reported(block, at: now) else { continue }
      roundTrip = roundTrip.map { ($0 * 7 + sample) / 8 } ?? sample
    }
  }

  private func answer(_ nack: GenericNACK, at now: Tick) {
    guard let (id, layer) = sendersBySSRC[nack.media], senders[id]?.parameters.rtxPayloadType != nil else { return }
    let pause = min(max((roundTrip ?? .milliseconds(20)) / 2, .milliseconds(5)), .milliseconds(100))
    senders[id]?.streams[layer].wanted(nack.sequences, pause: pause, at: now) { sequence, size in
      pacer.enqueue(
        .init(sender: id, layer: layer, sequence: sequence, size: size, queuedAt: now), .retransmission)
    }
  }

  private func keyFrameRequested(_ media: UInt32) {
    guard let (id, layer) = sendersBySSRC[media] else { return }
    senders[id]?.keyFrameRequests += 1
    events.append(.keyFrameRequested(SenderID(value: id), layer: layer))
  }

  private func tellEstimate() {
    let bitrate = estimator.bitrate
    guard abs(bitrate - lastEstimate) > lastEstimate / 50 || lastEstimate == 0 else { return }
    lastEstimate = bitrate
    pacer.setTarget(bitrate)
    events.append(.estimate(bitrate: bitrate, loss: estimator.loss))
  }

  // MARK: Time

  func handleMediaTimeout(at now: Tick) {
    guard srtp != nil else { return }
    if let due = nextReport, now >= due { addReports(at: now) }
    collectFeedback(at: now)
  }

  /// NACKs, key frame requests and arrival times that are due.
  private func collectFeedback(at now: Tick) {
    for index in receivers.indices {
      wantedSequences.removeAll(keepingCapacity: true)
      receivers[index].collectNacks(into: &wantedSequences, roundTrip: roundTrip ?? .milliseconds(50), at: now)
      let ssrc = receivers[index].encoding.ssrc
      if !wantedSequences.isEmpty {
        pendingControl.append(.nack(GenericNACK(sender: localSSRC, media: ssrc, sequences: wantedSequences)))
      }
      if receivers[index].takeKeyFrameRequest(at: now) {
        pendingControl.append(.pictureLoss(sender: localSSRC, media: ssrc))
      }
    }
    if let feedback = arrivals.feedback(sender: localSSRC, media: receivers.first?.encoding.ssrc ?? 0, at: now) {
      pendingControl.append(.transportFeedback(feedback))
    }
  }

  private func addReports(at now: Tick) {
    var blocks = receivers.indices.compactMap { index in
      receivers[index].statistics.packets > 0 ? receivers[index].block(at: now) : nil
    }
    for id in senders.keys.sorted() {
      guard let streams = senders[id]?.streams.indices else { continue }
      for layer in streams {
        guard var report = senders[id]?.streams[layer].report(at: now) else { continue }
        report.blocks = Array(blocks.prefix(31))
        blocks.removeFirst(report.blocks.count)
        pendingControl.append(.senderReport(report))
      }
    }
    if !blocks.isEmpty { pendingControl.append(.receiverReport(sender: localSSRC, Array(blocks.prefix(31)))) }
    nextReport = now + (roundTrip == nil ? .milliseconds(200) : Self.reportInterval)
  }

  var mediaDeadline: Tick? {
    guard srtp != nil else { return nil }
    var soonest = nextReport.sooner(arrivals.deadline).sooner(pacer.deadline)
    for stream in receivers {
      soonest = soonest.sooner(stream.parameters.rtxPayloadType == nil ? nil : stream.nack.deadline)
        .sooner(stream.keyFrameDeadline)
    }
    return soonest
  }

  // MARK: Out

  func pollControl(into out: UnsafeMutableRawBufferPointer, _ srtp: SRTPSession, at now: Tick) -> Int? {
    guard !pendingControl.isEmpty else { return nil }
    var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: out[..<min(out.count, 1_150)]))
    var taken = 0
    for packet in pendingControl {
      let before = writer
      packet.write(to: &writer)
      if writer.overflowed {
        writer = before
        if taken == 0 { taken = 1 }  // larger than a datagram: it cannot be sent at all
        break
      }
      taken += 1
    }
    pendingControl.removeFirst(taken)
    guard writer.count > 0 else { return nil }
    trace(UnsafeRawBufferPointer(rebasing: out[..<writer.count]), UnsafeRawBufferPointer(start: nil, count: 0))
    return try? srtp.protectRTCP(out, count: writer.count)
  }

  // MARK: Figures

  package func statistics(at now: Tick) -> PeerStatistics {
    var result = PeerStatistics()
    for (id, sender) in senders {
      var figures = PeerStatistics.Outgoing()
      figures.frames = sender.frames
      figures.keyFrameRequests = sender.keyFrameRequests
      for stream in sender.streams {
        figures.packets += stream.packets
        figures.bytes += stream.octets
        figures.retransmitted += stream.retransmitted
        figures.nacksReceived += stream.nacksReceived
        figures.reportedLoss = max(figures.reportedLoss, stream.reportedLoss)
      }
      result.outgoing[SenderID(value: id)] = figures
    }
    for stream in receivers {
      var figures = result.incoming[stream.receiver] ?? .init()
      figures.packets += stream.statistics.packets
      figures.bytes += stream.statistics.bytes
      figures.frames += stream.frames
      figures.lost += stream.statistics.lost
      figures.recovered += stream.nack.recovered
      figures.nacksSent += stream.nack.requested
      figures.keyFrameRequests += stream.keyFrameRequests
      figures.jitter = max(figures.jitter, stream.statistics.jitterMilliseconds)
      result.incoming[stream.receiver] = figures
    }
    result.roundTrip = roundTrip
    result.availableBitrate = estimator.bitrate
    result.dropped = dropped
    return result
  }
}
