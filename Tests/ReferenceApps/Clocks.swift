import KoineTesting

/// The clocks that each test of a reference app runs on.
let clocks: [TestRoom.Time] = [.virtual(seed: 1), .real]
