/// A participant's session in one room: the entry point of the common layer.
///
///     let session = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
///     try await session.join()
///     try await session.publish(camera: Devices.camera("pattern"))
///     for await event in session.events() { … }
///
/// Any thread may call any method. The visible state (`state`, `participants`, `tiles`) advances on the world's delivery
/// queue, event by event. When an observer gets an event, the visible state already agrees with it.
public final class Session: Sendable {
  /// The request that the session joins with.
  public let request: JoinRequest
  /// The world of the session's backend, devices and delivery.
  public let world: World
  let core: SessionCore
  let visible: ObservableRoomState

  /// Creates a session that has not joined yet.
  public init(_ request: JoinRequest, in world: World, options: SessionOptions = SessionOptions()) {
    self.request = request
    self.world = world
    visible = ObservableRoomState(request, in: world)
    core = SessionCore(request, world: world, options: options, visible: visible)
  }

  /// A session that has ended posts nothing more: any thread may release it last.
  deinit { if !state.isEnded { core.abandon() } }

  // MARK: Visible state

  /// The present state.
  public var state: SessionState { visible.state }
  /// Valid before joining and after the end, too; its id is the request's until the room has given one.
  public var localParticipant: Participant { visible.local }
  /// The others, in the order in which they came.
  public var participants: [Participant] { visible.others }
  /// The tiles of all video streams, in the order in which the streams were added.
  public var tiles: [Tile] { visible.tiles }
  /// Names of services co-located with the router. They receive messages, as participants do, and are not in the room.
  public var services: [String] { visible.services }
  /// The newest message of each service to all participants under the service's own name as its topic, by that name. An empty message
  /// withdraws it.
  public var serviceStatus: [String: [UInt8]] { visible.serviceStatus }
  /// Id of the dominant speaker; nil while the room is quiet.
  public var dominantSpeaker: Participant.ID? { visible.dominantSpeaker }
  /// The connection quality of a participant, local or remote, in both directions.
  public func pathQuality(of participant: Participant.ID) -> ConnectionQuality { visible.pathQuality(of: participant) }

  /// The local participant's permissions in the room. Nil before the room is entered, and where the backend does not know them.
  public var permissions: Set<ParticipantPermission>? { visible.permissions }

