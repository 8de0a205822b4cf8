import Foundation
import KoineTestingAPIs

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The app's side of its own back end, by `URLSession`.
enum BackEnd {
  struct Failure: Error { let status: Int, text: String }

  static func load(_ url: URL, method: String = "GET", headers: [String: String] = [:], body: String = "") async throws
    -> Data
  {
    var request = URLRequest(url: url)
    request.httpMethod = method
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    if !body.isEmpty { request.httpBody = Data(body.utf8) }
    let (data, response) = try await URLSession.shared.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    guard status == 200 else { throw Failure(status: status, text: String(decoding: data, as: UTF8.self)) }
    return data
  }

  static func load<Answer: Decodable>(_ url: URL, as type: Answer.Type) async throws -> Answer {
    try JSONDecoder().decode(type, from: try await load(url))
  }
}

/// The answer of the vendor's demonstration server for meetings.
struct JoinAnswer {
  let createMeeting, createAttendee: Data

  init(_ data: Data) throws {
    guard let answer = try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]],
      let meeting = answer["JoinInfo"]?["Meeting"], let attendee = answer["JoinInfo"]?["Attendee"]
    else { throw BackEnd.Failure(status: 200, text: String(decoding: data, as: UTF8.self)) }
    createMeeting = try JSONSerialization.data(withJSONObject: meeting)
    createAttendee = try JSONSerialization.data(withJSONObject: attendee)
  }

  var meetingID: String {
    get throws { try TestHTTPResponse(body: Array(createMeeting)).string("Meeting", "MeetingId") }
  }
}

extension TestRoom {
  static let clocks: [Time] = [.virtual(seed: 7), .real]
}
