import KoineBase

/// Decides when the publisher of a track is asked for key frames, on behalf of all receivers that wait for one.
///
/// One for each published track, with a `KeyFrameRequests` for each of its simulcast layers. Inputs: a receiver needs a key
/// frame (`wanted`), a key frame begins to arrive, packets arrive after a silence, no receiver waits any more (`cancel`), and
/// time. The answers say whether to send a request (RTCP PLI) now. Only a layer that can be answered is asked for: see
/// `Source.canAnswer`. How many key frames a receiver may cause is `KeyFrameAllowance`'s decision.
struct KeyFrameScheduler {
  /// The state of one layer of the track, and of its publisher, at the time of a decision.
  struct Source {
    /// Whether the publisher's media path is up.
    var isConnected = true
    var isMuted = false
    /// Whether the layer's SSRC is known. A layer without one has never been sent, and begins with a key frame.
    var isKnown = true
    /// Since the publisher's last datagram.
    var silence = Duration.zero
    /// Whether packets of the layer arrive.
    var isLive = true
    /// Whether packets of any layer of the track arrive.
    var isAnyLayerLive = true
    /// The publisher has just been asked to send the layer, which then begins with a key frame by itself.
    var isAboutToBegin = false

    /// Whether the publisher can make a key frame of the layer: it is there, and sends that layer, or sends none at the
    /// moment.
    var canAnswer: Bool {
      isConnected && !isMuted && isKnown && silence < KeyFrameScheduler.publisherSilence && (isLive || !isAnyLayerLive)
    }
  }

  /// A publisher of which nothing has been received for so long is not asked: clients check consent every 5 s (RFC 7675),
  /// varied by up to 20 %.
  private static let publisherSilence = Duration.seconds(7)

  private var layers: [KeyFrameRequests]

  /// - Parameter layers: how many the track has; for audio 1, for which no key frame is ever wanted.
  init(layers: Int) { self.layers = Array(repeating: KeyFrameRequests(), count: layers) }

  /// When `handleTimeout` next has work to do for a layer.
  var deadline: Tick? { layers.reduce(nil) { ($0 as Tick?).sooner($1.deadline) } }

  /// A receiver needs a key frame of the layer.
  /// - Returns: whether to ask the publisher now.
  mutating func wanted(_ layer: Int, from source: Source, at now: Tick) -> Bool {
    source.canAnswer && layers[layer].wanted(at: now) && !source.isAboutToBegin
  }

  mutating func keyFrameArrived(_ layer: Int) { layers[layer].keyFrameArrived() }

  /// The first packet of a layer has arrived, or the first after a silence.
  mutating func sourceResumed(_ layer: Int) { layers[layer].sourceResumed() }

  /// No receiver waits for a key frame of the layer any more.
  mutating func cancel(_ layer: Int) { layers[layer].cancel() }

  /// The track is muted, or arrives from another peer: receivers that still need key frames ask again.
  mutating func cancelAll() { for layer in layers.indices { layers[layer].cancel() } }

  /// Gives up on a layer that cannot be answered any more.
  /// - Returns: whether to ask the publisher for the layer again now.
  mutating func handleTimeout(_ layer: Int, from source: Source, at now: Tick) -> Bool {
    if !source.canAnswer { layers[layer].cancel() }
    return layers[layer].handleTimeout(at: now)
  }
}
