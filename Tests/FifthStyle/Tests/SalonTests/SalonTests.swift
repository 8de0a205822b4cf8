import Koine
import KoineConformanceKit
import KoineEmbeddedBackend
import Testing

/// Where salons are held: in this process, in virtual time.
@MainActor
private final class Parlour: TestEnvironment {
  private let backend: EmbeddedBackend
  private var world: World

  init(seed: UInt64) {
    backend = EmbeddedBackend(virtual: seed)
    world = Self.world(backend, camera: "stamp:Somebody,160x90@15")
  }

  private static func world(_ backend: EmbeddedBackend, camera: String) -> World {
    World(backend: backend, devices: DefaultDevices(camera: camera, screen: "pattern:160x90@10"))
  }

  var now: Int { Int(backend.scheduler.now.nanoseconds / 1_000_000) }
  func run(milliseconds: Int) async { await world.run(for: .milliseconds(milliseconds)) }
  func makeDriver(style: String, name: String, room: String, credential: CredentialState) -> any Driver {
    SalonDriver(name, room: room, in: world, recorder: Recorder(who: name) { [self] in now })
  }
  func useLargeCameras() -> Bool {
    world = Self.world(backend, camera: "pattern:640x360@15")
    return true
  }
  func close() async {}

  func obstacle(to fault: Fault) -> String? {
    if case .narrowPath = fault { "this place has no narrow paths" } else { nil }
  }

  func inject(_ fault: Fault) {
    switch fault {
    case .gap(let id, let milliseconds): backend.cutNetwork(of: id, for: .milliseconds(milliseconds))
    case .addressChange(let id): backend.changeAddress(of: id)
    case .routerRestart: backend.restartRouter()
    case .limit(let people): backend.limitParticipants(to: people)
    case .narrowPath: break
    }
  }
}

@MainActor
@Suite struct SalonTests {
  @Test func theFifthStyleKeepsEveryPromise() async {
    let environment = EnvironmentFactory(name: "parlour", isVirtual: true) { seed, _ in Parlour(seed: seed) }
    let report = await Suite(styles: ["salon"], environments: [environment]).run()
    print("the fifth style: \(report.summary)")
    #expect(report.failures.isEmpty, "\(report.failureText())")
    #expect(report.passes > 65)
  }
}
