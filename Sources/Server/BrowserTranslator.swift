import KoineBase
import KoineJSONCodec
import KoinePeer
import KoineRTP
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTransport

/// Stands between the router and a client that speaks SDP: makes joins, publications and subscriptions of its offers, and
/// answers of what the router says to them. Sans-IO; touched on the network loop only.
///
/// The client offers and the server answers, always: so offers never meet. An offer says of each medium what it is for;
/// what differs from the offer before is published, withdrawn, subscribed to or given up, and once the router has
/// answered all of it, so is the client.
final class BrowserTranslator: MessageTranslator {
  private struct Sent {
    let id: String
    let media: StreamParameters
  }

  private struct Wanted {
    let reference: Track.ID
    var isShared = false
    var stream: SDPNegotiator.OutgoingStream?
  }

  private struct Exchange {
    let number: Int
    let offer: SessionDescription
    /// Requests that the router has not answered, with the medium they are about.
    var open: [Int: String] = [:]
  }

  /// What a medium takes in an answer, in bytes, about: some 30 attributes.
  private static let answeredMediumWeight = 1_536

  private var negotiator: SDPNegotiator
  private var local: PeerDescription?
  private var ownID: Participant.ID?
  private var sent: [String: Sent] = [:]
  private var wanted: [String: Wanted] = [:]
  private var exchange: Exchange?
  /// While one is under way: the browser waits for its answer, unless it is no browser.
  private var waiting: (offer: BrowserOffer, description: SessionDescription)?
  private var nextRequest = 1
  private var nextMediaStream = 1
  /// Whether the router's next refusal is of a registration.
  private var isRegistering = false

  private let nodes: () -> BrowserNodes?

  /// - Parameter nodes: returns the present nodes of the cluster; nil for a server without a cluster.
  init(sessionID: String, nodes: @escaping () -> BrowserNodes? = { nil }) {
    negotiator = SDPNegotiator(sessionID: sessionID)
    self.nodes = nodes
  }

  /// Whether a join has been asked for.
  var hasBegun: Bool { local != nil || waiting != nil }

  /// Whether it is in a room: its offers are answered.
  var hasJoined: Bool { local != nil }

  // MARK: From the client

  func translate(_ message: ClientMessage) -> [TranslatedAction] {
    switch message {
    case .join, .publish, .subscribe, .unpublish, .unsubscribe, .restartMedia:
      return [.send(.failed(request: nil, Failure(.wrongState, "media are described by offers here")))]
    case .register: isRegistering = true
    default: break
    }
    return [.handle(message)]
  }

  /// - Parameter read: the message's offer; nil where it has not been read, because a client in this state may not make it.
  func handle(_ message: BrowserMessage, offer read: Result<SessionDescription, SDPError>?) -> [TranslatedAction] {
    switch message {
    case .other(let message): return translate(message)
    case .join(let join, let offer):
      guard !hasBegun, let read else {
        return [.send(.failed(request: nil, Failure(.wrongState, "already in a room, or before it")))]
      }
      return self.join(join, offer, read)
    case .offer(let offer):
      guard hasJoined, let read else {
        return [.send(.failed(request: nil, Failure(.wrongState, "join first")))]
      }
      switch read {
      case .failure(let error): return [.send(.failed(request: nil, Failure(.malformed, "\(error)")))]
      case .success(let description):
        guard exchange == nil else {
          waiting = (offer, description)
          return []
        }
        return startExchange(offer, description)
      }
    }
  }

  private func join(
    _ join: Join, _ offer: BrowserOffer, _ read: Result<SessionDescription, SDPError>
  ) -> [TranslatedAction] {
    do throws(SDPError) {
      let description = try read.get()
      var join = join
      join.description = try description.peerDescription()
      waiting = (offer, description)
      return [.setCapabilities(MediaCapabilities(description)), .handle(.join(join))]
    } catch {
      return [.send(.refused(Failure(.malformed, "\(error)")))]
    }
  }

  private func startExchange(_ offer: BrowserOffer, _ description: SessionDescription) -> [TranslatedAction] {
    var actions = [TranslatedAction.setCapabilities(MediaCapabilities(description))]
    var exchange = Exchange(number: offer.number, offer: description)
    let media = Dictionary(description.media.compactMap { medium in medium.mid.map { ($0, medium) } }) { first, _ in
      first
    }
    actions += send(offer.send ?? [], media, &exchange)
    actions += receive(offer.receive ?? [], media, &exchange)
    self.exchange = exchange
    return actions + answerIfDone()
  }

