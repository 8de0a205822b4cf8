public import Foundation
public import KoineTesting
import KoineMedia
import KoineServer
import KoineTokens
import KoineVendorAPIs

/// A vendor's HTTP API in a test room: the part of the cloud by which an app's back end creates meetings, stages, rooms and tokens.
///
/// The rooms are the test room's own. `TestRoom.join(_:camera:microphone:id:attributes:in:)` has a person join one of them, and an app
/// finds the test room by the id of the meeting, stage or room, or by the user's id.
public struct TestAPI: Sendable {
  /// A vendor with an HTTP API.
  public enum Vendor: Sendable, Hashable, CaseIterable {
    /// Amazon Chime SDK Meetings.
    case chime
    /// Amazon IVS RealTime.
    case ivs
    /// Azure Communication Services: Identity and Rooms.
    case azure
    /// VideoSDK's REST API.
    case videoSDK
  }

  /// Whose API this is.
  public let vendor: Vendor
  let apis: RoomAPIs

  /// Sends a request to the API, signed with the room's credentials unless it has an `Authorization` header. Errors of the API are
  /// answers, too: look at `status`. In virtual time no time passes.
  ///
  /// The region of AWS requests is `us-east-1`.
  ///
  ///     let made = try await room.api(.chime).send(.post("/meetings", #"{"ClientRequestToken":"tea", …}"#))
  /// - Throws: ``TestHTTPError`` if the room has ended.
  @discardableResult
  nonisolated(nonsending) public func send(_ request: TestHTTPRequest) async throws -> TestHTTPResponse {
    try await apis.send(request, to: vendor)
  }

  /// Serves the API at a port of this machine's loopback address, for any SDK, until the room ends. Further calls give the same port,
  /// at which the room's APIs of all vendors are served.
  ///
  /// In virtual time, too: signatures of requests are checked by real time, and all that the API says of times is the room's.
  /// - Throws: an error if no port can be opened, or the room has ended.
  public func serve() async throws -> ServedTestAPI { try apis.serve(vendor) }
}

/// A vendor's HTTP API at a real port.
public struct ServedTestAPI: Sendable, Hashable {
  /// The endpoint for the vendor's SDK.
  public let url: URL
  /// The AWS access key id or VideoSDK's API key; nil for Azure.
  public let keyID: String?
  /// The AWS secret access key, Azure's access key (in base64) or VideoSDK's secret.
  public let secret: String
  /// The variables by which the vendor's SDKs and sample back ends find the endpoint and the credentials, such as
  /// `AWS_ENDPOINT_URL_CHIME_SDK_MEETINGS` and `AWS_SECRET_ACCESS_KEY`.
  public let environment: [String: String]
}

extension TestRoom {
  /// A vendor's HTTP API with this room's server behind it.
  ///
  ///     try await room.api(.chime).send(.delete("/meetings/\(meeting)"))
  public func api(_ vendor: TestAPI.Vendor) -> TestAPI {
    TestAPI(vendor: vendor, apis: part(RoomAPIs.self) { RoomAPIs(self) })
  }

  /// Answers the requests of the tested app to its own back end, at a port of this machine's loopback address, until the room ends.
  ///
  ///     let url = try room.backEnd { [unowned room] request in
  ///       .json(#"{"token":"\#(try room.credential(.stageStrategy, for: "Ana").token)"}"#)
  ///     }
  ///
  /// Virtual time stands still while a request is open. A closure that holds the room keeps the room from ending, with its port, unless
  /// the test has the trait `.room`: capture it `unowned`. The room lives until `answer` has returned.
  /// - Parameter answer: called for each request, on no particular actor. An error that it throws is answered with status 500 and the
  ///   error's text. After 20 s of real time the connection closes, and virtual time moves again.
  /// - Returns: the address, as `http://127.0.0.1:40123`.
  /// - Throws: an error if no port can be opened.
  public func backEnd(
    _ answer: @escaping @Sendable (TestHTTPRequest) async throws -> TestHTTPResponse
  ) throws -> URL {
    let service = BackEndService(hold: timeHold, room: { [weak self] in self }, closure: answer)
    return try part(RoomPorts.self) { RoomPorts() }.open(service, bodyLimit: 1 << 20, hold: timeHold)
  }
}
