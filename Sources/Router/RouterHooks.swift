/// What a control plane, such as the vendors' HTTP APIs, decides for a router and learns from it.
package struct RouterHooks: Sendable {
  /// Decides about joins before the router's own policy does.
  package var admission: AdmissionPolicy
  /// See `RouterConfiguration.roomEvent`.
  package var roomEvent: @Sendable (RoomEvent) -> Void

  package init(admission: AdmissionPolicy, roomEvent: @escaping @Sendable (RoomEvent) -> Void) {
    (self.admission, self.roomEvent) = (admission, roomEvent)
  }

  /// Has a router that is made with `configuration` use the hooks.
  package func apply(to configuration: inout RouterConfiguration) {
    configuration.admission = configuration.admission.map { admission.then($0) } ?? admission
    configuration.roomEvent = roomEvent
  }
}
