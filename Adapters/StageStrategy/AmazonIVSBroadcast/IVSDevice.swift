public import Dispatch
public import Foundation
public import KoineAVFoundation
public import KoineCoreMedia
public import KoineCoreVideo

/// A source of video or audio.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSDevice.html)
public protocol IVSDevice: IVSErrorSource {
  func descriptor() -> IVSDeviceDescriptor
  /// Different for every device.
  func tag() -> String
}

/// A device with several input sources: the camera with its front and back.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSMultiSourceDevice.html)
public protocol IVSMultiSourceDevice: IVSDevice {
  func listAvailableInputSources() -> [IVSDeviceDescriptor]
  /// - Parameter onComplete: called once, on the delivery queue.
  func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor, onComplete: (((any Error)?) -> Void)?)
}

extension IVSMultiSourceDevice {
  public func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor) {
    setPreferredInputSource(inputSource, onComplete: nil)
  }

  /// - Throws: what the completion handler would be given.
  nonisolated(nonsending) public func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor) async throws {
    let failure: (any Error)? = await withCheckedContinuation { done in
      setPreferredInputSource(inputSource) { done.resume(returning: $0) }
    }
    if let failure { throw failure }
  }
}

/// A device that delivers video.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSImageDevice.html)
public protocol IVSImageDevice: IVSDevice {
  /// A new view that shows the device's pictures by itself, fitted in.
  func previewView() -> IVSImagePreviewView
  func previewView(with aspectMode: IVSBroadcastConfiguration.AspectMode) throws -> IVSImagePreviewView
  /// How the machine is held. Pictures of a camera are turned by it, in quarter turns.
  /// - Parameter rotation: in radians, clockwise.
  func setHandsetRotation(_ rotation: Float)
  /// - Parameter callback: called on the delivery queue for each picture; nil ends it.
  func setOnFrameCallback(_ callback: ((IVSImageDeviceFrame) -> Void)?)
  /// - Parameters:
  ///   - queue: where the callback is called.
  ///   - includePixelBuffer: whether frames come with their pixels.
  func setOnFrameCallbackQueue(
    _ queue: DispatchQueue, includePixelBuffer: Bool, callback: ((IVSImageDeviceFrame) -> Void)?)
}

/// One frame of an image device.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSImageDeviceFrame.html)
public class IVSImageDeviceFrame: NSObject {
  /// In pixels, as shown.
  public let size: CGSize
  /// Nil unless asked for.
  public let pixelBuffer: CVPixelBuffer?

  init(size: CGSize, pixelBuffer: CVPixelBuffer?) {
    self.size = size
    self.pixelBuffer = pixelBuffer
  }
}

/// A device that delivers audio.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSAudioDevice.html)
public protocol IVSAudioDevice: IVSDevice {
  /// - Parameter callback: called on the delivery queue ten times a second while there is sound; nil ends it.
  func setStatsCallback(_ callback: ((IVSAudioDeviceStats) -> Void)?)
  /// 0...2; 1 changes nothing.
  func gain() -> Float
  /// Of the sound that is captured or handed out here; has nothing to do with `isMuted`.
  func setGain(_ gain: Float)
}

/// Peak and RMS level of an audio device, in dBFS, −100 (silence) to 0.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSAudioDeviceStats.html)
public class IVSAudioDeviceStats: NSObject {
  public let peak, rms: Float

  init(peak: Float, rms: Float) {
    self.peak = peak
    self.rms = rms
  }
}

/// The camera of the machine, with the front and back camera as input sources.
///
/// The vendor's `IVSCamera` is an Objective-C protocol that conforms to itself: apps pass `IVSCamera.self` to generic
/// code that requires an `IVSMultiSourceDevice`. Koine composes a class with a protocol of all types, so that `any
/// IVSCamera` compiles too. An extension of `IVSCamera` does not compile.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSCamera.html)
public typealias IVSCamera = CameraDevice & Copyable

/// The microphone of the machine. A class for the same reason as `IVSCamera`.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSMicrophone.html)
public typealias IVSMicrophone = MicrophoneDevice & Copyable

/// Notified of changes of one microphone, on the delivery queue.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSMicrophoneDelegate.html)
public protocol IVSMicrophoneDelegate: NSObjectProtocol {
  func underlyingInputSourceChanged(
    for microphone: any IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?)
}

/// A video source with frames from the app.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSCustomImageSource.html)
public protocol IVSCustomImageSource: IVSImageDevice {
  /// The picture to be shown from now on, until there is a newer one. From any thread. For pixels in a format that the vendor does
  /// not take (32ARGB), and for audio, `invalidVideoFormat` is reported.
  func onSampleBuffer(_ sampleBuffer: CMSampleBuffer)
}

/// A source of the video of a broadcast while the app is in the background. `IVSBroadcastSession.createAppBackgroundImageSource`
/// makes it. Each image is one frame at the frame rate of the broadcast; the times of sample buffers are ignored.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSBackgroundImageSource.html)
public protocol IVSBackgroundImageSource: IVSCustomImageSource {
  /// No more images follow. The completion handler of the source is called.
  func finish()
  func add(_ pixelBuffer: CVPixelBuffer)
}

/// An audio source with samples from the app.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSCustomAudioSource.html)
public protocol IVSCustomAudioSource: IVSAudioDevice {
  /// Appends audio as `onPCMBuffer(_:at:)` does: linear PCM of 16-bit or 32-bit integers or 32-bit floats, at 8,000 to 192,000 Hz. For
  /// other buffers, `pcmUnsupportedSample` is reported, once. Callable from any thread.
  func onSampleBuffer(_ sampleBuffer: CMSampleBuffer)
  /// Appends audio to the audio handed in before, at any pace. The latest half second is kept. Callable from any thread.
  func onPCMBuffer(_ pcmBuffer: AVAudioPCMBuffer, at audioTime: AVAudioTime)
}

/// The properties of a device.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSDeviceDescriptor.html)
public class IVSDeviceDescriptor: NSObject, @unchecked Sendable {  // constant
  /// Different for every device and input source.
  public let urn: String
  public let friendlyName: String
  public let type: IVSDeviceType
  public let position: IVSDevicePosition
  public let isDefault: Bool
  public let deviceId: String

  init(
    urn: String, friendlyName: String, type: IVSDeviceType, position: IVSDevicePosition = .unknown,
    isDefault: Bool = false
  ) {
    self.urn = urn
    self.friendlyName = friendlyName
    self.type = type
    self.position = position
    self.isDefault = isDefault
    deviceId = urn
  }

  public override var description: String { "<IVSDeviceDescriptor \(friendlyName), \(urn)>" }
}