  /// What happens from now on. Ends after the session has ended, at once if that has been.
  public func events() -> AsyncStream<SessionEvent> {
    AsyncStream { continuation in
      let observation = visible.observe { event in
        continuation.yield(event)
        if case .stateChanged(.ended) = event { continuation.finish() }
      } ifOver: {
        continuation.finish()
      }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }

  /// Calls `handler` on the delivery queue for each event from now on, until the observation is cancelled.
  @discardableResult
  public func observe(_ handler: @escaping @Sendable (SessionEvent) -> Void) -> Observation { visible.observe(handler) }

  // MARK: Coming and going

  /// Enters the room.
  /// - Throws: why it did not let us in; `.alreadyJoined` when called twice.
  public func join() async throws(Failure) {
    let outcome = await withCheckedContinuation { done in
      core.join { outcome in done.resume(returning: outcome) }
    }
    try outcome.get()
  }

  /// Enters the room; `completion` is called once, on the delivery queue.
  public func join(completion: @escaping @Sendable (Result<Void, Failure>) -> Void) { core.join(completion) }

  /// Leaves; returns once the end has been told. Harmless when already ended.
  public func leave() async {
    await withCheckedContinuation { done in core.leave { done.resume() } }
  }

  /// Leaves; `completion` is called once, on the delivery queue, after the end has been told, even if the session has been
  /// released meanwhile.
  public func leave(completion: @escaping @Sendable () -> Void) { core.leave(completion) }

  // MARK: Publishing

  /// Publishes video. Before joining, the stream is announced once the room is entered.
  /// - Throws: `Failure` if the session has ended, or the source or the options are invalid.
  @discardableResult
  public func publish(
    camera source: any VideoSource, as kind: Track.Kind = .camera, options: VideoPublishOptions = .init()
  )
    throws(Failure) -> LocalStream
  {
    try core.publish(source, kind: kind, options: options)
  }

  /// Publishes audio. Before joining, the stream is announced once the room is entered.
  /// - Throws: `Failure` if the session has ended, or the source or the options are invalid.
  @discardableResult
  public func publish(
    microphone source: any AudioSource, as kind: Track.Kind = .microphone, options: AudioPublishOptions = .init()
  ) throws(Failure) -> LocalStream {
    try core.publish(source, kind: kind, options: options)
  }

  // MARK: Receiving

  /// Asks for a stream again that was unsubscribed, or that `SessionOptions.subscribesToEverything` left aside.
  public func subscribe(to stream: Track.ID) { core.subscribe(to: stream) }
  /// Stops receiving a stream. Its sinks and settings are kept.
  public func unsubscribe(from stream: Track.ID) { core.unsubscribe(from: stream) }
  /// The room stops forwarding a stream; subscription, sinks and tile stay.
  public func pause(_ stream: Track.ID) { core.setPaused(true, stream) }
  /// Resumes a stream after `pause(_:)`.
  public func resume(_ stream: Track.ID) { core.setPaused(false, stream) }
  /// Holds for as long as the stream is there, also over `unsubscribe` and `subscribe`.
  public func setPreference(_ preference: LayerPreference, for stream: Track.ID) {
    core.setPreference(preference, stream)
  }

  /// Sets the volume of a remote stream in the loudspeaker. Sinks attached to the stream get the audio as it was sent. The
  /// setting lasts as long as one of `setPreference`.
  /// - Parameter gain: 0, silent, to 2, twice as loud; 1 unless said otherwise.
  public func setGain(_ gain: Double, of stream: Track.ID) { core.setGain(Float(gain), stream) }

  /// Plays the mixed audio of all remote participants on another loudspeaker from now on. Any thread may call it.
  /// - Parameter loudspeaker: gets a block of one channel every 10 ms while there are remote audio streams. Nil: the loudspeaker that
  ///   the session began with.
  public func setLoudspeaker(_ loudspeaker: (any AudioSink)?) { core.setLoudspeaker(loudspeaker) }

  /// Sets how long audio and video of a remote participant wait at least between arrival and play-out, so that a path with much
  /// jitter or loss is played without gaps. Audio and video stay in step. The delay applies to all streams of the participant until
  /// it leaves the room; play-out pauses briefly when it rises. Any thread may call it. No effect for a participant that is not in
  /// the room.
  /// - Parameter delay: 0...10 s, counted from the quickest possible arrival; other values are clamped. 0, the default: as short as
  ///   the path's jitter permits.
  public func setMinimumPlayoutDelay(_ delay: Duration, of participant: Participant.ID) {
    core.setMinimumPlayoutDelay(delay, participant)
  }

  /// Shows a stream's pictures, own ones too, on `sink`, until detached or the stream ends. Attaching twice is once.
  public func attach(_ sink: any VideoSink, to stream: Track.ID) { core.attach(sink, to: stream) }
  /// Detaches a video sink.
  public func detach(_ sink: any VideoSink, from stream: Track.ID) { core.detach(sink, from: stream) }
  /// Hands one talker's own sound to `sink`, besides the loudspeaker.
  public func attach(_ sink: any AudioSink, to stream: Track.ID) { core.attach(sink, to: stream) }
  /// Detaches an audio sink.
  public func detach(_ sink: any AudioSink, from stream: Track.ID) { core.detach(sink, from: stream) }
  /// Hands a received stream's coded frames to `tap`, as they arrive.
  public func attach(_ tap: any EncodedFrameSink, to stream: Track.ID) { core.attach(tap, to: stream) }
  /// Detaches a sink of encoded frames.
  public func detach(_ tap: any EncodedFrameSink, from stream: Track.ID) { core.detach(tap, from: stream) }

  // MARK: The rest of the room

  /// Sends a message to the room. It arrives once, in the order in which this session sent it, also over a reconnection.
  ///
  /// A room takes 200 messages and 1 MiB a second from each participant, and 400 messages and 4 MiB at once. It drops messages
  /// beyond that, and the session reports `.failed` with `.tooMany`. For participants that join later the room keeps the newest
  /// 1,024 messages and the newest 1,024 persistent messages, at most 2 MiB of each kind.
  /// - Throws: `.tooLarge` over 64 KiB; `.notConnected` before the room is entered.
  public func send(_ message: DataMessage) throws(Failure) { try core.send(message) }
  /// Replaces the local participant's attributes. Attributes that the credential sets stay as they are.
  public func setAttributes(_ attributes: [String: String]) { core.setAttributes(attributes) }
  /// Mutes a remote participant's stream. The room forwards none of it until the participant unmutes it. If the local
  /// participant lacks the permission, the session reports `.failed` with `.forbidden`.
  public func mute(_ stream: Track.ID) { core.mute(stream) }
  /// Removes a participant from the room. If the local participant lacks the permission, the session reports `.failed` with
  /// `.forbidden`.
  public func remove(_ participant: Participant.ID) { core.remove(participant) }
  /// The participants that wait for admission, if the local participant may decide.
  public var entryRequests: [Participant] { visible.entryRequests }
  /// Admits a participant that waits for admission.
  public func admit(_ participant: Participant.ID) { core.answerKnock(of: participant, admitting: true) }
  /// Denies admission to a waiting participant.
  public func deny(_ participant: Participant.ID) { core.answerKnock(of: participant, admitting: false) }
  /// Replaces the credential by another one of the same participant, before the current credential expires. The room withdraws
  /// streams that the new credential does not permit. If the room refuses the new credential, the session reports `.failed`, and
  /// the current credential stays valid.
  public func renew(credential: String) { core.renew(credential) }
  /// Ends the room for all participants, if the local participant has the permission.
  public func closeRoom() { core.closeRoom() }

  /// Statistics of this session and of each of its streams, local and remote.
  public func statistics() async -> SessionStatistics {
    await withCheckedContinuation { done in core.statistics { done.resume(returning: $0) } }
  }

  /// Collects the session's statistics and calls `completion` on the delivery queue.
  public func statistics(completion: @escaping @Sendable (SessionStatistics) -> Void) {
    core.statistics { [visible] figures in visible.deliver { completion(figures) } }
  }
}

/// Options of a session.
public struct SessionOptions: Sendable {
  /// Every stream that appears is subscribed to at once.
  public var subscribesToEverything = true
  /// The loudspeaker that plays the mixed audio of all remote participants. Nil: the loudspeaker of the world's devices. If that
  /// is `none`, no device plays the mix, and sinks attached to a talker's stream still get its audio. If the loudspeaker cannot
  /// be opened, the session reports `.failed`.
  public var loudspeaker: (any AudioSink)?
  /// Whether the loudspeaker gets two channels while a remote participant sends two. If not, it always gets one.
  public var playsStereo = true

