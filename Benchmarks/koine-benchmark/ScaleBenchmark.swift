import Glibc

/// 25 publishers, ever more receivers of 4 tiles each: how the router's CPU grows with them.
///
/// Of CPU ~ receivers^exponent the exponent is the slope of a straight line through the logarithms. At 1 every packet that is
/// passed on costs the same, however many there are.
struct ScaleBenchmark {
  let seconds: Int

  func run() throws -> Report {
    var points: [(receivers: Double, cpu: Double)] = []
    var rows: [Row] = []
    for receivers in [10, 20, 40, 100, 200, 400] {
      var settings = ForwardBenchmark.Settings()
      (settings.publishers, settings.receivers, settings.tiles, settings.packets) = (25, receivers, 4, 2)
      (settings.measuresFloor, settings.seconds, settings.warmUp) = (false, seconds, 3)
      let cost = try ForwardBenchmark(settings).routerCost()
      points.append((Double(receivers), cost.seconds / Double(seconds)))
      rows.append(
        Row("\(receivers) receivers, CPU per forwarded packet", cost.seconds / Double(cost.packets) * 1e6, "µs"))
    }
    rows.append(Row("exponent of CPU over receivers", slope(points), "", aim: 1.05))
    for point in points where [40, 400].contains(point.receivers) {
      rows.append(Row("cores that the router takes for \(Int(point.receivers)) receivers", point.cpu, ""))
    }
    return Report(benchmark: "scale: the router alone, 25 publishers, 4 tiles to a receiver", rows: rows)
  }

  private func slope(_ points: [(receivers: Double, cpu: Double)]) -> Double {
    let (x, y) = (points.map { log($0.receivers) }, points.map { log($0.cpu) })
    let (meanX, meanY) = (x.reduce(0, +) / Double(x.count), y.reduce(0, +) / Double(y.count))
    let covariance = zip(x, y).reduce(0) { $0 + ($1.0 - meanX) * ($1.1 - meanY) }
    return covariance / x.reduce(0) { $0 + ($1 - meanX) * ($1 - meanX) }
  }
}
