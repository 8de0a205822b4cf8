import Foundation
import KoineTestingAPIs
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@MainActor @Suite struct FirstBackEndTest {
  struct Answer: Decodable { let token, stageArn: String }

  @Test func anaLearnsThatTheStageIsDeleted() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let url = try room.stageBackEnd()
    // Your app's request, as the app makes it. Virtual time stands still inside of `outside`.
    let (data, _) = try await room.outside { try await URLSession.shared.data(from: url) }
    let answer = try JSONDecoder().decode(Answer.self, from: data)
    let app = StageApp()  // yours
    try room.enter(as: "Ana") { try app.join(with: answer.token) }
    let stage = answer.stageArn.split(separator: "/").last.map { String($0) }
    let bea = try await room.join("Bea", in: stage)
    await room.until("they see each other") { room.screen(app.view).shows("Bea") && bea.sees("Ana") }

    try await room.api(.ivs).send(.post("/DeleteStage", #"{"arn":"\#(answer.stageArn)"}"#))
    await room.until("Ana is out", within: .seconds(1)) { app.errors.last?.code == 1027 }
  }
}
