package import KoineBase
import KoineRTP

// RTCP: reports once a second, feedback when there is reason for it.

extension Peer {
  private static let reportInterval = Duration.seconds(1)
  /// Until the first round trip has been measured.
  private static let firstReportInterval = Duration.milliseconds(200)
  private static let blockLimit = 31

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
      take(report, at: now)
      take(report.blocks, at: now)
    case .receiverReport(_, let blocks): take(blocks, at: now)
    case .nack(let nack): answer(nack, at: now)
    case .pictureLoss(_, let media): keyFrameRequested(media)
    case .fullIntraRequest(let sender, let entries): take(entries, from: sender)
    case .transportFeedback(let feedback):
      guard estimator.handle(feedback, at: now) else {
        dropped += 1
        return
      }
      tellEstimate(at: now)
      considerProbe(at: now)
    case .estimate(let estimate):
      estimator.handleRemoteEstimate(estimate.bitrate, at: now)
      tellEstimate(at: now)
    case .sourceDescription, .goodbye, .unknown: break  // streams come and go by signalling
    }
  }

  private func take(_ report: SenderReport, at now: Tick) {
    guard let route = routes[report.sender], !route.isRetransmission else { return }
    remoteClock.reported(ntp: report.ntp, roundTrip: roundTrip, at: now)
    let isFirst = !receivers[route.stream].statistics.knowsSender
    receivers[route.stream].senderReported(report, at: now)
    if isFirst { hastenReport(to: now + .milliseconds(20)) }  // the answer tells the other end its round trip time
    if receivers[route.stream].mode == .packets {
      events.append(.senderReport(receivers[route.stream].receiver, layer: receivers[route.stream].layer, report))
    }
  }

  /// RFC 5104, 4.3.1.2: the same number again is the same request again.
  private func take(_ entries: [FullIntraEntry], from sender: UInt32) {
    for entry in entries where sendersBySSRC[entry.media] != nil && lastFullIntra[entry.media] != entry.number {
      lastFullIntra[entry.media] = entry.number
      keyFrameRequested(entry.media)
    }
  }

  private func take(_ blocks: [ReportBlock], at now: Tick) {
    for block in blocks {
      guard let (sender, layer) = sendersBySSRC[block.source] else { continue }
      estimator.heard(at: now)
      guard let sample = senders[sender]?.streams[layer].reported(block, at: now) else { continue }
      roundTrip = roundTrip.map { ($0 * 7 + sample) / 8 } ?? sample
    }
  }

  private func answer(_ nack: GenericNACK, at now: Tick) {
    guard let (id, layer) = sendersBySSRC[nack.media], let sender = senders[id],
      sender.streams[layer].hasRetransmissions
    else { return }
    let pause = min(max((roundTrip ?? .milliseconds(20)) / 2, .milliseconds(5)), .milliseconds(100))
    sender.streams[layer].wanted(nack.sequences, pause: pause, at: now) { sequence, size, isRepeated in
      retransmit(
        .init(sender: id, layer: layer, sequence: sequence, size: size, queuedAt: now), inTwo: isRepeated || isLossy)
    }
  }

  /// What was lost again, and where much is lost everything, goes twice as long as the budget keeps up: waiting for the
  /// next request costs a round trip.
  private func retransmit(_ item: Pacer.Item, inTwo: Bool) {
    pacer.enqueue(item, .retransmission)
    if inTwo, pacer.hasRoomForCopies { pacer.enqueue(item, .retransmission) }
  }

  /// Whether the way out loses so much that answers should not rely on arriving.
  var isLossy: Bool { estimator.loss >= NackGenerator.lossyFrom && !estimator.isDraining }

  private func keyFrameRequested(_ media: UInt32) {
    guard let (id, layer) = sendersBySSRC[media], let sender = senders[id], !sender.parameters.codec.isAudio else {
      return
    }
    sender.keyFrameRequests += 1
    events.append(.keyFrameRequested(SenderID(value: id), layer: layer))
  }

  /// What retransmissions take is not there for frames.
  private func tellEstimate(at now: Tick) {
    let bitrate = estimator.bitrate
    let rest = max(bitrate - retransmitting.bitrate(at: now), bitrate / 2)
    let capacity = estimator.capacity
    guard
      abs(rest - lastEstimate) > lastEstimate / 50 || abs(capacity - lastCapacity) > lastCapacity / 50
        || lastEstimate == 0
    else { return }
    (lastEstimate, lastCapacity) = (rest, capacity)
    pacer.setTarget(bitrate, isDraining: estimator.isDraining)
    events.append(.estimate(bitrate: rest, loss: estimator.loss))
  }

  // MARK: Time

  func handleMediaTimeout(at now: Tick) {
    guard isOpen else { return }
    if let due = nextReport, now >= due {
      addReports(at: now)
      if estimator.checkSilence(at: now) { tellEstimate(at: now) }
    }
    if activity.handleTimeout(at: now) { events.append(.mediaHold(activity.hold)) }
    collectFeedback(at: now)
    while let feedback = arrivals.feedback(sender: localSSRC, media: receivers.first?.encoding.ssrc ?? 0, at: now) {
      pendingControl.append(.transportFeedback(feedback))
    }
  }

  /// Lets the next report go out earlier.
  func hastenReport(to tick: Tick) { if srtp != nil { nextReport = nextReport.sooner(tick) } }

  private func addReports(at now: Tick) {
    var blocks: [ReportBlock] = []
    for index in receivers.indices where receivers[index].statistics.packets > 0 {
      blocks.append(receivers[index].block(at: now))
    }
    var rest = blocks[...]
    var speaker: UInt32?
    for id in senders.keys.sorted() {
      guard let sender = senders[id] else { continue }
      for layer in sender.streams.indices {
        guard var report = sender.streams[layer].report(at: now) else { continue }
        report.blocks = Array(rest.prefix(Self.blockLimit))
        rest = rest.dropFirst(report.blocks.count)
        speaker = speaker ?? report.sender
        pendingControl.append(.senderReport(report))
      }
    }
    while !rest.isEmpty || speaker == nil {
      pendingControl.append(.receiverReport(sender: localSSRC, Array(rest.prefix(Self.blockLimit))))
      rest = rest.dropFirst(Self.blockLimit)
      speaker = speaker ?? localSSRC
    }
    pendingControl.append(
      .sourceDescription([SourceDescription(source: speaker ?? localSSRC, canonicalName: canonicalName)]))
    nextReport = now + (roundTrip == nil ? Self.firstReportInterval : Self.reportInterval)
  }

  var mediaDeadline: Tick? {
    guard isOpen else { return nil }
    return nextReport.sooner(arrivals.deadline).sooner(pacer.deadline).sooner(feedbackDue).sooner(probe?.due)
      .sooner(activity.deadline)
  }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    guard isOpen else { return soonestDeadline(["ICE": ice.deadline, "DTLS": dtls.deadline]) }
    return soonestDeadline([
      "ICE": ice.deadline, "DTLS": dtls.deadline, "RTCP report": nextReport,
      "transport-wide feedback": arrivals.deadline, "pacer": pacer.deadline, "NACK or key frame request": feedbackDue,
      "bandwidth probe": probe?.due, "silence of the other end": activity.deadline,
    ])
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
        if taken == 0 { (taken, dropped) = (1, dropped + 1) }  // larger than a datagram: it cannot be sent at all
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

  package func statistics(at now: Tick) -> MediaStatistics<SenderID, ReceiverID> {
    var result = MediaStatistics<SenderID, ReceiverID>()
    for (id, sender) in senders {
      var figures = OutgoingStatistics()
      figures.frames = sender.frames
      figures.keyFrames = sender.keyFrames
      figures.keyFramesRequested = sender.keyFrameRequests
      for stream in sender.streams {
        figures.packets += stream.packets
        figures.bytes += stream.octets
        figures.retransmitted += stream.retransmitted
        figures.nacks += stream.nacksReceived
        figures.reportedLoss = max(figures.reportedLoss, stream.reportedLoss)
        figures.reportedLost += stream.reportedLost
        figures.reportedJitter = max(figures.reportedJitter, stream.reportedJitter)
        figures.roundTripTime = stream.roundTrip?.inMilliseconds ?? figures.roundTripTime
      }
      result.outgoing[SenderID(value: id)] = figures
    }
    for stream in receivers {
      var figures = result.incoming[stream.receiver] ?? .init()
      figures.packets += stream.statistics.packets
      figures.bytes += stream.statistics.bytes
      figures.frames += stream.frames
      figures.keyFrames += stream.keyFrames
      figures.lost += stream.statistics.lost
      figures.recovered += stream.nack.recovered + stream.takenFromCopies
      figures.nacks += stream.nack.requested
      figures.keyFramesRequested += stream.keyFrameWish.requests
      figures.fractionLost = max(figures.fractionLost, stream.statistics.fractionLost)
      figures.jitter = max(figures.jitter, stream.statistics.jitterMilliseconds)
      result.incoming[stream.receiver] = figures
    }
    result.roundTripTime = roundTrip?.inMilliseconds
    result.availableBitrate = estimator.capacity
    result.dropped = dropped
    return result
  }
}