  private func send(
    _ tracks: [BrowserOffer.Sent], _ media: [String: MediaDescription], _ exchange: inout Exchange
  ) -> [TranslatedAction] {
    var actions: [TranslatedAction] = []
    let now = Dictionary(tracks.filter { media[$0.mid]?.direction.sends == true }.map { ($0.mid, $0) }) { first, _ in
      first
    }
    // If the offer no longer contains a track's payload type, the track is published again with a payload type of the offer.
    let gone = sent.filter { mid, track in
      now[mid]?.id != track.id || media[mid].map { !track.media.isIn($0) } ?? true
    }
    if !gone.isEmpty { actions.append(.handle(.unpublish(trackIDs: gone.values.map(\.id).sorted()))) }
    for mid in gone.keys { sent[mid] = nil }
    for (mid, track) in now.sorted(by: { $0.key < $1.key }) where sent[mid] == nil {
      guard let medium = media[mid], let offered = medium.parameters(mid: mid, for: track.kind) else {
        actions.append(
          .send(.failed(request: nil, Failure(.badMedia, "medium “\(mid)” has nothing that is known here"))))
        continue
      }
      let number = takeRequest()
      exchange.open[number] = mid
      sent[mid] = Sent(id: track.id, media: offered)
      let published = TrackOffer(id: track.id, kind: track.kind, isMuted: track.muted ?? false, media: offered)
      actions.append(.handle(.publish(Publish(request: number, tracks: [published]))))
    }
    return actions
  }

  private func receive(
    _ tracks: [BrowserOffer.Wanted], _ media: [String: MediaDescription], _ exchange: inout Exchange
  ) -> [TranslatedAction] {
    var actions: [TranslatedAction] = []
    let now = Dictionary(tracks.filter { media[$0.mid]?.direction.receives == true }.map { ($0.mid, $0) }) { first, _ in
      first
    }
    let gone = wanted.filter { now[$0.key]?.reference != $0.value.reference }
    if !gone.isEmpty { actions.append(.handle(.unsubscribe(gone.values.map(\.reference)))) }
    for mid in gone.keys { wanted[mid] = nil }
    for (mid, track) in now.sorted(by: { $0.key < $1.key }) where wanted[mid] == nil {
      let number = takeRequest()
      exchange.open[number] = mid
      wanted[mid] = Wanted(reference: track.reference)
      actions.append(
        .handle(.subscribe(Subscribe(request: number, tracks: [track.reference], paused: track.paused))))
    }
    return actions
  }

  private func takeRequest() -> Int {
    nextRequest += 1
    return nextRequest
  }

  // MARK: From the router

  func translate(_ message: ServerMessage) -> [TranslatedAction] {
    switch message {
    case .joined(let joined):
      (local, ownID) = (joined.description, joined.local.id)
      guard let (offer, description) = waiting else { return [.forward] }
      waiting = nil
      return [.forward] + startExchange(offer, description)
    case .waiting:
      guard let nodes = nodes() else { return [.forward] }
      let weight = nodes.places.reduce(64) { $0 + $1.utf8.count + 4 }
      return [.sendOwn(EncodedMessage(weight: weight) { try JSONCodec.encode(nodes) }), .forward]
    case .registered:
      isRegistering = false
      return [.forward]
    case .refused where isRegistering:
      // It is in its room, or waits before it, as it was.
      isRegistering = false
      return [.forward]
    case .refused, .ended:
      (local, exchange, waiting) = (nil, nil, nil)
      sent.removeAll()
      wanted.removeAll()
      return [.forward]
    case .accepted(let request):
      guard exchange?.open.removeValue(forKey: request) != nil else { return [] }
      return answerIfDone()
    case .subscribed(let answer):
      guard let mid = exchange?.open.removeValue(forKey: answer.request) else { return [] }
      guard let track = answer.tracks.first else { return endSubscriptions([mid]) + answerIfDone() }
      if let media = track.media { receive(track, as: media, in: mid) }
      return answerIfDone()
    case .failed(let request?, let failure):
      guard let mid = exchange?.open.removeValue(forKey: request) else { return [.forward] }
      sent[mid] = nil
      return [.send(.failed(request: nil, failure))] + endSubscriptions([mid]) + answerIfDone()
    case .withdrawn(let participant, let trackIDs):
      wanted = wanted.filter {
        !($0.value.reference.participant == participant && trackIDs.contains($0.value.reference.track))
      }
      if participant == ownID { sent = sent.filter { !trackIDs.contains($0.value.id) } }
      return [.forward]
    case .unsubscribed(let tracks):
      // Answers to `unsubscribe` name tracks that are not wanted any more, or that are requested again.
      return endSubscriptions(
        wanted.filter { $0.value.stream != nil && tracks.contains($0.value.reference) }.keys.sorted())
    case .heard: return []
    default: return [.forward]
    }
  }

