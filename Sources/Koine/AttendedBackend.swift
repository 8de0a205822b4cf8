package import struct KoineSignaling.RoomService

/// A backend with its router in this process, so that services of the process can be co-located with the router.
package protocol AttendedBackend: Backend {
  /// Adds a co-located service. The first service of a kind stays: for a further one `make` is not called.
  func attend(as kind: String, _ make: () -> RoomService)
  /// What the service says in a room.
  func send(_ answer: RoomService.Answer)
  /// The same rooms, as they are reached by what stands beside the router: over no network, and without keeping this
  /// backend.
  var inside: any Backend { get }
  /// A credential with which a co-located service joins a room as a hidden participant that only subscribes.
  func hiddenCredential(for room: String, name: String) throws -> String
}

extension AttendedBackend {
  /// Adds the recording service.
  package func attend(_ make: () -> RoomService) { attend(as: "recording", make) }
}
