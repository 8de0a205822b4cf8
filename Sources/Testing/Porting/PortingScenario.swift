/// A scenario of ``PortingSuite``: steps of the app's user, of two native people, and of faults.
public struct PortingScenario: Sendable, Identifiable {
  /// The name in reports, such as `mute`.
  public let id: String
  /// One sentence that says what happens.
  public let title: String
  /// The steps in order. The last step ends the call.
  public let steps: [PortingStep]

  /// Creates a scenario.
  public init(_ id: String, _ title: String, _ steps: [PortingStep]) {
    self.id = id
    self.title = title
    self.steps = steps
  }

  /// The app's actions that the scenario needs.
  var actions: [AppAction] {
    steps.compactMap { step in if case .app(let action) = step.action { action } else { nil } }
  }

  private static let bea = "Bea"
  private static let cleo = "Cleo"
  /// Both people are in the room when the app joins.
  private static let meeting: [PortingStep] = [.person(bea, .join), .person(cleo, .join), .app(.join)]

  /// All scenarios: people, devices, messages, and the faults of Docs/adopt.md.
  public static let all = calls + networkFaults + ends + refusals + deviceFaults

  static let calls = [
    PortingScenario(
      "people", "People join and leave while the app is in the call.",
      [.person(bea, .join), .app(.join), .person(cleo, .join), .person(bea, .leave), .app(.leave)]),
    PortingScenario(
      "state", "The app joins people that are muted, without a camera, or sharing.",
      [
        .person(bea, .join), .person(bea, .mute(true)), .person(cleo, .join), .person(cleo, .camera(false)),
        .person(cleo, .share(true)), .app(.join), .person(bea, .mute(false)), .person(cleo, .camera(true)),
        .person(cleo, .share(false)), .app(.leave),
      ]),
    PortingScenario(
      "mute", "The app and both people mute and unmute.",
      meeting + [
        .app(.microphone(false)), .person(bea, .mute(true)), .app(.microphone(true)), .person(cleo, .mute(true)),
        .person(bea, .mute(false)), .app(.leave),
      ]),
    PortingScenario(
      "camera", "The app and a person turn the camera on and off.",
      meeting + [
        .app(.camera(true)), .person(bea, .camera(false)), .app(.camera(false)), .app(.camera(true)),
        .person(bea, .camera(true)), .app(.leave),
      ]),
    PortingScenario(
      "share", "The app and a person share their screens, one after the other.",
      meeting + [
        .app(.share(true)), .app(.share(false)), .person(bea, .share(true)), .person(bea, .share(false)),
        .app(.share(true)), .app(.leave),
      ]),
    PortingScenario(
      "speakers", "One person speaks alone, then another.",
      meeting + [
        .app(.microphone(false)), .person(bea, .mute(true)), .wait(.seconds(5)), .person(bea, .mute(false)),
        .person(cleo, .mute(true)), .wait(.seconds(5)), .app(.leave),
      ]),
    PortingScenario(
      "messages", "The app and both people send messages, also several at once.",
      meeting + [
        .app(.send(["one"])), .person(bea, .send(["two", "three"])), .person(cleo, .send(["two"])),
        .app(.send(["four", "five"])), .person(bea, .leave), .person(cleo, .send(["six"])), .app(.leave),
      ]),
  ]

  static let networkFaults = [
    PortingScenario(
      "short cut", "The user's network is cut for 8 s.",
      meeting + [.fault(.cut(.seconds(8))), .wait(.seconds(12)), .app(.microphone(false)), .app(.leave)]),
    PortingScenario(
      "cut", "The user's network is cut until the connection is lost, and returns.",
      meeting + [
        .fault(.cut(.seconds(600))), .wait(.seconds(20)), .fault(.cut(.zero)), .wait(.seconds(25)), .app(.leave),
      ]),
    PortingScenario(
      "lost", "The user's network does not return.",
      meeting + [.fault(.cut(.seconds(3_600))), .wait(.seconds(220))]),
    // At 5 %, three packets in a row get lost now and then. Which ones depends on a layer's other packets, and a video of five frames a second
    // rests for over a second then.
    PortingScenario(
      "loss", "The network loses and delays packets.",
      meeting + [
        .person(cleo, .mute(true)), .fault(.network("loss=2%,delay=60ms")), .app(.microphone(false)),
        .person(bea, .mute(true)),
        .app(.microphone(true)), .app(.leave),
      ]),
    PortingScenario(
      "restart", "The server restarts.",
      meeting + [.fault(.restartServer), .wait(.seconds(5)), .app(.microphone(false)), .app(.leave)]),
    PortingScenario(
      "address", "The user's machine changes from one network to another.",
      meeting + [.fault(.changeAddress), .person(bea, .mute(true)), .app(.leave)]),
    PortingScenario(
      "absent person", "A person loses the network, is dropped, and comes back.",
      meeting + [.person(bea, .drop), .wait(.seconds(60)), .person(bea, .comeBack), .app(.leave)]),
  ]

  static let ends = [
    PortingScenario("removed", "The room removes the user.", meeting + [.fault(.remove)]),
    PortingScenario("closed", "The room is closed.", meeting + [.fault(.close)]),
  ]

  static let refusals = [
    PortingScenario(
      "refused credential", "The server refuses the credential.",
      [.person(bea, .join), .fault(.refuse(.credential)), .app(.join)]),
    PortingScenario(
      "refused permission", "The credential does not give the permission.",
      [.person(bea, .join), .fault(.refuse(.permission)), .app(.join)]),
    PortingScenario(
      "server failure", "The server fails when the app joins.",
      [.person(bea, .join), .fault(.refuse(.failure)), .app(.join)]),
    PortingScenario("full", "The room is full.", [.person(bea, .join), .fault(.limit(1)), .app(.join)]),
  ]

  static let deviceFaults = [
    PortingScenario(
      "unplugged camera", "The camera is unplugged while it is on.",
      meeting + [.app(.camera(true)), .fault(.unplugCameras), .app(.leave)]),
    PortingScenario(
      "busy camera", "Another program has the camera.",
      meeting + [.fault(.occupyCamera(true)), .app(.camera(true)), .app(.leave)]),
    PortingScenario(
      "denied camera", "The user denies the camera.",
      meeting + [.fault(.denyCamera), .app(.camera(true)), .app(.leave)]),
    PortingScenario(
      "interruption", "A telephone call interrupts the audio.",
      meeting + [.fault(.interrupt(true)), .fault(.interrupt(false)), .app(.leave)]),
    PortingScenario(
      "background", "The app moves to the background and returns.",
      meeting + [
        .app(.camera(true)), .fault(.background(true)), .fault(.background(false)), .app(.leave),
      ]),
  ]
}
