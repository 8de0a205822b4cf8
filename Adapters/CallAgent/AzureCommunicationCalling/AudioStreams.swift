public import Foundation
import Koine

/// The kind of an audio stream: the devices of the machine, or raw audio of the app.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum AudioStreamType: Int, Sendable {
  case remoteIncoming = 1
  case rawIncoming = 2
  case localOutgoing = 3
  case virtualOutgoing = 4
}

/// Whether an audio stream is stopped or started.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum AudioStreamState: Int, Sendable {
  case started, stopped
}

/// The audio of a call in one direction: of a device, or in buffers of the app. The state changes on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
open class CallAudioStream: NSObject, @unchecked Sendable {  // constant but for `current`, a lock
  public let type: AudioStreamType
  public let direction: StreamDirection
  private let current = Lock(AudioStreamState.stopped)

  init(type: AudioStreamType) {
    self.type = type
    direction = type == .remoteIncoming || type == .rawIncoming ? .incoming : .outgoing
  }

  public var state: AudioStreamState { current.withLock { $0 } }

  /// On the delivery queue.
  func change(to new: AudioStreamState, message: String = "") {
    let hasChanged = current.withLock { current in
      defer { current = new }
      return current != new
    }
    if hasChanged { stateChanged(AudioStreamStateChangedEventArgs(self, message)) }
  }

  func stateChanged(_ args: AudioStreamStateChangedEventArgs) {}
}

/// Arguments of the event that the state of an audio stream raises, with the stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class AudioStreamStateChangedEventArgs: NSObject {
  public let stream: CallAudioStream
  public let message: String

  init(_ stream: CallAudioStream, _ message: String) { (self.stream, self.message) = (stream, message) }
}

/// Audio that a call sends.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
open class OutgoingAudioStream: CallAudioStream, @unchecked Sendable {  // constant
  /// Whether the audio comes from the machine's microphone.
  var isOfDevice: Bool { type == .localOutgoing }

  /// - Throws: `DeviceError` if there is no microphone.
  func makeSource(in world: World) throws -> any AudioSource { try world.machine.makeMicrophone() }
}

/// Audio that a call receives.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
open class IncomingAudioStream: CallAudioStream, @unchecked Sendable {  // constant
  /// The sink of the mixed audio of all remote participants; nil: the machine's loudspeaker.
  func makeLoudspeaker(in world: World) -> (any AudioSink)? { nil }
  /// No more audio comes from the last sink.
  func close() {}
}

/// Notified on the delivery queue of changes of the local outgoing audio stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol LocalOutgoingAudioStreamDelegate: NSObjectProtocol {
  func localAudioStream(
    _ localAudioStream: LocalOutgoingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs)
}

extension LocalOutgoingAudioStreamDelegate {
  public func localAudioStream(
    _ localAudioStream: LocalOutgoingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs
  ) {}
}

/// Closures for the changes of the local outgoing audio stream, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class LocalOutgoingAudioStreamEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onStateChanged: ((AudioStreamStateChangedEventArgs) -> Void)?
  public func removeAll() { onStateChanged = nil }
}

/// The machine's microphone.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class LocalOutgoingAudioStream: OutgoingAudioStream, @unchecked Sendable {  // a lock
  private let listener = Listener<any LocalOutgoingAudioStreamDelegate>()
  public let events = LocalOutgoingAudioStreamEvents()

  public init() { super.init(type: .localOutgoing) }

  public weak var delegate: (any LocalOutgoingAudioStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func stateChanged(_ args: AudioStreamStateChangedEventArgs) {
    delegate?.localAudioStream(self, didChangeState: args)
    events.onStateChanged?(args)
  }
}

/// Notified on the delivery queue of changes of the remote incoming audio stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol RemoteIncomingAudioStreamDelegate: NSObjectProtocol {
  func remoteAudioStream(
    _ remoteAudioStream: RemoteIncomingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs)
}

extension RemoteIncomingAudioStreamDelegate {
  public func remoteAudioStream(
    _ remoteAudioStream: RemoteIncomingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs
  ) {}
}

/// Closures for the changes of the remote incoming audio stream, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class RemoteIncomingAudioStreamEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onStateChanged: ((AudioStreamStateChangedEventArgs) -> Void)?
  public func removeAll() { onStateChanged = nil }
}

/// The machine's loudspeaker, which plays all remote participants.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class RemoteIncomingAudioStream: IncomingAudioStream, @unchecked Sendable {  // a lock
  private let listener = Listener<any RemoteIncomingAudioStreamDelegate>()
  public let events = RemoteIncomingAudioStreamEvents()

  public init() { super.init(type: .remoteIncoming) }

  public weak var delegate: (any RemoteIncomingAudioStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func stateChanged(_ args: AudioStreamStateChangedEventArgs) {
    delegate?.remoteAudioStream(self, didChangeState: args)
    events.onStateChanged?(args)
  }
}

/// A loudspeaker that plays nothing: the app has stopped the incoming stream.
final class StoppedLoudspeaker: AudioSink, Sendable {
  func play(_ block: AudioBlock) {}
}
