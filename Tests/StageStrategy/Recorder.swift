import AmazonIVSBroadcast
import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import KoineTokens

/// A stage app: gives the test's answers, and records all questions and callbacks. Used on the delivery queue, and from tests
/// only while that queue is idle.
final class StageApp: NSObject, IVSStageStrategy, IVSStageRenderer, IVSErrorDelegate, IVSStageStreamDelegate,
  @unchecked Sendable
{
  var publishes = true
  var subscription = IVSStageSubscribeType.audioVideo
  /// Replaces `subscription` where it depends on the participant.
  var wish: ((IVSParticipantInfo) -> IVSStageSubscribeType)?
  var streams: [IVSLocalStageStream] = []
  var hook: (String) -> Void = { _ in }
  /// Questions too, marked with `?`.
  private(set) var lines: [String] = []
  private(set) var remoteStreams: [IVSStageStream] = []
  private(set) var people: [String: IVSParticipantInfo] = [:]
  private(set) var errors: [NSError] = []
  private(set) var stats: [[String: [String: String]]] = []
  let name: String
  var stage: IVSStage!

  init(_ name: String) { self.name = name }

  /// Without the questions.
  var told: [String] { lines.filter { !$0.contains("?") } }
  func forget() { lines = [] }

  private func note(_ line: String) {
    lines.append(line)
    hook(line)
  }

  private func word(_ participant: IVSParticipantInfo) -> String { participant.isLocal ? "me" : participant.userId }
  private func words(_ streams: [IVSStageStream]) -> String {
    streams.map { $0.device is any IVSImageDevice ? "video" : "audio" }.sorted().joined(separator: "+")
  }

  // Strategy

  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  {
    note("streams of \(word(participant))?")
    return streams
  }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool {
    note("publish \(word(participant))?")
    return publishes
  }
  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
    note("subscribe \(word(participant))?")
    return wish?(participant) ?? subscription
  }

  /// Initial gain of remote participants.
  var initialGain: Float = 1
  var minDelay = IVSJitterBufferDelay.default()
  var initialLayer = IVSSubscribeSimulcastConfiguration.InitialLayerPreference.lowestQuality

  func stage(
    _ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo
  ) -> IVSSubscribeConfiguration {
    let configuration = IVSSubscribeConfiguration()
    configuration.initialGain = initialGain
    try? configuration.jitterBuffer.setMinDelay(minDelay)
    configuration.simulcast.initialLayerPreference = initialLayer
    return configuration
  }

  // Renderer

  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    people[word(participant)] = participant
    note("\(word(participant)) joined")
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    note("\(word(participant)) left")
  }
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState
  ) { note("\(word(participant)) \(publishState)") }
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState
  ) { note("\(word(participant)) \(subscribeState)") }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    if !participant.isLocal { remoteStreams += streams }
    for stream in streams { stream.delegate = self }
    note("\(word(participant)) +\(words(streams))")
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    remoteStreams.removeAll { streams.contains($0) }
    note("\(word(participant)) -\(words(streams))")
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    let states = streams.map { $0.isMuted ? "muted" : "unmuted" }
    note("\(word(participant)) \(words(streams)) \(states.joined(separator: "+"))")
  }
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    note("\(connectionState)" + (error.map { " \(($0 as NSError).code)" } ?? ""))
  }

  // Delegates

  func source(_ source: any IVSErrorSource, didEmitError error: any Error) { errors.append(error as NSError) }
  func streamDidChangeIsMuted(_ stream: IVSStageStream) { note("\(words([stream])) delegate \(stream.isMuted)") }
  func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String: [String: String]]) {
    self.stats.append(stats)
  }

  func remote(_ kind: String) -> IVSStageStream? { remoteStreams.first { words([$0]) == kind } }
}

/// A participant token as an app's own server makes it. The signature is not checked here.
func makeToken(
  stage: String = "tea", id: String = UUID().uuidString, userID: String = "", attributes: [String: String] = [:],
  publish: Bool = true, subscribe: Bool = true, lasting seconds: Double = 3_600
) throws -> String {
  let now = NumericDate.ofSystemClock()
  return try IVSStageToken(
    participantID: id, stage: stage, userID: userID, attributes: attributes,
    capabilities: .init(canPublish: publish, canSubscribe: subscribe), issued: now, expires: now + seconds
  ).signed(with: SigningKey(generating: .p384, id: "arn:aws:ivs:us-west-2:123456789012:public-key/test"))
}

/// A world in virtual time with its participants.
struct TestEnvironment {
  let world: World

  init(
    camera: String = "stamp:cam,160x90@30", microphone: String = "tone", loudspeaker: String = "none",
    network: NetworkSpec? = nil, queue: DispatchQueue? = nil
  ) {
    world = World(
      backend: EmbeddedBackend(virtual: 3, network: network),
      delivery: Delivery(queue: queue ?? DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: camera, microphone: microphone, loudspeaker: loudspeaker))
  }

  init(in world: World) { self.world = world }

  /// A participant with a machine of its own, which publishes a camera and a microphone by default.
  func app(
    _ name: String, id: String = UUID().uuidString, streams: Int = 2, attributes: [String: String] = [:],
    publish: Bool = true, subscribe: Bool = true
  ) throws -> StageApp {
    let app = StageApp(name)
    let machine = World(
      backend: world.backend, delivery: world.delivery, devices: world.devices, stamps: world.stamps)
    try World.$current.withValue(machine) {
      app.streams = IVSDeviceDiscovery().listLocalDevices().prefix(streams).map { IVSLocalStageStream(device: $0) }
      app.stage = try IVSStage(
        token: try makeToken(
          id: id, userID: name, attributes: attributes, publish: publish, subscribe: subscribe), strategy: app)
    }
    app.stage.addRenderer(app)
    app.stage.errorDelegate = app
    return app
  }

  func run(_ duration: Duration = .seconds(1)) async { await world.run(for: duration) }
}
