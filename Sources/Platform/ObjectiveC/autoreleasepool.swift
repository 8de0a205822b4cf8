/// Calls its closure. Objects are released at once on Linux, so there is no pool to drain.
///
/// On Apple's systems `import Foundation` brings this function.
/// - Parameter body: called once.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`.
public func autoreleasepool<Result, Failure>(invoking body: () throws(Failure) -> Result) throws(Failure) -> Result
where Failure: Error, Result: ~Copyable {
  try body()
}
