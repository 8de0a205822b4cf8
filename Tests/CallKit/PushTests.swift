import CallKit
import Foundation
import KoineTesting
import PushKit
import Testing

/// Tokens and pushes, without an SDK.
@MainActor
@Suite struct PushTests {
  private final class Receiver: NSObject, PKPushRegistryDelegate {
    let registry: PKPushRegistry
    private(set) var log: [String] = []
    var reported: PhoneApp?

    init(queue: DispatchQueue? = nil) {
      registry = PKPushRegistry(queue: queue)
      super.init()
      registry.delegate = self
    }

    func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {
      log.append("token \(pushCredentials.token.count) \(type == .voIP)")
    }
    func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) { log.append("no token") }
    func pushRegistry(
      _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
      completion: @escaping () -> Void
    ) {
      log.append("push \(payload.dictionaryPayload["number"] as? Int ?? 0)")
      reported?.ring(UUID())
      completion()
    }
  }

  @Test func registryGetsATokenAndPushes() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let phone = room.machine(of: "Ana").phone
    let receiver = room.enter(as: "Ana") { Receiver() }
    receiver.reported = room.enter(as: "Ana") { PhoneApp() }
    #expect(receiver.registry.pushToken(for: .voIP) == nil)
    phone.push(["number": 1])
    receiver.registry.desiredPushTypes = [.voIP]
    #expect(receiver.registry.pushToken(for: .voIP) == phone.pushToken)
    await room.until("the push of before has arrived") { receiver.log == ["token 32 true", "push 1"] }
    let begin = room.now
    phone.setPushDelay(.seconds(2))
    phone.push(["number": 2])
    await room.until("the second has arrived") { receiver.log.last == "push 2" }
    #expect(room.now - begin >= .seconds(2))
    #expect(phone.calls.count == 2)
    receiver.registry.desiredPushTypes = []
    await room.until("the token is void") { receiver.log.last == "no token" }
    #expect(phone.failures.isEmpty)
  }

  @Test func appWithoutTheBackgroundModeGetsNoToken() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    room.machine(of: "Ana").setInformation(AppInformation(["UIBackgroundModes": ["audio"]]))
    let receiver = room.enter(as: "Ana") { Receiver() }
    receiver.registry.desiredPushTypes = [.voIP]
    await room.run(for: .seconds(1))
    #expect(receiver.log.isEmpty)
    #expect(receiver.registry.pushToken(for: .voIP) == nil)
  }

  @Test func launchedAppIsReleasedWhenItIsTerminated() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let machine = room.machine(of: "Ana")
    machine.onLaunch { Receiver() }
    machine.phone.openApp()
    await room.until("it runs") { machine.phone.isAppRunning }
    #expect(!machine.isInBackground)
    weak let app = machine.phone.runningApp
    #expect(app != nil)
    machine.phone.terminateApp()
    #expect(app == nil)
    #expect(machine.isInBackground)
  }
}
