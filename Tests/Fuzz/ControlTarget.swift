import KoineBase
import KoineJSONCodec
import KoineRouter
import KoineServer

/// Bytes of a control socket: lines are the same however the bytes arrive, each is a command or an error, and a command that is
/// read can be written and read again. The first byte says in which parts the bytes arrive.
func fuzzControl(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first else { return }
  let rest = Array(bytes.dropFirst())
  let lines = controlLines(rest, by: rest.count + 1)
  require(controlLines(rest, by: Int(first) + 1) == lines, "lines do not depend on how they arrive")
  for case .line(let line) in lines {
    require(!line.isEmpty && line.count <= ControlRequest.lineLimit, "a line has bounds")
    guard let request = try? ControlRequest.read(line) else { continue }
    require(request.by?.isEmpty != true && request.reason?.isEmpty != true, "who asks and why is said, or not")
    require((request.reason?.utf8.count ?? 0) <= ControlRequest.reasonLimit, "a reason has bounds")
    require(request.command.room?.isEmpty != true, "a room has a name")
    if case .startRecording(let order, _) = request.command {
      let orderLines = String(decoding: order.payload, as: UTF8.self).split(
        separator: "\n", omittingEmptySubsequences: false)
      require((1...RoomCommand.Limits.people).contains(order.people), "people have bounds")
      require(orderLines.count == order.places.count + 1, "a place is a line")
    }
    guard let written = try? JSONCodec.encode(request) else {
      require(false, "what was read can be written")
      return
    }
    // Characters that are escaped take more bytes than they did.
    guard written.count <= ControlRequest.lineLimit else { continue }
    require((try? ControlRequest.read(written)) == request, "and read again")
  }
}

private func controlLines(_ bytes: [UInt8], by count: Int) -> [ControlLines.Line] {
  var (lines, result, offset) = (ControlLines(), [ControlLines.Line](), 0)
  while offset < bytes.count {
    lines.append(bytes[offset..<min(offset + count, bytes.count)])
    while let line = lines.next() { result.append(line) }
    offset += count
  }
  return result
}

func controlSeeds() -> [[UInt8]] {
  let commands: [RoomCommand] = [
    .listRooms, .closeAllRooms, .describe(room: "tea"), .close(room: "tea"),
    .remove("ana", room: "tea", ending: .expired),
    .grant(PermissionChange(allowing: [.camera, .data], denying: [.admit]), "ana", room: "tea"),
    .mute(.track("cam"), "ana", room: "tea"), .mute(.kind(.screenSound), "ana", room: "tea"),
    .startRecording(RecordingOrder(.livestream, people: 7, places: ["rtmp://a/b"]), room: "tea"),
    .stopRecording(.playlist, room: "tea"), .link(["tea", "stage"]), .unlink(["stage"]),
  ]
  let written = commands.compactMap { try? JSONCodec.encode(ControlRequest($0, by: "ana", reason: "because")) }
  return written.map { [255] + $0 + [10] } + [[3] + written.flatMap { $0 + [13, 10] }]
}