  /// Creates options.
  public init(subscribesToEverything: Bool = true, loudspeaker: (any AudioSink)? = nil) {
    self.subscribesToEverything = subscribesToEverything
    self.loudspeaker = loudspeaker
  }
}

/// Options of a published video stream.
public struct VideoPublishOptions: Sendable, Hashable {
  /// Nothing is sent until it is unmuted.
  public var startsMuted = false
  /// The codec; default VP8.
  public var codec: Codec
  /// In bit/s.
  public var maximumBitrate: Int
  /// Largest frame rate, in frames per second.
  public var maximumFramesPerSecond: Double
  /// Larger pictures are scaled down to fit, keeping their shape.
  public var maximumWidth, maximumHeight: Int
  /// Simulcast: smaller encodings beside the main one, the smallest first.
  public var lowerLayers: [VideoLayer]
  /// 1...3: for receivers with a poor path the room can leave out every second picture, or three of four. Costs some
  /// quality, and is off unless asked for; with VP9 it is meant for Koine's own receivers.
  public var temporalLayers: Int
  /// In bit/s: as much is sent even where the path seems to carry less.
  public var minimumBitrate: Int
  /// The kind of content, which decides between sharpness and smoothness.
  public var content: VideoContent
  /// The property that is reduced first, size or frame rate, when the available bitrate is too low. Nil: the default of `content`.
  public var degradation: VideoDegradation?

