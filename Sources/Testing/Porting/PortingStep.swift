import Koine
public import KoineEmbeddedBackend

/// One step of a scenario: an action of the app or of a native person, a fault, or time that passes.
public struct PortingStep: Sendable, Hashable {
  enum Action: Sendable, Hashable {
    case app(AppAction)
    case person(String, PersonAction)
    case fault(CallFault)
    case wait(Duration)
  }

  /// The step's name, by which reports and ``ExpectedDifference`` rows name it. The same action has the same name in all scenarios.
  public let name: String
  let action: Action

  /// The app's user does something.
  public static func app(_ action: AppAction) -> PortingStep { PortingStep(name: action.name, action: .app(action)) }
  /// A native person does something. The first step of a person is `.join`.
  public static func person(_ name: String, _ action: PersonAction) -> PortingStep {
    PortingStep(name: "\(name) \(action.name)", action: .person(name, action))
  }
  /// A fault of the network, the server or the user's machine.
  public static func fault(_ fault: CallFault) -> PortingStep { PortingStep(name: fault.name, action: .fault(fault)) }
  /// Time passes.
  /// - Parameter duration: time of the room, before the run waits for the facts to settle.
  public static func wait(_ duration: Duration) -> PortingStep {
    PortingStep(name: "\(seconds(duration)) pass", action: .wait(duration))
  }

  /// Returns this step under another name, for a step that a row of expected differences must tell from others of its kind.
  public func named(_ name: String) -> PortingStep { PortingStep(name: name, action: action) }

  fileprivate static func seconds(_ duration: Duration) -> String {
    duration.components.attoseconds == 0 ? "\(duration.components.seconds) s" : "\(duration.inSeconds) s"
  }
}

/// An action of the app's user.
public enum AppAction: Sendable, Hashable {
  /// Enters the call.
  case join
  /// Leaves the call.
  case leave
  /// Turns the microphone on or off.
  case microphone(Bool)
  /// Turns the camera on or off.
  case camera(Bool)
  /// Starts or ends sharing the screen.
  case share(Bool)
  /// Sends these messages, one directly after the other.
  case send([String])
  /// An action of `CallActions.own`.
  case own(String)

  var name: String {
    switch self {
    case .join: "the app joins"
    case .leave: "the app leaves"
    case .microphone(let isOn): isOn ? "the app unmutes" : "the app mutes"
    case .camera(let isOn): "the app turns the camera \(isOn ? "on" : "off")"
    case .share(let isOn): isOn ? "the app shares its screen" : "the app stops sharing"
    case .send(let texts): texts.count == 1 ? "the app sends a message" : "the app sends \(texts.count) messages"
    case .own(let name): "the app: \(name)"
    }
  }
}

/// An action of a native person of the test room.
public enum PersonAction: Sendable, Hashable {
  /// Enters the room with camera and microphone.
  case join
  /// Leaves the room.
  case leave
  /// Mutes or unmutes the microphone.
  case mute(Bool)
  /// Turns the camera on or off.
  case camera(Bool)
  /// Starts or stops sharing a screen.
  case share(Bool)
  /// Sends these messages, one directly after the other.
  case send([String])
  /// Loses its network without notice.
  case drop
  /// Gets its network back, and joins again if the room has dropped it. The step waits until the person is in the room.
  case comeBack

  var name: String {
    switch self {
    case .join: "joins"
    case .leave: "leaves"
    case .mute(let isMuted): isMuted ? "mutes" : "unmutes"
    case .camera(let isOn): "turns the camera \(isOn ? "on" : "off")"
    case .share(let isOn): isOn ? "shares a screen" : "stops sharing"
    case .send(let texts): texts.count == 1 ? "sends a message" : "sends \(texts.count) messages"
    case .drop: "loses the network"
    case .comeBack: "gets the network back"
    }
  }
}

/// A fault that a scenario causes: of the network, of the server, or of the machine of the app's user.
public enum CallFault: Sendable, Hashable {
  /// The user's network is cut for a time; a later cut replaces an earlier one, and a cut of zero restores the network.
  case cut(Duration)
  /// The network of every participant changes, in the words of `TestRoom.setNetwork`.
  case network(String)
  /// The user's machine gets another network address.
  case changeAddress
  /// The server restarts and loses its state.
  case restartServer
  /// The room removes the user.
  case remove
  /// The room is closed for all participants.
  case close
  /// The server refuses the user's further joins; nil: it admits them again.
  case refuse(EmbeddedBackend.Refusal?)
  /// The room admits at most this many participants; nil: no limit.
  case limit(Int?)
  /// All cameras of the user's machine are unplugged.
  case unplugCameras
  /// Another program takes the user's cameras (true) or releases them.
  case occupyCamera(Bool)
  /// The user denies the app the camera.
  case denyCamera
  /// The user denies the app the microphone.
  case denyMicrophone
  /// A telephone call interrupts the audio (true), or the interruption ends.
  case interrupt(Bool)
  /// The app moves to the background (true) or returns.
  case background(Bool)

  var name: String {
    switch self {
    case .cut(let duration):
      duration == .zero ? "the network returns" : "the network is cut for \(PortingStep.seconds(duration))"
    case .network(let network): "the network becomes \(network)"
    case .changeAddress: "the network address changes"
    case .restartServer: "the server restarts"
    case .remove: "the app is removed"
    case .close: "the room is closed"
    case .refuse(.some(let refusal)): "joins are refused (\(refusal))"
    case .refuse(.none): "joins are admitted again"
    case .limit(.some(let limit)): "the room is limited to \(limit)"
    case .limit(.none): "the limit ends"
    case .unplugCameras: "the cameras are unplugged"
    case .occupyCamera(let isBusy): isBusy ? "the camera becomes busy" : "the camera becomes free"
    case .denyCamera: "the camera is denied"
    case .denyMicrophone: "the microphone is denied"
    case .interrupt(let isOn): isOn ? "a telephone call begins" : "the telephone call ends"
    case .background(let isOn): isOn ? "the app moves to the background" : "the app returns to the foreground"
    }
  }

  @MainActor
  func inject(in room: TestRoom, user: String) throws {
    let machine = room.machine(of: user)
    switch self {
    case .cut(let duration): room.cutNetwork(of: user, for: duration)
    case .network(let network): try room.setNetwork(network)
    case .changeAddress: room.changeNetwork(of: user)
    case .restartServer: room.restartServer()
    case .remove: room.remove(user)
    case .close: room.close()
    case .refuse(let refusal): room.refuse(user, refusal)
    case .limit(let limit): room.limitParticipants(to: limit)
    case .unplugCameras: for camera in machine.devices(.camera) { machine.unplug(camera.id) }
    case .occupyCamera(let isBusy): isBusy ? room.occupy(.camera, of: user) : room.release(.camera, of: user)
    case .denyCamera: machine.setPermission(.denied, .camera)
    case .denyMicrophone: machine.setPermission(.denied, .microphone)
    case .interrupt(let isOn): isOn ? machine.beginInterruption() : machine.endInterruption()
    case .background(let isOn): isOn ? machine.moveToBackground() : machine.returnToForeground()
    }
  }
}
