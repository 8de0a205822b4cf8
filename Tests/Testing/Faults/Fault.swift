import Foundation
import KoineAVFoundation
import KoineTesting
import Testing

/// All faults that a test room can inject. Each style has a suite that tests all of them and names the effect in the vendor's
/// terms: a `switch` that omits one does not compile.
enum Fault: CaseIterable, Sendable {
  case credentialRefused, permissionRefused, serverFails, roomFull, sentOut, roomClosed
  case serverRestart, throttle, networkLost, networkChange
  case cameraUnplugged, cameraBusy, noCamera, cameraDenied, microphoneDenied, keysMissing
  case interruption, routeChange, background

  /// Whether the fault is injected before the app enters the room.
  private var isBeforeEntering: Bool {
    switch self {
    case .credentialRefused, .permissionRefused, .serverFails, .roomFull: true
    case .cameraBusy, .noCamera, .cameraDenied, .microphoneDenied, .keysMissing: true
    case .sentOut, .roomClosed, .serverRestart, .throttle, .networkLost, .networkChange: false
    case .cameraUnplugged, .interruption, .routeChange, .background: false
    }
  }

  /// Whether the app gets into the room at all.
  var letsIn: Bool {
    switch self {
    case .credentialRefused, .permissionRefused, .serverFails, .roomFull: false
    default: true
    }
  }

  func beforeEntering(_ room: TestRoom) throws { if isBeforeEntering { try inject(in: room) } }
  func afterEntering(_ room: TestRoom) throws { if !isBeforeEntering { try inject(in: room) } }

  static let headset = Machine.Device(
    id: "headset", kind: .microphone, name: "Headset", attachment: .wired, source: "tone:500")

  private func inject(in room: TestRoom) throws {
    let machine = room.machine(of: "Ana")
    switch self {
    case .credentialRefused: room.refuse("Ana", .credential)
    case .permissionRefused: room.refuse("Ana", .permission)
    case .serverFails: room.refuse("Ana", .failure)
    case .roomFull: room.limitParticipants(to: 1)  // Bea is in
    case .sentOut: room.remove("Ana")
    case .roomClosed: room.close()
    case .serverRestart: room.restartServer()
    case .throttle: try room.setNetwork("rate=30k,loss=20%,delay=300ms", of: "Ana")
    case .networkLost: room.cutNetwork(of: "Ana", for: .seconds(3_600))
    case .networkChange: room.changeNetwork(of: "Ana")
    case .cameraUnplugged, .noCamera: for camera in machine.devices(.camera) { machine.unplug(camera.id) }
    case .cameraBusy: room.occupy(.camera, of: "Ana")
    case .cameraDenied: machine.setPermission(.denied, .camera)
    case .microphoneDenied: machine.setPermission(.denied, .microphone)
    case .keysMissing:
      machine.setInformation(AppInformation(["NSMicrophoneUsageDescription": "so that others hear you"]))
    case .interruption: machine.beginInterruption()
    case .routeChange: machine.plugIn(Self.headset)
    case .background: machine.moveToBackground()
    }
  }
}

/// The effect of a fault in every style. Ana is the app's user, Bea is the test's `Person`.
@MainActor extension TestRoom {
  /// Waits until Ana's app shows Bea, and Bea sees Ana unless the fault keeps Ana's camera off.
  func meet(on view: UIView, _ bea: Person, _ fault: Fault, once isIn: @MainActor () -> Bool) async {
    await until("they meet") { isIn() && screen(view).shows("Bea") }
    if ![.cameraBusy, .noCamera, .cameraDenied, .keysMissing].contains(fault) {
      await until("Bea sees Ana") { bea.sees("Ana") }
    }
  }

  /// Waits until video flows again after a network fault: each sees a frame that the other captured at least 1 s after the call
  /// of this method.
  func expectVideoAgain(on view: UIView, and bea: Person) async {
    await run(for: .seconds(1))
    let moment = now
    await until("pictures flow again", within: .seconds(60)) {
      screen(view).shows("Bea", newerThan: moment) && bea.sees("Ana", newerThan: moment)
    }
  }

  /// Checks that neither participant hears the other during the interruption, ends it, and waits until both hear each other.
  func endInterruption(of machine: Machine, before bea: Person, _ notices: Notices) async {
    await run(for: .seconds(1))
    #expect(speaker.isSilent)
    #expect(!bea.hears("Ana"))
    #expect(notices.all == ["Interruption"])
    machine.endInterruption()
    await until("sound is back") { speaker.hears("Bea") && bea.hears("Ana") }
  }
}

/// Notifications that Apple's notification centre posts about one machine, by the last word of each name.
final class Notices: Sendable {
  private let names = Lock<[String]>([])
  private let tokens = Lock<[any NSObjectProtocol & Sendable]>([])

  init(of machine: Machine) {
    let sources: [(any AnyObject & Sendable, [Notification.Name])] = [
      (AVAudioSession.of(machine), [AVAudioSession.interruptionNotification, AVAudioSession.routeChangeNotification]),
      (
        UIApplication.of(machine),
        [
          UIApplication.willResignActiveNotification, UIApplication.didEnterBackgroundNotification,
          UIApplication.willEnterForegroundNotification, UIApplication.didBecomeActiveNotification,
        ]
      ),
    ]
    for (object, wanted) in sources {
      for name in wanted {
        let token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { [names] _ in
          let text = name.rawValue.replacing("Notification", with: "").replacing("UIApplication", with: "")
          names.withLock { $0.append(text.replacing("AVAudioSession", with: "")) }
        }
        tokens.withLock { $0.append(token) }
      }
    }
  }

  deinit { for token in tokens.withLock({ $0 }) { NotificationCenter.default.removeObserver(token) } }

  var all: [String] { names.withLock { $0 } }
}