  /// Creates options. Bitrates are in bit/s, sizes in pixels.
  public init(
    codec: Codec = .vp8, maximumBitrate: Int = 1_000_000, maximumFramesPerSecond: Double = 30, maximumWidth: Int = 1920,
    maximumHeight: Int = 1080, lowerLayers: [VideoLayer] = [], temporalLayers: Int = 1, minimumBitrate: Int = 50_000,
    content: VideoContent = .motion, degradation: VideoDegradation? = nil
  ) {
    self.codec = codec
    self.maximumBitrate = maximumBitrate
    self.maximumFramesPerSecond = maximumFramesPerSecond
    self.maximumWidth = maximumWidth
    self.maximumHeight = maximumHeight
    self.lowerLayers = lowerLayers
    self.temporalLayers = temporalLayers
    self.minimumBitrate = minimumBitrate
    self.content = content
    self.degradation = degradation
  }
}

extension VideoLayer {
  /// The lower layer that a camera's picture is usually sent in besides its own size: for small views and poor paths.
  public static let small = VideoLayer(
    maximumWidth: 320, maximumHeight: 180, maximumBitrate: 150_000, maximumFramesPerSecond: 15)
}

/// Options of a published audio stream.
public struct AudioPublishOptions: Sendable, Hashable {
  /// Nothing is sent until it is unmuted.
  public var startsMuted = false
  /// In bit/s.
  public var bitrate: Int
  /// Sends almost no packets during silence (discontinuous transmission; RFC 7587, 3.1.3).
  public var usesDTX: Bool
  /// Removes echo and noise. Nil: the usual processing of the source, which is none for files and tones.
  public var processing: AudioProcessing?
  /// The number of channels to send, 1 or 2. Nil, the default: as many as the source has.
  public var channels: Int?
  /// Sends no frequencies above 8 kHz, as audio sampled at 16 kHz has none. Default false: up to 20 kHz.
  public var isWideband = false
  /// Whether packets repeat earlier packets while the path to the room loses some (RED, RFC 2198). Default true.
  public var usesRedundancy = true

  /// Creates options. The bitrate is in bit/s.
  public init(bitrate: Int = 40_000, usesDTX: Bool = false, processing: AudioProcessing? = nil) {
    self.bitrate = bitrate
    self.usesDTX = usesDTX
    self.processing = processing
  }
}

/// Whether a local stream is muted, by the app or by a moderator.
enum Muting { case off, on, byOther }

/// A stream that the local participant publishes.
public final class LocalStream: Sendable {
  /// Id of the stream's track in the room.
  public let id: Track.ID
  /// The kind of the stream.
  public let kind: Track.Kind
  private let core: SessionCore
  private let muted: Lock<Muting>
  private let ending: Ending

  /// - Parameter muted: shared with the session, which sets it when a moderator has muted the stream.
  init(id: Track.ID, kind: Track.Kind, muted: Lock<Muting>, ending: Ending, core: SessionCore) {
    self.id = id
    self.kind = kind
    self.muted = muted
    self.ending = ending
    self.core = core
  }

  /// Whether the stream is muted. A muted stream sends no media, and remote participants are notified. A moderator can mute the
  /// stream, too (`streamMuted`).
  public var isMuted: Bool { muted.withLock { $0 != .off } }
  /// Whether a moderator has muted the stream, and the app has not called `setMuted` since.
  public var isMutedByOther: Bool { muted.withLock { $0 == .byOther } }

  /// Mutes or unmutes the stream for all receivers. Any thread may call it.
  public func setMuted(_ isMuted: Bool) {
    muted.withLock { $0 = isMuted ? .on : .off }
    core.setMuted(isMuted, id.track)
  }

  /// Withdrawn, refused by the room, never started, or the session is over: nothing brings it back.
  public var isOver: Bool { ending.hasCome }

  /// Sets the processing of the audio from now on; nil: no processing. No effect on video.
  public func setProcessing(_ processing: AudioProcessing?) { core.setProcessing(processing, id.track) }

  /// Withdraws the stream and stops its source.
  public func unpublish() { core.unpublish(id.track) }
}

/// Takes coded frames as they arrive, on the network loop: must not block.
public protocol EncodedFrameSink: AnyObject, Sendable {
  /// Called for each encoded frame, on the network loop. Must return at once.
  func receive(_ frame: EncodedFrame)
}

/// Stops telling when cancelled; letting go of it does not.
public struct Observation: Sendable {
  let stop: @Sendable () -> Void
  /// Ends the observation. The handler is not called afterwards.
  public func cancel() { stop() }
}
