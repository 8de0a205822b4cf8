import KoineTesting

/// The calls of an app, as its screens use them: the seam behind which each call layer of these tests stands.
@MainActor
protocol CallLayer: AnyObject {
  /// What the app shows now.
  var facts: CallFacts { get }
  /// The app's call screen.
  var view: UIView { get }
  func join()
  func leave()
  func setMicrophoneOn(_ isOn: Bool)
  func setCameraOn(_ isOn: Bool)
  func switchCamera()
  func setSharing(_ isOn: Bool)
  func send(_ text: String)
}

/// What the apps of these tests offer their users.
@MainActor
enum Actions {
  static let all = CallActions<any CallLayer>(
    join: { $0.join() }, leave: { $0.leave() }, microphone: { $0.setMicrophoneOn($1) },
    camera: { $0.setCameraOn($1) }, share: { $0.setSharing($1) }, send: { $0.send($1) },
    own: ["switches the camera": { $0.switchCamera() }])
  /// A stage has no messages, and its shared screen takes the camera's place.
  static let ofStage = CallActions<any CallLayer>(
    join: { $0.join() }, leave: { $0.leave() }, microphone: { $0.setMicrophoneOn($1) },
    camera: { $0.setCameraOn($1) }, own: ["switches the camera": { $0.switchCamera() }])
}

/// A text of an app's chat, `Bea: Hello`, as a message.
func message(ofLine line: String) -> CallFacts.Message {
  let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
  return CallFacts.Message(from: parts.first ?? "", text: parts.count > 1 ? parts[1] : "")
}

extension PortingScenario {
  /// The scenarios of the reference apps: also one with an action of their own.
  static let ofApps =
    all + [
      PortingScenario(
        "switched camera", "The user switches to the other camera and back.",
        [
          .person("Bea", .join), .app(.join), .app(.camera(true)), .app(.own("switches the camera")),
          .app(.own("switches the camera")), .app(.leave),
        ])
    ]
}
