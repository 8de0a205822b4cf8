public import Dispatch
public import Foundation
public import KoineAVFoundation
public import KoineCoreMedia
public import KoineCoreVideo

/// Something that gives pictures or sound.
public protocol IVSDevice: IVSErrorSource {
  func descriptor() -> IVSDeviceDescriptor
  /// Different for every device.
  func tag() -> String
}

/// A device that is made of several: the camera with its front and back.
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

/// Gives pictures.
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

/// One picture of an image device.
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

/// Gives sound.
public protocol IVSAudioDevice: IVSDevice {
  /// - Parameter callback: called on the delivery queue ten times a second while there is sound; nil ends it.
  func setStatsCallback(_ callback: ((IVSAudioDeviceStats) -> Void)?)
  /// 0...2; 1 changes nothing.
  func gain() -> Float
  /// Of the sound that is captured or handed out here; has nothing to do with `isMuted`.
  func setGain(_ gain: Float)
}

/// How loud it was, in dBFS, −100 (silence) to 0.
public class IVSAudioDeviceStats: NSObject {
  public let peak, rms: Float

  init(peak: Float, rms: Float) {
    self.peak = peak
    self.rms = rms
  }
}

/// The machine's camera, whichever input source gives its pictures.
///
/// The vendor's is a protocol of Objective-C, and conforms to what it inherits: apps hand `IVSCamera.self` to generic code
/// that wants an `IVSMultiSourceDevice`. Here a class does that; composed with a protocol that everything conforms to, it may
/// still be written `any IVSCamera`. What cannot be written is an extension of it.
public typealias IVSCamera = CameraDevice & Copyable

/// The machine's microphone. A class for the same reason as `IVSCamera`.
public typealias IVSMicrophone = MicrophoneDevice & Copyable

/// Hears of one microphone, on the delivery queue.
public protocol IVSMicrophoneDelegate: NSObjectProtocol {
  func underlyingInputSourceChanged(
    for microphone: any IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?)
}

/// Pictures of the app's own.
public protocol IVSCustomImageSource: IVSImageDevice {
  /// The picture to be shown from now on, until there is a newer one. From any thread.
  func onSampleBuffer(_ sampleBuffer: CMSampleBuffer)
}

/// Sound of the app's own.
public protocol IVSCustomAudioSource: IVSAudioDevice {
  /// Sample buffers hold pictures here: `pcmUnsupportedSample` is reported, once.
  func onSampleBuffer(_ sampleBuffer: CMSampleBuffer)
  /// Appends audio to the audio handed in before, at any pace. The latest half second is kept. Callable from any thread.
  func onPCMBuffer(_ pcmBuffer: AVAudioPCMBuffer, at audioTime: AVAudioTime)
}

/// The properties of a device.
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
