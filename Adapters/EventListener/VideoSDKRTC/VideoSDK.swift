import CrossVendorConventions
import Foundation
import Koine
import KoineBackends

/// The entry point: the token and settings of the process, and the factory of meetings.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/videosdk-class)
public final class VideoSDK {
  private init() {}

  private static let token = Lock<String?>(nil)

  /// Sets the token that meetings made from now on show on joining.
  public static func config(token: String) { self.token.withLock { $0 = token } }

  private static let configuring = Lock(false)

  /// Where more than one make meetings in a process: `make` has the token for itself, and leaves the one that was there.
  package static func configured<Value>(token: String, _ make: () -> Value) -> Value {
    configuring.withLock { _ in
      let before = self.token.withLock { $0 }
      config(token: token)
      defer { self.token.withLock { $0 = before } }
      return make()
    }
  }

  /// Makes a meeting, which connects to nothing before `join`. An empty `participantId` leaves the id to the room.
  public static func initMeeting(
    meetingId: String, participantId: String = "", participantName: String = "Guest", micEnabled: Bool = true,
    webcamEnabled: Bool = true, customCameraVideoStream: CustomRTCMediaStream? = nil, mode: Mode? = .CONFERENCE
  ) -> Meeting {
    initMeeting(
      meetingId: meetingId, participantId: participantId, participantName: participantName, micEnabled: micEnabled,
      webcamEnabled: webcamEnabled, customCameraVideoStream: customCameraVideoStream, customAudioTrack: nil,
      multiStream: true, mode: mode)
  }

  /// - Parameter multiStream: whether the machine's camera is sent in more than one size; a custom track says so itself.
  public static func initMeeting(
    meetingId: String, participantId: String = "", participantName: String = "Guest", micEnabled: Bool = true,
    webcamEnabled: Bool = true, customCameraVideoStream: CustomRTCMediaStream? = nil, multiStream: Bool?,
    mode: Mode? = .CONFERENCE
  ) -> Meeting {
    initMeeting(
      meetingId: meetingId, participantId: participantId, participantName: participantName, micEnabled: micEnabled,
      webcamEnabled: webcamEnabled, customCameraVideoStream: customCameraVideoStream, customAudioTrack: nil,
      multiStream: multiStream, mode: mode)
  }

  /// - Parameter customAudioTrack: a track of `createAudioTrack`; nil: the machine's microphone as it is.
  public static func initMeeting(
    meetingId: String, participantId: String = "", participantName: String = "Guest", micEnabled: Bool = true,
    webcamEnabled: Bool = true, customCameraVideoStream: CustomRTCMediaStream? = nil,
    customAudioTrack: CustomRTCMediaStream?, multiStream: Bool? = true, mode: Mode? = .CONFERENCE
  ) -> Meeting {
    initMeeting(
      meetingId: meetingId, participantId: participantId, participantName: participantName, micEnabled: micEnabled,
      webcamEnabled: webcamEnabled, customCameraVideoStream: customCameraVideoStream,
      customAudioTrack: customAudioTrack, multiStream: multiStream, mode: mode, preferredProtocol: .UDP_OVER_TCP)
  }

  /// The same, with the parameters of releases up to 2.1.9.
  /// - Parameters:
  ///   - preferredProtocol: without effect: ICE chooses the path.
  ///   - signalingBaseUrl: without effect: `KOINE_BACKEND` is the address.
  ///   - metaData: what all participants read in `Participant.metaData`. Without effect if JSON cannot write it, or it has more than 4 kB.
  public static func initMeeting(
    meetingId: String, participantId: String = "", participantName: String = "Guest", micEnabled: Bool = true,
    webcamEnabled: Bool = true, customCameraVideoStream: CustomRTCMediaStream? = nil,
    customAudioTrack: CustomRTCMediaStream? = nil, multiStream: Bool? = true, mode: Mode? = .SEND_AND_RECV,
    preferredProtocol: PreferredProtocol? = .UDP_OVER_TCP, signalingBaseUrl: String? = nil,
    metaData: [String: Any]? = [:]
  ) -> Meeting {
    if let preferredProtocol, preferredProtocol != .UDP_OVER_TCP { NoEffect.preferredProtocol.log() }
    if signalingBaseUrl?.isEmpty == false { NoEffect.signalingBaseUrl.log() }
    var attributes: [String: String] = [:]
    if let mode, mode != .CONFERENCE { attributes[Convention.mode] = mode.rawValue }
    attributes[Convention.metaData] = metaData.flatMap(Participant.text)
    if metaData?.isEmpty == false, attributes[Convention.metaData] == nil { NoEffect.metaData.log() }
    let world = Result { () throws(BackendAddressError) in
      try Backends.world(room: meetingId, participant: participantId.isEmpty ? nil : participantId)
    }
    let ownID = (try? world.get())?.participantID ?? UUID().uuidString.lowercased()
    return Meeting(
      world: world,
      join: JoinRequest(
        room: meetingId, credential: token.withLock { $0 },
        participantID: participantId.isEmpty ? ownID : participantId, name: participantName,
        attributes: attributes),
      micEnabled: micEnabled, webcamEnabled: webcamEnabled, customCamera: customCameraVideoStream,
      customMicrophone: customAudioTrack, isMultiStream: multiStream ?? true, mode: mode ?? .CONFERENCE,
      preferredProtocol: preferredProtocol ?? .UDP_OVER_TCP, signalingBaseUrl: signalingBaseUrl)
  }

  /// Describes a camera track to join with or to switch to.
  /// - Throws: nothing; the declaration is the vendor's.
  public static func createCameraVideoTrack(
    encoderConfig: CustomVideoTrackConfig? = .h360p_w640p, facingMode: AVCaptureDevice.Position? = .front,
    multiStream: Bool? = true
  ) throws -> CustomRTCMediaStream? {
    try createCameraVideoTrack(
      encoderConfig: encoderConfig, facingMode: facingMode, multiStream: multiStream, codec: .VP8)
  }

  /// The same, with the parameters of later releases.
  /// - Parameters:
  ///   - multiStream: whether smaller sizes are sent besides, so that each receiver gets what suits it.
  ///   - codec: without effect: tracks are sent as VP8.
  ///   - bitrateMode: the bitrate for the size, by the vendor's table.
  ///   - maxLayer: the most sizes, if several are sent. Three are sent from 720 lines on, two from 360 lines on.
  /// - Throws: nothing; the declaration is the vendor's.
  public static func createCameraVideoTrack(
    encoderConfig: CustomVideoTrackConfig? = .h360p_w640p, facingMode: AVCaptureDevice.Position? = .front,
    multiStream: Bool? = true, codec: PreferredCodec? = .VP8, bitrateMode: BitrateMode? = .BALANCED,
    maxLayer: EncodingLayer? = .MAX_LAYER_3
  ) throws -> CustomRTCMediaStream? {
    if codec == .H264 { NoEffect.codec.log() }
    return CustomRTCMediaStream(
      .init(
        config: encoderConfig ?? .h360p_w640p, facing: facingMode ?? .front, isMultiStream: multiStream ?? true,
        bitrateMode: bitrateMode ?? .BALANCED, maxLayer: maxLayer ?? .MAX_LAYER_3))
  }

  /// Describes a microphone track to join with or to unmute with.
  /// - Parameter noiseConfig: nil: what is usual for the device.
  /// - Throws: nothing; the declaration is the vendor's.
  public static func createAudioTrack(noiseConfig: noiseConfig?) throws -> CustomRTCMediaStream? {
    CustomRTCMediaStream(microphone: noiseConfig?.processing)
  }
}
