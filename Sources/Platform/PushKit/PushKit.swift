public import Dispatch
public import Foundation
import Koine
import KoineCallKit

/// A kind of push.
///
/// [Apple's page](https://developer.apple.com/documentation/pushkit/pkpushtype)
public struct PKPushType: Sendable, Hashable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  public static let voIP = PKPushType(rawValue: "PKPushTypeVoIP")
  /// No push of this kind arrives here.
  public static let fileProvider = PKPushType(rawValue: "PKPushTypeFileProvider")
}

/// The device token that an app sends to its server.
///
/// [Apple's page](https://developer.apple.com/documentation/pushkit/pkpushcredentials)
public final class PKPushCredentials: NSObject, Sendable {
  public let type: PKPushType
  public let token: Data

  init(_ type: PKPushType, _ token: Data) { (self.type, self.token) = (type, token) }
}

/// The content of a push.
///
/// [Apple's page](https://developer.apple.com/documentation/pushkit/pkpushpayload)
public final class PKPushPayload: NSObject, Sendable {
  public let type: PKPushType
  private let values: [String: any Sendable]
  public var dictionaryPayload: [AnyHashable: Any] {
    Dictionary(uniqueKeysWithValues: values.map { (AnyHashable($0.key), $0.value as Any) })
  }

  init(_ type: PKPushType, _ values: [String: any Sendable]) { (self.type, self.values) = (type, values) }
}

/// Receives an app's device token and pushes, on the registry's queue.
///
/// [Apple's page](https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate)
public protocol PKPushRegistryDelegate: NSObjectProtocol {
  func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType)
  /// - Parameter completion: called once the push is handled: for a VoIP push, after its call was reported to CallKit.
  func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping () -> Void)
  /// The older form, without completion.
  func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType)
  func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType)
}

extension PKPushRegistryDelegate {
  public func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping () -> Void
  ) {
    pushRegistry(registry, didReceiveIncomingPushWith: payload, for: type)
    completion()
  }
  public func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType
  ) {}
  public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {}
}

/// Registers an app for pushes. The registry belongs to the phone of the machine that the code runs on when it makes the registry.
///
/// [Apple's page](https://developer.apple.com/documentation/pushkit/pkpushregistry)
public final class PKPushRegistry: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    weak var delegate: (any PKPushRegistryDelegate)?
    var types: Set<PKPushType>?
  }
  private let state = Lock(State())
  private let queue: DispatchQueue?
  private let phone: Phone
  private let mayReceive: Bool
  private let receiver = Receiver()

  /// - Parameter queue: nil: the main queue.
  public init(queue: DispatchQueue?) {
    self.queue = queue
    let machine = Machine.current
    phone = machine.phone
    mayReceive = machine.information?.hasBackgroundMode("voip") ?? true
    super.init()
    receiver.set(self)
  }

  public weak var delegate: (any PKPushRegistryDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// The kinds of pushes that the app wants. Setting `voIP` brings the token by `pushRegistry(_:didUpdate:for:)`, unless the app's
  /// information (`Machine.information`) lacks the background mode `voip`.
  public var desiredPushTypes: Set<PKPushType>? {
    get { state.withLock { $0.types } }
    set {
      let hadVoIP = state.withLock { state in
        defer { state.types = newValue }
        return state.types?.contains(.voIP) ?? false
      }
      let hasVoIP = newValue?.contains(.voIP) ?? false
      guard mayReceive, hadVoIP != hasVoIP else { return }
      onQueue { [self] in
        guard let delegate else { return }
        if hasVoIP {
          delegate.pushRegistry(self, didUpdate: PKPushCredentials(.voIP, phone.pushToken), for: .voIP)
        } else {
          delegate.pushRegistry(self, didInvalidatePushTokenFor: .voIP)
        }
      }
      phone.addPushReceiver(receiver)
    }
  }

  /// The token for pushes of a kind; nil if the app has not asked for them.
  public func pushToken(for type: PKPushType) -> Data? { type == .voIP && wantsPushes ? phone.pushToken : nil }

  private func onQueue(_ body: @escaping @Sendable () -> Void) { phone.deliver(on: queue, body) }

  fileprivate var wantsPushes: Bool { mayReceive && desiredPushTypes?.contains(.voIP) ?? false }

  fileprivate func receivePush(_ payload: [String: any Sendable], completion: @escaping @Sendable () -> Void) {
    onQueue { [self] in
      delegate?.pushRegistry(
        self, didReceiveIncomingPushWith: PKPushPayload(.voIP, payload), for: .voIP, completion: { completion() })
    }
  }
}

/// A registry as the phone knows it.
private final class Receiver: PushReceiver {
  private struct WeakRegistry { weak var registry: PKPushRegistry? }
  private let reference = Lock(WeakRegistry())

  func set(_ registry: PKPushRegistry) { reference.withLock { $0.registry = registry } }

  var wantsPushes: Bool { reference.withLock { $0.registry }?.wantsPushes ?? false }
  func receivePush(_ payload: [String: any Sendable], completion: @escaping @Sendable () -> Void) {
    reference.withLock { $0.registry }?.receivePush(payload, completion: completion)
  }
}
