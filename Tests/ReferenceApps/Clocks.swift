import Foundation
import KoineAppServers
import KoineTesting

/// The clocks that each test of a reference app runs on.
let clocks: [TestRoom.Time] = [.virtual(seed: 1), .real]

extension TestRoom {
  /// The answer of the app's own server. Where Scripts/check-in-place has ported the app, the server asks the new vendor; the common
  /// layer takes the credentials of the first vendor.
  func answer(toAppOf first: Vendor, for name: String) throws -> ServerAnswer {
    let ported = ProcessInfo.processInfo.environment["KOINE_PORTED_TO"].flatMap(Vendor.init)
    return try ServerAnswer(ported ?? first, in: self, for: name)
  }
}
