// The app that runs on the machine: whether it is in front, and what its bundle lets it do.

extension Machine {
  /// Whether another app is in front of this one, or none.
  public var isInBackground: Bool { state.withLock { $0.isInBackground } }

  /// As when a person goes to the home screen: its cameras give nothing until it comes back. So do its microphones and
  /// loudspeakers, unless its `information` has `audio` or `voip` among `UIBackgroundModes`; a machine without information
  /// lets them go on. The app's code is not halted.
  public func moveToBackground() {
    change { state in
      defer { state.isInBackground = true }
      return state.isInBackground ? [] : [.wentToBackground]
    }
  }

  public func returnToForeground() {
    change { state in
      defer { state.isInBackground = false }
      return state.isInBackground ? [.cameToForeground] : []
    }
  }

  /// What the app's bundle says; nil (as it begins): nobody has said, and nothing is kept from it for that.
  public var information: AppInformation? { state.withLock { $0.information } }

  /// An app that does not say what it wants cameras or microphones for is not given them: they count as denied, whatever
  /// the owner says. (On a telephone the system ends such an app; here `missingKeys` says what it lacks.)
  public func setInformation(_ information: AppInformation?) {
    change { state in
      let before = [Kind.camera, .microphone].map { ($0, state.permission($0)) }
      state.information = information
      return before.compactMap { kind, was in
        let now = state.permission(kind)
        return now == was ? nil : .permissionChanged(kind, now)
      }
    }
  }

  /// Keys that are not in the app's information although it has asked for what needs them.
  public var missingKeys: Set<String> { state.withLock { $0.missingKeys } }
}

extension Machine.State {
  func permission(_ kind: Machine.Kind) -> Machine.Permission {
    information?.describesUse(of: kind) == false ? .denied : permissions[kind] ?? .granted
  }

  /// The same for an app that asks.
  mutating func permissionAsked(_ kind: Machine.Kind) -> Machine.Permission {
    if information?.describesUse(of: kind) == false, let key = AppInformation.usageKey(for: kind) {
      missingKeys.insert(key)
    }
    return permission(kind)
  }

  /// What of a kind may run now.
  func mayRun(_ kind: Machine.Kind) -> Bool {
    guard kind == .loudspeaker || permission(kind) == .granted else { return false }
    switch kind {
    case .camera: return !isInBackground
    case .microphone, .loudspeaker:
      return !isInterrupted && !(isInBackground && information?.hasSoundInBackground == false)
    }
  }
}
