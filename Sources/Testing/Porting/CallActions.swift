/// What the user of an app can do in a call, as calls of the protocol that both call layers conform to.
///
///     let actions = CallActions<any CallLayer>(
///       join: { $0.join() }, leave: { $0.leave() }, microphone: { $0.setMuted(!$1) }, send: { $0.send($1) })
///
/// Each action runs on the main actor, inside `room.enter(as:)` of the app's user, and returns at once as the code behind a button does.
/// The error of an action that throws is a fact of its step, `thrown`.
@MainActor
public struct CallActions<Layer> {
  /// An action without an argument.
  public typealias Action = @MainActor (Layer) throws -> Void
  /// An action that turns something on (true) or off.
  public typealias Switch = @MainActor (Layer, Bool) throws -> Void

  let join, leave: Action
  let microphone, camera, share: Switch?
  let send: (@MainActor (Layer, String) throws -> Void)?
  let own: [String: Action]

  /// Creates the actions of an app. Scenarios that need an action which the app does not have are left out, and the report lists them.
  /// - Parameters:
  ///   - join: enters the call.
  ///   - leave: leaves the call.
  ///   - microphone: turns the microphone on or off.
  ///   - camera: turns the camera on or off.
  ///   - share: starts or ends sharing the screen.
  ///   - send: sends a message.
  ///   - own: further actions, by names of the app's choice (`PortingStep.app(.own("flip camera"))`).
  public init(
    join: @escaping Action, leave: @escaping Action, microphone: Switch? = nil, camera: Switch? = nil,
    share: Switch? = nil, send: (@MainActor (Layer, String) throws -> Void)? = nil, own: [String: Action] = [:]
  ) {
    self.join = join
    self.leave = leave
    self.microphone = microphone
    self.camera = camera
    self.share = share
    self.send = send
    self.own = own
  }

  /// Whether the app has an action.
  func has(_ action: AppAction) -> Bool {
    switch action {
    case .join, .leave: true
    case .microphone: microphone != nil
    case .camera: camera != nil
    case .share: share != nil
    case .send: send != nil
    case .own(let name): own[name] != nil
    }
  }

  func perform(_ action: AppAction, on layer: Layer) throws {
    switch action {
    case .join: try join(layer)
    case .leave: try leave(layer)
    case .microphone(let isOn): try microphone?(layer, isOn)
    case .camera(let isOn): try camera?(layer, isOn)
    case .share(let isOn): try share?(layer, isOn)
    case .send(let texts): for text in texts { try send?(layer, text) }
    case .own(let name): try own[name]?(layer)
    }
  }
}
