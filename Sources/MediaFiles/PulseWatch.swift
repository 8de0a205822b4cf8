import CKoinePulse
import Koine

/// Follows a sound server's devices over a connection and a thread of PulseAudio's own. While there is no server it looks for
/// one every second.
///
/// `@unchecked Sendable`: everything mutable is touched on that thread only, or while it is locked out.
final class PulseWatch: @unchecked Sendable {
  private let server: String?
  private let roster: DeviceRoster
  private let loop: OpaquePointer
  private var context: OpaquePointer?
  private var isLooking = false
  private var looksAgain = false
  /// For the next attempt to reach the server.
  private var isWaiting = false
  private var found: [Machine.Device] = []
  private var defaults: Set<Machine.Device.ID> = []

  /// - Returns: nil when there can be no thread for it.
  init?(_ machine: Machine, server: String?) {
    self.server = server
    roster = DeviceRoster(machine)
    guard let loop = pa_threaded_mainloop_new() else { return nil }
    self.loop = loop
    connect()
    guard pa_threaded_mainloop_start(loop) >= 0 else {
      release()
      return nil
    }
  }

  /// Returns once no callback runs any more; until then the owner holds this object.
  func stop() {
    pa_threaded_mainloop_stop(loop)
    release()
  }

  private func release() {
    disconnect()
    pa_threaded_mainloop_free(loop)
  }

  private func disconnect() {
    guard let context else { return }
    pa_context_set_state_callback(context, nil, nil)
    pa_context_set_subscribe_callback(context, nil, nil)
    pa_context_disconnect(context)
    pa_context_unref(context)
    self.context = nil
  }

  // MARK: On PulseAudio's thread

  /// A connection that has failed is no use any more: each attempt takes a new one.
  private func connect() {
    disconnect()
    (isLooking, looksAgain) = (false, false)
    context = pa_context_new(pa_threaded_mainloop_get_api(loop), "Koine devices")
    guard let context else { return connectLater() }
    let me = Unmanaged.passUnretained(self).toOpaque()
    pa_context_set_state_callback(context, { _, me in PulseWatch.from(me)?.stateChanged() }, me)
    pa_context_set_subscribe_callback(context, { _, _, _, me in PulseWatch.from(me)?.look() }, me)
    // After an immediate failure the context's state says so, too, but the state callback need not have been called.
    if pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 { connectLater() }
  }

  private func connectLater() {
    guard !isWaiting, let api = pa_threaded_mainloop_get_api(loop) else { return }
    isWaiting = true
    var due = timeval()
    pa_timeval_add(pa_gettimeofday(&due), 1_000_000)
    let me = Unmanaged.passUnretained(self).toOpaque()
    _ = api.pointee.time_new?(
      api, &due,
      { api, event, _, me in
        api?.pointee.time_free?(event)
        guard let watch = PulseWatch.from(me) else { return }
        watch.isWaiting = false
        watch.connect()
      }, me)
  }

  private static func from(_ pointer: UnsafeMutableRawPointer?) -> PulseWatch? {
    pointer.map { Unmanaged<PulseWatch>.fromOpaque($0).takeUnretainedValue() }
  }

  private func stateChanged() {
    guard let context else { return }
    switch pa_context_get_state(context) {
    case PA_CONTEXT_READY:
      let kinds =
        PA_SUBSCRIPTION_MASK_SINK.rawValue | PA_SUBSCRIPTION_MASK_SOURCE.rawValue
        | PA_SUBSCRIPTION_MASK_SERVER.rawValue
      forget(pa_context_subscribe(context, pa_subscription_mask_t(rawValue: kinds), nil, nil))
      look()
    case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED:
      roster.update([])  // its devices are gone with it
      connectLater()
    default: break
    }
  }

  /// Asks for the defaults, then for loudspeakers, then for microphones; then tells.
  private func look() {
    guard !isLooking else {
      looksAgain = true
      return
    }
    isLooking = true
    (found, defaults) = ([], [])
    let me = Unmanaged.passUnretained(self).toOpaque()
    forget(pa_context_get_server_info(context, { _, info, me in PulseWatch.from(me)?.learned(info) }, me))
  }

  private func learned(_ info: UnsafePointer<pa_server_info>?) {
    if let name = info?.pointee.default_sink_name { defaults.insert("sink " + String(cString: name)) }
    if let name = info?.pointee.default_source_name { defaults.insert("source " + String(cString: name)) }
    let me = Unmanaged.passUnretained(self).toOpaque()
    forget(
      pa_context_get_sink_info_list(
        context, { _, info, isLast, me in PulseWatch.from(me)?.found(sink: isLast == 0 ? info : nil) }, me))
  }

  private func found(sink: UnsafePointer<pa_sink_info>?) {
    if let sink = sink?.pointee { return add("sink", .loudspeaker, sink.name, sink.description, sink.proplist) }
    let me = Unmanaged.passUnretained(self).toOpaque()
    forget(
      pa_context_get_source_info_list(
        context, { _, info, isLast, me in PulseWatch.from(me)?.found(source: isLast == 0 ? info : nil) }, me))
  }

  private func found(source: UnsafePointer<pa_source_info>?) {
    if let source = source?.pointee {
      // What a loudspeaker plays is no microphone.
      guard source.monitor_of_sink == koine_pulse_no_index() else { return }
      return add("source", .microphone, source.name, source.description, source.proplist)
    }
    roster.update(found, defaults: defaults)
    isLooking = false
    guard looksAgain else { return }
    looksAgain = false
    look()
  }

  private func add(
    _ word: String, _ kind: Machine.Kind, _ name: UnsafePointer<CChar>?, _ description: UnsafePointer<CChar>?,
    _ properties: OpaquePointer?
  ) {
    guard let name else { return }
    let id = String(cString: name)
    found.append(
      Machine.Device(
        id: "\(word) \(id)", kind: kind, name: description.map { String(cString: $0) } ?? id,
        attachment: Self.attachment(properties), source: "pulse:" + PulsePlace(name: id, server: server).argument))
  }

  private static func attachment(_ properties: OpaquePointer?) -> Machine.Attachment {
    func property(_ key: String) -> String? {
      properties.flatMap { pa_proplist_gets($0, key) }.map { String(cString: $0) }
    }
    switch (property(PA_PROP_DEVICE_BUS), property(PA_PROP_DEVICE_FORM_FACTOR)) {
    case ("bluetooth", _): return .bluetooth
    case ("usb", _): return .usb
    case (_, "headset"), (_, "headphone"): return .wired
    case (nil, nil): return .virtual
    default: return .builtIn
    }
  }

  private func forget(_ operation: OpaquePointer?) { if let operation { pa_operation_unref(operation) } }
}
