public import Foundation
import Koine
import KoineBackends

/// Finds the devices of the machine: one camera and one microphone. Each device stays the same object as long as it is
/// referenced.
///
/// The world chooses their sources (`KOINE_CAMERA`, `KOINE_MICROPHONE`). The list lacks a device without a source.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSDeviceDiscovery.html)
public class IVSDeviceDiscovery: NSObject, @unchecked Sendable {  // constant
  private let world: World?
  /// Keeps the devices for as long as this object lives.
  private let devices: [any IVSDevice]

  public override init() {
    world = try? Backends.world()
    devices = world.map(LocalDevices.of) ?? []
  }

  public func listLocalDevices() -> [any IVSDevice] { devices }

  /// As the guide's older edition shows it.
  public static func listLocalDevices() -> [any IVSDevice] { (try? Backends.world()).map(LocalDevices.of) ?? [] }

  /// A device for pictures of the app's own.
  public func createImageSource(withName name: String) -> any IVSCustomImageSource {
    CustomImageSource(named: name, in: world ?? LocalDevices.fallback)
  }

  /// A device whose frames are composed of those of other devices.
  public func createMixedImageDevice(with configuration: IVSMixedImageDeviceConfiguration) -> any IVSMixedImageDevice {
    MixedImageDevice(configuration, in: world ?? LocalDevices.fallback)
  }

  /// A device whose audio is mixed of that of other devices. The vendor's pages do not spell this method; it is named like that
  /// for images.
  public func createMixedAudioDevice(with configuration: IVSMixedAudioDeviceConfiguration) -> any IVSMixedAudioDevice {
    MixedAudioDevice(configuration, in: world ?? LocalDevices.fallback)
  }

  /// A device for sound of the app's own.
  public func createAudioSource(withName name: String) -> any IVSCustomAudioSource {
    CustomAudioSource(named: name, in: world ?? LocalDevices.fallback)
  }
}

/// The devices of each world, once.
enum LocalDevices {
  private struct Entry {
    weak var world: World?
    weak var camera: CameraDevice?
    weak var microphone: MicrophoneDevice?
  }

  private static let entries = Lock<[Entry]>([])

  /// For devices that an app makes although `KOINE_BACKEND` names nothing; no stage can be made there.
  static let fallback: World = {
    guard let backend = try? Backends.backend(at: "embedded") else { preconditionFailure("embedded is always there") }
    return World(backend: backend)
  }()

  static func of(_ world: World) -> [any IVSDevice] {
    let known = entries.withLock { entries in entries.first { $0.world === world } }
    let (camera, microphone) = (
      known?.camera ?? CameraDevice(in: world), known?.microphone ?? MicrophoneDevice(in: world)
    )
    entries.withLock { entries in
      entries.removeAll { $0.world == nil || $0.world === world }
      entries.append(Entry(world: world, camera: camera, microphone: microphone))
    }
    return [camera, microphone].compactMap { $0 as (any IVSDevice)? }
  }
}
