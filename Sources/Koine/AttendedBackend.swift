package import struct KoineSignaling.RoomService

/// A backend with its router in this process, so that services of the process can be co-located with the router.
package protocol AttendedBackend: Backend {
  /// The first that is made stays; where there is one already, none is made.
  func attend(_ make: () -> RoomService)
  /// What the service says in a room.
  func send(_ answer: RoomService.Answer)
  /// The same rooms, as they are reached by what stands beside the router: over no network, and without keeping this
  /// backend.
  var inside: any Backend { get }
}
