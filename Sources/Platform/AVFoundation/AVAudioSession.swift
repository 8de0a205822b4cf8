public import Foundation
import Koine

/// What the process's sound comes in by and goes out by.
public final class AVAudioSession: NSObject, Sendable {
  public enum RecordPermission: UInt, Sendable {
    case undetermined = 0x756e_6474  // "undt"
    case denied = 0x6465_6e79  // "deny"
    case granted = 0x6772_6e74  // "grnt"
  }

  /// What kind of socket a port is.
  public struct Port: Sendable, Hashable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let builtInMic = Port(rawValue: "MicrophoneBuiltIn")
    public static let headsetMic = Port(rawValue: "MicrophoneWired")
    public static let headphones = Port(rawValue: "Headphones")
    public static let builtInReceiver = Port(rawValue: "Receiver")
    public static let builtInSpeaker = Port(rawValue: "Speaker")
    public static let bluetoothHFP = Port(rawValue: "BluetoothHFP")
    public static let bluetoothA2DP = Port(rawValue: "BluetoothA2DPOutput")
    public static let bluetoothLE = Port(rawValue: "BluetoothLE")
  }

  private struct State {
    var inputs = [AVAudioSessionPortDescription(portType: .builtInMic, portName: "Built-in Microphone")]
    var watchers: [Int: @Sendable () -> Void] = [:]
    var nextWatcher = 0
  }
  private let state = Lock(State())

  private static let shared = AVAudioSession()
  public class func sharedInstance() -> AVAudioSession { shared }

  public var recordPermission: RecordPermission { Permissions.current.microphone ? .granted : .denied }

  /// - Parameter response: called once, on the delivery queue.
  public func requestRecordPermission(_ response: @escaping (Bool) -> Void) {
    Permissions.answer(Permissions.current.microphone, response)
  }

  public var availableInputs: [AVAudioSessionPortDescription]? { state.withLock { $0.inputs } }

  // MARK: Plugging (not Apple's)

  /// A microphone is plugged in, as by a person.
  public func plugIn(_ port: AVAudioSessionPortDescription) {
    change { inputs in if !inputs.contains(port) { inputs.append(port) } }
  }

  public func unplug(_ port: AVAudioSessionPortDescription) { change { inputs in inputs.removeAll { $0 == port } } }

  private func change(_ change: (inout [AVAudioSessionPortDescription]) -> Void) {
    let watchers = state.withLock { state in
      let before = state.inputs
      change(&state.inputs)
      return state.inputs == before ? [] : Array(state.watchers.values)
    }
    for watcher in watchers { watcher() }
  }

  /// Calls `watcher` on the plugging thread whenever an input comes or goes.
  /// - Returns: stops that.
  public func watchInputs(_ watcher: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let number = state.withLock { state in
      state.nextWatcher += 1
      state.watchers[state.nextWatcher] = watcher
      return state.nextWatcher
    }
    return { [self] in state.withLock { $0.watchers[number] = nil } }
  }
}

/// A socket for sound, with the name that people see.
public final class AVAudioSessionPortDescription: NSObject, Sendable {
  public let portType: AVAudioSession.Port
  public let portName: String
  public let uid: String
  /// In the words of `Devices.microphone`; nil: the world's own microphone.
  public let source: String?

  public init(portType: AVAudioSession.Port, portName: String, source: String? = nil) {
    self.portType = portType
    self.portName = portName
    self.source = source
    uid = "\(portType.rawValue):\(portName)"
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? AVAudioSessionPortDescription)?.uid == uid }
  public override var hash: Int { uid.hashValue }
}
