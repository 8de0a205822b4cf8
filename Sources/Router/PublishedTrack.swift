import KoineBase
import KoineSignaling
import KoineTransport

/// A track on its way in, and all the ways on which it goes out.
final class PublishedTrack {
  /// One simulcast layer.
  struct Layer {
    var requests = KeyFrameRequests()
    var lastPacket: Tick?
    /// The last sender report: a capture time on our clock and the timestamp that belongs to it.
    var report: (captured: Tick, timestamp: UInt32)?
  }

  unowned let owner: Member
  let media: Media
  let codec: Codec
  /// The stream's name within the owner's peer.
  let receiver: ReceiverID
  /// Its place among the voices, for microphones.
  let voice: SpeakerBoard.Voice?
  var track: Track
  var layers: [Layer]
  var forwarders: ContiguousArray<Forwarder> = []
  /// Counts the interruptions: a forwarder that has not seen the newest begins a new stretch.
  private(set) var stretch: UInt64 = 0
  private var isFlowing = true
  /// Whether the room looks after its key frame requests.
  var isListed = false

  init(_ track: Track, media: Media, codec: Codec, receiver: ReceiverID, voice: SpeakerBoard.Voice?, owner: Member) {
    (self.track, self.media, self.codec, self.receiver) = (track, media, codec, receiver)
    (self.voice, self.owner) = (voice, owner)
    layers = media.encodings.map { _ in Layer() }
    self.track.media = nil
  }

  var reference: TrackReference { TrackReference(participant: owner.id, track: track.id) }
  /// As others are told of it: how it is sent they learn when they subscribe.
  var announced: Track { track }
  var sources: [UInt32] { media.encodings.flatMap { [$0.ssrc] + ($0.rtxSSRC.map { [$0] } ?? []) } }

  /// No packets pass from here on.
  func interrupt() {
    guard isFlowing else { return }
    isFlowing = false
    stretch &+= 1
  }

  func flows() { isFlowing = true }

  /// When a key frame must be asked for again.
  var deadline: Tick? { layers.reduce(nil) { ($0 as Tick?).sooner($1.requests.deadline) } }
}
