import Koine

// Devices: plugging, permissions and use by other programs.

extension TestRoom {
  /// The machine that a person's app runs on: its devices, the devices in use, the permissions, and whether a telephone call
  /// has interrupted the audio.
  ///
  ///     room.machine(of: "Ana").setPermission(.denied, .camera)
  ///     room.machine(of: "Ana").unplug("front camera")
  public func machine(of name: String) -> Machine { world(of: name).machine }

  /// Gives a person's cameras on the back of the machine a torch. Call it before the app uses them. `Machine.isTorchOn` tells whether
  /// an app has turned it on.
  ///
  ///     room.addTorch(to: "Ana")
  ///     #expect(room.machine(of: "Ana").isTorchOn("back camera"))
  public func addTorch(to name: String) {
    let machine = machine(of: name)
    for camera in machine.devices(.camera) where camera.attachment == .back && !camera.hasTorch {
      machine.plugIn(
        Machine.Device(
          id: camera.id, kind: .camera, name: camera.name, attachment: .back, source: camera.source, hasTorch: true))
    }
  }

  /// Another program has taken a person's cameras or microphones: none of them starts. Those that run go on.
  public func occupy(_ kind: Machine.Kind, of name: String) {
    TestDevices.setBusy(true, kind, room: id, person: people.entry(named: name).id)
  }

  /// Ends `occupy(_:of:)`: the person's cameras or microphones can be started again.
  public func release(_ kind: Machine.Kind, of name: String) {
    TestDevices.setBusy(false, kind, room: id, person: people.entry(named: name).id)
  }
}
