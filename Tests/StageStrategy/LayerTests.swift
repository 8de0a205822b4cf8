import AmazonIVSBroadcast
import Foundation
import Koine
import Testing

/// Layers of remote streams, and strategies that choose media and layers.
@Suite struct LayerTests {
  private let environment = TestEnvironment(camera: "stamp:cam,640x360@30")

  /// Adopts the second kind of strategy, and records everything about layers.
  private final class LayerApp: NSObject, IVSStageStrategyV2, IVSStageRenderer, IVSRemoteStageStreamDelegate,
    IVSErrorDelegate, @unchecked Sendable
  {  // used on the delivery queue, and from tests while that queue is idle
    var media: IVSStageSubscribeMediaTypes = [.audio, .video]
    var initialLayer = IVSSubscribeSimulcastConfiguration.InitialLayerPreference.lowestQuality
    var choose: (IVSRemoteStageStream) -> IVSRemoteStageStreamLayer? = { _ in nil }
    private(set) var lines: [String] = []
    private(set) var delegated: [String] = []
    private(set) var streams: [IVSRemoteStageStream] = []
    private(set) var errors: [NSError] = []
    var stage: IVSStage!

    var video: IVSRemoteStageStream? { streams.first { $0.device is any IVSImageDevice } }
    func forget() { (lines, delegated) = ([], []) }

    func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
      -> [IVSLocalStageStream]
    { [] }
    func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { false }
    func stage(_ stage: IVSStage, shouldSubscribeToParticipantTypes participant: IVSParticipantInfo)
      -> IVSStageSubscribeMediaTypes
    { media }
    func stage(_ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo)
      -> IVSSubscribeConfiguration
    {
      let configuration = IVSSubscribeConfiguration()
      configuration.simulcast.initialLayerPreference = initialLayer
      return configuration
    }
    func stage(_ stage: IVSStage, participant: IVSParticipantInfo, preferredLayerFor stream: IVSRemoteStageStream)
      -> IVSRemoteStageStreamLayer?
    { choose(stream) }

    func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
      self.streams += streams.compactMap { $0 as? IVSRemoteStageStream }
      for stream in streams { stream.delegate = self }
      lines.append(
        "+" + streams.map { $0.device is any IVSImageDevice ? "video" : "audio" }.sorted().joined(separator: "+"))
    }
    func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
      self.streams.removeAll { streams.contains($0) }
      lines.append(
        "-" + streams.map { $0.device is any IVSImageDevice ? "video" : "audio" }.sorted().joined(separator: "+"))
    }
    func stage(
      _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
      didChangeStreamAdaption adaption: Bool
    ) { lines.append("adapts \(adaption)") }
    func stage(
      _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
      didChange layers: [IVSRemoteStageStreamLayer]
    ) { lines.append("layers " + layers.map { "\(Int($0.size.height))" }.joined(separator: ",")) }
    func stage(
      _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
      didSelect layer: IVSRemoteStageStreamLayer?, reason: IVSRemoteStageStream.LayerSelectedReason
    ) { lines.append("\(reason) \(Int(layer?.size.height ?? 0))") }

    func stream(_ stream: IVSRemoteStageStream, didChange layers: [IVSRemoteStageStreamLayer]) {
      delegated.append("layers \(layers.count)")
    }
    func stream(
      _ stream: IVSRemoteStageStream, didSelect layer: IVSRemoteStageStreamLayer?,
      reason: IVSRemoteStageStream.LayerSelectedReason
    ) { delegated.append("\(reason) \(Int(layer?.size.height ?? 0))") }
    func stream(_ stream: IVSRemoteStageStream, didChangeAdaption adaption: Bool) {
      delegated.append("adapts \(adaption)")
    }
    func source(_ source: any IVSErrorSource, didEmitError error: any Error) { errors.append(error as NSError) }
  }

  private func viewer() throws -> LayerApp {
    let app = LayerApp()
    app.stage = try World.$current.withValue(environment.world) {
      try IVSStage(token: try makeToken(userID: "Vera"), strategy: app)
    }
    app.stage.addRenderer(app)
    app.stage.errorDelegate = app
    return app
  }

  /// Publishes 640×360 and 320×180, unless the configuration says otherwise.
  private func publisher(
    _ change: (IVSLocalStageStreamVideoConfiguration) throws -> Void = { _ in }
  ) throws -> StageApp {
    let app = try environment.app("Ben")
    let configuration = IVSLocalStageStreamVideoConfiguration()
    try configuration.setTargetFramerate(30)
    try change(configuration)
    app.streams = app.streams.map { stream in
      stream.device is any IVSImageDevice
        ? IVSLocalStageStream(device: stream.device, configuration: configuration) : stream
    }
    return app
  }

  private func layer(_ height: CGFloat, _ stream: IVSRemoteStageStream) -> IVSRemoteStageStreamLayer? {
    stream.layers.first { $0.size.height == height }
  }

  private func receivedHeight(_ app: LayerApp) -> Int? { app.stage.session?.tiles.first { !$0.isLocal }?.height }

  // MARK: Which layer

  @Test func layersAreAnnouncedAndAdaptedFromTheLowest() async throws {
    let (vera, ben) = (try viewer(), try publisher())
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(5))
    #expect(vera.lines == ["+audio+video", "layers 180,360", "selected 180", "selected 360"])
    #expect(vera.delegated == ["layers 2", "selected 180", "selected 360"])
    let video = try #require(vera.video)
    #expect(video.layers.map(\.size) == [CGSize(width: 320, height: 180), CGSize(width: 640, height: 360)])
    #expect(video.layers.map(\.bitrate) == [100_000, 900_000])
    #expect(video.layers.map(\.framesPerSecond) == [15, 30])
    #expect(video.layers.map(\.selected) == [false, true])
    #expect(Set(video.layers.map(\.label)).count == 2)
    #expect(video.selectedLayer?.size.height == 360)
    #expect(video.highestQualityLayer.size.height == 360)
    #expect(video.lowestQualityLayer.size.height == 180)
    #expect(receivedHeight(vera) == 360)
    vera.stage.leave()
  }

  @Test func preferredLayerIsReceivedUntilReleased() async throws {
    let (vera, ben) = (try viewer(), try publisher())
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(5))
    vera.forget()
    vera.choose = { $0.lowestQualityLayer }
    vera.stage.refreshStrategy()
    await environment.run(.seconds(3))
    #expect(receivedHeight(vera) == 180)
    #expect(vera.lines == ["adapts false", "selected 180"])
    #expect(vera.delegated == ["adapts false", "selected 180"])
    vera.forget()
    vera.stage.refreshStrategy()
    await environment.run(.seconds(1))
    #expect(vera.lines.isEmpty, "the same answer changes nothing")
    vera.choose = { _ in nil }
    vera.stage.refreshStrategy()
    await environment.run(.seconds(4))
    #expect(receivedHeight(vera) == 360)
    #expect(vera.lines.first == "adapts true")
    #expect(vera.lines.last == "selected 360")
    vera.stage.leave()
  }

  /// Another participant receives both layers already, so that they are under way.
  @Test func highestInitialLayerComesFirst() async throws {
    let (vera, other, ben) = (try viewer(), try viewer(), try publisher())
    for stage in [other.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(4))
    vera.initialLayer = .highestQuality
    try vera.stage.join()
    await environment.run(.seconds(4))
    #expect(vera.lines == ["+audio+video", "layers 180,360", "selected 360"])
    #expect(vera.video?.layers.last?.selected == true)
    vera.stage.leave()
  }

  @Test func constraintsSelectLayers() async throws {
    let (vera, ben) = (try viewer(), try publisher())
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(3))
    let video = try #require(vera.video)
    func heights(_ change: (IVSRemoteStageStreamLayerConstraints) -> Void) -> [CGFloat] {
      let constraints = IVSRemoteStageStreamLayerConstraints()
      change(constraints)
      return video.layers(with: constraints).map(\.size.height)
    }
    #expect(heights { _ in } == [180, 360])
    #expect(heights { $0.maxBitrate = 100_000 } == [180])
    #expect(heights { $0.minBitrate = 100_001 } == [360])
    #expect(heights { $0.maxFramerate = 15 } == [180])
    #expect(heights { $0.minFramerate = 16 } == [360])
    #expect(heights { $0.maxWidth = 639 } == [180])
    #expect(heights { $0.minWidth = 321 } == [360])
    #expect(heights { $0.maxHeight = 180 } == [180])
    #expect(heights { $0.minHeight = 181 } == [360])
    vera.stage.leave()
  }

  @Test func preferredLayerThatDoesNotComeIsUnavailable() async throws {
    let (vera, ben) = (try viewer(), try publisher())
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(5))
    vera.choose = { $0.lowestQualityLayer }
    vera.stage.refreshStrategy()
    await environment.run(.seconds(3))
    vera.forget()
    // Ben mutes: no layer comes at all, and the wanted one does not either.
    for stream in ben.streams { stream.setMuted(true) }
    await environment.run(.seconds(1))
    vera.choose = { $0.highestQualityLayer }
    vera.stage.refreshStrategy()
    await environment.run(.seconds(3))
    #expect(vera.lines == ["unavailable 180"])
    #expect(vera.delegated == ["unavailable 180"])
    vera.forget()
    for stream in ben.streams { stream.setMuted(false) }
    await environment.run(.seconds(3))
    #expect(vera.lines == ["selected 360"])
    vera.stage.leave()
  }

  @Test func streamWithoutSimulcastHasTheReceivedLayer() async throws {
    let (vera, ben) = (try viewer(), try publisher { $0.simulcast.enabled = false })
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(3))
    #expect(vera.video?.layers.map(\.size) == [CGSize(width: 640, height: 360)])
    #expect(vera.lines == ["+audio+video", "layers 360", "selected 360"])
    #expect(vera.streams.first { $0.device is any IVSAudioDevice }?.layers.isEmpty == true)
    vera.stage.leave()
  }

  // MARK: The app's own layers

  @Test func ownLayersArePublishedAsEncodings() async throws {
    let presets = IVSStagePresets.simulcastLocalLayer()
    let vera = try viewer()
    let ben = try publisher {
      try $0.simulcast.setLayers([presets.default360(), presets.default180(), presets.default270()])
    }
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(4))
    let video = try #require(vera.video)
    #expect(video.layers.map(\.size.height) == [180, 270, 360])
    #expect(video.layers.map(\.bitrate) == [100_000, 250_000, 500_000])
    for height in [270, 180, 360] {
      vera.choose = { [self] in layer(CGFloat(height), $0) }
      vera.stage.refreshStrategy()
      await environment.run(.seconds(3))
      #expect(receivedHeight(vera) == height)
    }
    vera.stage.leave()
  }

  @Test func ownLayersAreChecked() throws {
    let presets = IVSSimulcastConfiguration()
    let all = IVSStagePresets.simulcastLocalLayer()
    #expect(presets.layers.isEmpty)
    #expect(throws: NSError.self) { try presets.setLayers([IVSLocalStageStreamLayer()]) }
    #expect(throws: NSError.self) { try presets.setLayers([all.default360(), all.default360()]) }
    #expect(throws: NSError.self) {
      try presets.setLayers([all.default160(), all.default180(), all.default270(), all.default480()])
    }
    #expect(presets.layers.isEmpty)
    let layers = [all.default540(), all.default720()]
    try presets.setLayers(layers)
    #expect(presets.layers == layers)
    let layer = IVSLocalStageStreamLayer()
    try layer.setMaxBitrate(50_000)
    try layer.setMinBitrate(2_500_000)
    try layer.setSize(CGSize(width: 160, height: 1280))
    try layer.setTargetFramerate(30)
    #expect(throws: NSError.self) { try layer.setMaxBitrate(49_999) }
    #expect(throws: NSError.self) { try layer.setMinBitrate(2_500_001) }
    #expect(throws: NSError.self) { try layer.setSize(CGSize(width: 159, height: 160)) }
    #expect(throws: NSError.self) { try layer.setTargetFramerate(31) }
    #expect(layer.maxBitrate == 50_000)
    #expect(layer.minBitrate == 2_500_000)
    #expect(layer.size == CGSize(width: 160, height: 1280))
    #expect(layer.targetFramerate == 30)
  }

  // MARK: The second kind of strategy

  @Test func mediaOfTheSecondStrategyAreSubscribedTo() async throws {
    let (vera, ben) = (try viewer(), try publisher())
    vera.media = .video
    for stage in [vera.stage, ben.stage] { try stage?.join() }
    await environment.run(.seconds(3))
    #expect(vera.lines.first == "+video")
    #expect(vera.streams.count == 1)
    #expect(receivedHeight(vera) == 360)
    vera.forget()
    vera.media = [.audio, .video]
    vera.stage.refreshStrategy()
    await environment.run(.seconds(1))
    #expect(vera.lines == ["+audio"])
    vera.forget()
    vera.media = []
    vera.stage.refreshStrategy()
    await environment.run(.seconds(1))
    #expect(vera.lines == ["-audio+video"])
    vera.stage.leave()
  }

  private final class BaseStrategy: IVSBaseStageStrategy {
    func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
      -> [IVSLocalStageStream]
    { [] }
    func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { false }
  }

  @Test func strategyWithoutASubscriptionIsRefused() async throws {
    let vera = try viewer()
    #expect(throws: NSError.self) {
      try World.$current.withValue(environment.world) {
        _ = try IVSStage(token: try makeToken(), strategy: BaseStrategy())
      }
    }
    try vera.stage.join()
    vera.stage.replaceStrategy(BaseStrategy())
    await environment.run()
    #expect(vera.errors.map(\.code) == [IVSBroadcastError.invalidState.rawValue])
    let ben = try publisher()
    try ben.stage.join()
    await environment.run(.seconds(1))
    #expect(vera.lines.first == "+audio+video", "the former strategy stays")
    vera.stage.leave()
  }
}
