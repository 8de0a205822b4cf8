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

  /// Brings the app to the foreground: its cameras give frames again.
  public func returnToForeground() {
    change { state in
      defer { state.isInBackground = false }
      return state.isInBackground ? [.cameToForeground] : []
    }
  }

  /// The information in the app's bundle. Nil (the default): the information is unknown, and the machine denies nothing
  /// because of it.
  public var information: AppInformation? { state.withLock { $0.information } }

  /// Sets the information in the app's bundle. An app without a usage description for cameras or microphones does not get
  /// them: access counts as denied, regardless of the owner's answer. (On iOS the system terminates such an app. Here
  /// `missingKeys` lists the missing keys.)
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
      let isAllowed = audioDirections?.contains(kind == .microphone ? .capture : .playback) ?? true
      return isAllowed && !isInterrupted && !(isInBackground && information?.hasSoundInBackground == false)
    }
  }
}