  /// A participant's camera and microphone are in one MediaStream, and the video and the audio of a shared screen in another: the browser
  /// plays the tracks of one stream in step. With all four in one stream, it would synchronise only one audio and one video track.
  private func receive(_ track: ForwardedTrack, as media: StreamParameters, in mid: String) {
    guard let own = wanted[mid] else { return }
    let isShared = track.kind == .screen || track.kind == .screenSound
    let companion = wanted.values.first {
      $0.stream != nil && $0.reference.participant == own.reference.participant && $0.isShared == isShared
    }
    let mediaStream = companion?.stream?.mediaStream ?? takeMediaStream()
    wanted[mid]?.isShared = isShared
    wanted[mid]?.stream = SDPNegotiator.OutgoingStream(media, in: mediaStream)
  }

  private func takeMediaStream() -> String {
    defer { nextMediaStream += 1 }
    return "koine\(nextMediaStream)"
  }

  /// The router has ended or refused the subscriptions of these media: the client is notified.
  private func endSubscriptions(_ mids: [String]) -> [TranslatedAction] {
    let ended = mids.compactMap { wanted.removeValue(forKey: $0)?.reference }
    return ended.isEmpty ? [] : [.send(.unsubscribed(ended))]
  }

  private func answerIfDone() -> [TranslatedAction] {
    guard let done = exchange, done.open.isEmpty, let local else { return [] }
    exchange = nil
    let weight = 1_024 + done.offer.media.count * Self.answeredMediumWeight
    let written = negotiator.answer(
      done.offer, as: local, receiving: sent.mapValues(\.media), sending: wanted.compactMapValues(\.stream))
    let answer = EncodedMessage(weight: weight) {
      try JSONCodec.encode(BrowserAnswer(number: done.number, sdp: written.description.text))
    }
    var actions = [TranslatedAction.sendOwn(answer)]
    if let (offer, description) = waiting {
      waiting = nil
      actions += startExchange(offer, description)
    }
    return actions
  }
}

extension MediaCapabilities {
  /// How the offer names things. Of several numbers for one thing the first counts.
  fileprivate init(_ offer: SessionDescription) {
    var types: [Codec: PayloadTypes] = [:]
    for medium in offer.media {
      for format in medium.knownFormats where types[format.codec] == nil {
        types[format.codec] = PayloadTypes(
          media: format.payloadType, rtx: format.rtxPayloadType, red: format.redPayloadType)
      }
    }
    self.init(
      extensions: HeaderExtensionMap(offer.extensionIDs), payloadTypes: types, namesSourcesInPackets: true,
      knowsMids: false)
  }
}

extension StreamParameters {
  /// Whether it can still be sent as the medium describes it now.
  fileprivate func isIn(_ medium: MediaDescription) -> Bool {
    medium.knownFormats.contains {
      $0.payloadType == payloadType && $0.codec == codec && $0.rtxPayloadType == rtxPayloadType
        && $0.redPayloadType == redPayloadType
    }
  }
}

extension MediaDescription {
  /// How the browser will send the medium; nil where it has no known format, or is of another kind.
  fileprivate func parameters(mid: String, for kind: Track.Kind) -> StreamParameters? {
    guard self.kind == (kind.isAudio ? "audio" : "video") else { return nil }
    return StreamParameters(sentBy: self, mid: mid, layerLimit: SignalingLimits.encodings)
  }
}
