extension Scenario {
  static let messages: [Scenario] = [
    Scenario("message.heard", "What one says, the other hears, once.", proves: "laws 3 and 7", needs: [.messages]) {
      context in
      let (ana, ben) = try await context.two()
      try ben.sendMessage("good morning", lifetime: nil)
      try await context.until("Ana hears it") { ana.heard == [ObservedMessage(sender: ben.id, text: "good morning")] }
      try await context.always("once", for: 300) { ana.heard.count == 1 }
      try context.expect("as she was told", context.count(.message, to: ana, of: ben) == 1)
    },
    Scenario("message.order", "Fifty come in the order in which they were said.", proves: "law 2", needs: [.messages]) {
      context in
      let (ana, ben) = try await context.two()
      for number in 0..<50 {
        try ben.sendMessage("\(number)", lifetime: nil)
        await context.run(milliseconds: 40)  // within what every style lets through
      }
      try await context.until("Ana has heard all") { ana.heard.count >= 50 }
      try context.expect("in order, once", ana.heard.map(\.text) == (0..<50).map(String.init))
    },
    Scenario(
      "message.both-ways", "Two participants that send at the same time receive each other's messages.",
      proves: "law 7", needs: [.messages]
    ) {
      context in
      let (ana, ben) = try await context.two()
      for number in 0..<10 {
        try ana.sendMessage("a\(number)", lifetime: nil)
        try ben.sendMessage("b\(number)", lifetime: nil)
        await context.run(milliseconds: 60)
      }
      try await context.until("both have heard ten") { ana.heard.count >= 10 && ben.heard.count >= 10 }
      try context.expect("Ana heard Ben's", ana.heard.map(\.text) == (0..<10).map { "b\($0)" })
      try context.expect("Ben heard Ana's", ben.heard.map(\.text) == (0..<10).map { "a\($0)" })
    },
    Scenario("message.letters", "Any script arrives as it was written.", proves: "law 7", needs: [.messages]) {
      context in
      let (ana, ben) = try await context.two()
      let text = "κοινή · кофе · 茶 · ☕️ \"quoted\" \\ line\nbreak"
      try ana.sendMessage(text, lifetime: nil)
      try await context.until("Ben reads it") { ben.heard.map(\.text) == [text] }
    },
    Scenario(
      "message.history", "Messages with a lifetime reach later participants, in order.", proves: "meeting B8",
      needs: [.messages, .history]
    ) { context in
      let ana = try await context.joined("Ana")
      for number in 0..<20 {
        try ana.sendMessage("\(number)", lifetime: 60_000)
        await context.run(milliseconds: 40)
      }
      let ben = try await context.joined("Ben")
      try await context.until("Ben hears all") { ben.heard.count >= 20 }
      try context.expect("in order, once", ben.heard.map(\.text) == (0..<20).map(String.init))
    },
    Scenario(
      "message.gone", "What has no lifetime does not wait.", proves: "meeting B8", needs: [.messages]
    ) { context in
      let ana = try await context.joined("Ana")
      try ana.sendMessage("too early", lifetime: nil)
      await context.run(milliseconds: 300)
      let ben = try await context.joined("Ben")
      try await context.always("Ben hears nothing", for: 800) { ben.heard.isEmpty }
    },
    Scenario(
      "message.largest", "What is as large as the sender's style takes arrives whole, and one byte more does not.",
      proves: "law 6", needs: [.messages]
    ) { context in
      let (ana, ben) = try await context.two()
      let text = String(repeating: "abcdefgh", count: ben.largestMessage / 8)
      do {
        try ben.sendMessage(text + "x", lifetime: nil)
        await context.run(milliseconds: 300)
      } catch {}
      try ben.sendMessage(text, lifetime: nil)
      try await context.until("Ana hears what fits") { ana.heard == [ObservedMessage(sender: ben.id, text: text)] }
    },
    Scenario(
      "message.flood", "A thousand in a second: some may be refused, the rest come in order, and the call goes on.",
      proves: "laws 2 and 6", needs: [.messages]
    ) { context in
      let (ana, ben) = try await context.two()
      for number in 0..<1_000 {
        try? ben.sendMessage("\(number)", lifetime: nil)
        if number.isMultiple(of: 20) { await context.run(milliseconds: 20) }
      }
      await context.run(milliseconds: 6_000)  // until the room takes of him again
      try ben.sendMessage("1000", lifetime: nil)
      try await context.until("Ana hears the last") { ana.heard.last?.text == "1000" }
      let numbers = ana.heard.compactMap { Int($0.text) }
      try context.expect("a hundred at least", numbers.count > 100)
      try context.expect("in order, once", zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("she still sees him") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario(
      "message.too-large", "What is too large is refused, and the next one is not.", proves: "law 6", needs: [.messages]
    ) { context in
      let (ana, ben) = try await context.two()
      do {
        try ben.sendMessage(String(repeating: "x", count: 100_000), lifetime: nil)
        await context.run(milliseconds: 500)
      } catch {}
      try ben.sendMessage("small", lifetime: nil)
      try await context.until("Ana hears the small one only") { ana.heard.map(\.text) == ["small"] }
    },
  ]

  static let shares: [Scenario] = [
    Scenario("share.seen", "A screen comes beside the camera.", proves: "law 7", second: [.share]) { context in
      let (ana, ben) = try await context.two()
      ben.setSharing(true)
      try await context.until("Ana sees it") { ana.sees(ben)?.isSharing == true }
      try context.expect("the camera is still there", ana.sees(ben)?.hasPicture == true)
      try await context.until("it moves") { (ana.sees(ben)?.sharedPictures ?? 0) > 5 }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("and so does the camera") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario("share.ends", "A screen goes, the camera stays.", proves: "law 7", second: [.share]) { context in
      let (ana, ben) = try await context.two()
      ben.setSharing(true)
      try await context.until("Ana sees it") { ana.sees(ben)?.isSharing == true }
      ben.setSharing(false)
      try await context.until("Ana sees it go") { ana.sees(ben)?.isSharing == false }
      try context.expect("the camera is still there", ana.sees(ben)?.hasPicture == true)
    },
    Scenario("share.late", "Who comes late sees the screen.", proves: "law 7", first: [.share]) { context in
      let ana = try await context.joined("Ana")
      ana.setSharing(true)
      await context.run(milliseconds: 800)
      let ben = try await context.joined("Ben")
      try await context.until("Ben sees it") { ben.sees(ana)?.isSharing == true }
      try await context.until("and her camera") { ben.sees(ana)?.isMoving == true }
    },
    Scenario("share.leaves", "A screen goes with its owner.", proves: "law 4", second: [.share]) { context in
      let (ana, ben) = try await context.two()
      ben.setSharing(true)
      try await context.until("Ana sees it") { ana.sees(ben)?.isSharing == true }
      ben.leave()
      try await context.until("Ana sees neither") { ana.others.isEmpty }
    },
  ]
}
