import KoineBase

@testable import KoineVendorAPIs

// The canonical forms that back ends sign: AWS's Signature Version 4, and the HMAC scheme of Azure. What is signed here, by a plain
// reading of the vendors' documents, is verified, and nothing verifies once a part of the request has changed.

private let start = APITime(milliseconds: 1_700_000_000_000)
private let day = "20231114"

/// The first byte of an input says what changes after the request has been signed. The rest is a request as `readRequest` reads it.
private enum Change: UInt8, CaseIterable { case nothing, method, path, query, header, body, date }

private func input(_ bytes: UnsafeRawBufferPointer) -> (Change, APIRequest)? {
  guard let first = bytes.first, let change = Change(rawValue: first % UInt8(Change.allCases.count)) else { return nil }
  var request = readRequest(Array(bytes.dropFirst()))
  var names: Set<String> = []
  // Names of headers are tokens. A client sends those of the signature once.
  request.headers = request.headers.filter { header in
    let name = header.name.lowercased()
    let isToken =
      !name.isEmpty && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 45 }
    let isReserved =
      name.hasPrefix("x-amz-") || name.hasPrefix("x-ms-") || ["authorization", "host", "date"].contains(name)
    guard isToken, !isReserved else { return false }
    names.insert(name)
    return true
  }
  return (change, request)
}

/// - Returns: nil if there is nothing of that kind to change.
private func changed(_ request: APIRequest, _ change: Change, date: String, later: String) -> APIRequest? {
  var request = request
  switch change {
  case .nothing: return nil
  case .method: request.method += "X"
  case .path:
    let (path, query) = (request.path, request.query)
    request.target = path + "x" + (query.map { "?" + $0 } ?? "")
  case .query: request.target += request.query == nil ? "?x" : "&x=y"
  case .header:
    guard let index = request.headers.firstIndex(where: { $0.name != "Authorization" && $0.name != date }) else {
      return nil
    }
    request.headers[index].value += "x"
  case .body: request.body.append(0)
  case .date:
    guard let index = request.headers.firstIndex(where: { $0.name == date }) else { return nil }
    request.headers[index].value = later
  }
  return request
}

// MARK: AWS

func fuzzSigV4(_ bytes: UnsafeRawBufferPointer) {
  guard var (change, request) = input(bytes) else { return }
  request.headers += [("Host", "localhost:8080"), ("X-Amz-Date", "\(day)T221320Z")]
  let names = Set(request.headers.map { $0.name.lowercased() }).sorted()
  let scope = "\(day)/us-east-1/chime/aws4_request"
  let canonical = canonicalRequest(request, names)
  let text = "AWS4-HMAC-SHA256\n\(day)T221320Z\n\(scope)\n" + Digest.hex(Digest.sha256(canonical))
  let key = ["\(day)", "us-east-1", "chime", "aws4_request"].reduce(Array("AWS4secret".utf8)) {
    Digest.hmacSHA256(Array($1.utf8), key: $0)
  }
  let signature = Digest.hex(Digest.hmacSHA256(Array(text.utf8), key: key))
  request.headers.append(
    (
      "Authorization",
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\(scope), SignedHeaders=\(names.joined(separator: ";")), Signature=\(signature)"
    ))
  require(isVerified(request), "what is signed by the document is verified")
  if let other = changed(request, change, date: "X-Amz-Date", later: "\(day)T221321Z") {
    require(!isVerified(other), "a request that has changed is refused: \(change)")
  }
}

private func isVerified(_ request: APIRequest) -> Bool {
  let access = APIAccess.credentials(
    APICredentials(aws: [.init(accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret")]))
  return (try? AWSCaller.authenticate(request, for: ["chime"], access: access, at: start)) != nil
}

/// Byte by byte, without the code under test.
private func canonicalRequest(_ request: APIRequest, _ names: [String]) -> [UInt8] {
  let target = Array(request.target.utf8)
  let mark = target.firstIndex(of: UInt8(ascii: "?"))
  let path = target[..<(mark ?? target.endIndex)]
  let query = mark.map { target[($0 + 1)...] } ?? []
  var text = Array(request.method.utf8) + [10]
  text += path.isEmpty ? [UInt8(ascii: "/")] : path.flatMap { $0 == UInt8(ascii: "/") ? [$0] : encoded($0) }
  let items = query.split(separator: UInt8(ascii: "&")).map { item -> (name: [UInt8], value: [UInt8]) in
    let equals = item.firstIndex(of: UInt8(ascii: "="))
    let (name, value) = (item[..<(equals ?? item.endIndex)], equals.map { item[($0 + 1)...] } ?? [])
    return (decoded(name).flatMap(encoded), decoded(value).flatMap(encoded))
  }
  let sorted = items.sorted {
    $0.name == $1.name ? $0.value.lexicographicallyPrecedes($1.value) : $0.name.lexicographicallyPrecedes($1.name)
  }
  text += [10] + sorted.map { $0.name + [UInt8(ascii: "=")] + $0.value }.joined(separator: [UInt8(ascii: "&")]) + [10]
  for name in names {
    let values = request.headers.filter { $0.name.lowercased() == name }.map { header in
      Array(
        header.value.utf8.split(whereSeparator: { $0 == 32 || $0 == 9 }).map { Array($0) }.joined(separator: [32]))
    }
    text += Array(name.utf8) + [UInt8(ascii: ":")] + values.joined(separator: [UInt8(ascii: ",")]) + [10]
  }
  return text + [10] + Array(names.joined(separator: ";").utf8) + [10]
    + Array(Digest.hex(Digest.sha256(request.body)).utf8)
}

private func encoded(_ byte: UInt8) -> [UInt8] {
  switch byte {
  case 65...90, 97...122, 48...57, 45, 95, 46, 126: return [byte]
  default:
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "%"), digits[Int(byte / 16)], digits[Int(byte % 16)]]
  }
}

/// What cannot be decoded stays as it is.
private func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
  var bytes: [UInt8] = []
  var place = text.startIndex
  while place < text.endIndex {
    if text[place] == UInt8(ascii: "%") {
      guard place + 2 < text.endIndex,
        let byte = UInt8(String(decoding: text[(place + 1)...(place + 2)], as: UTF8.self), radix: 16),
        text[place + 1] != UInt8(ascii: "+"), text[place + 1] != UInt8(ascii: "-")
      else { return Array(text) }
      bytes.append(byte)
      place += 3
    } else {
      bytes.append(text[place])
      place += 1
    }
  }
  return String(validating: bytes, as: UTF8.self) == nil ? Array(text) : bytes
}

// MARK: Azure

private let azureKey = Array("secret key of the resource".utf8)

func fuzzHMAC(_ bytes: UnsafeRawBufferPointer) {
  guard var (change, request) = input(bytes) else { return }
  let others = request.headers.map { $0.name.lowercased() }
  // The first header of a name counts, and no name is signed twice.
  var names = ["x-ms-date", "host", "x-ms-content-sha256"]
  for name in others where !names.contains(name) && names.count < 32 { names.append(name) }
  request.headers.removeAll { header in !names.contains(header.name.lowercased()) }
  request.headers += [
    ("x-ms-date", "Tue, 14 Nov 2023 22:13:20 GMT"), ("Host", "localhost:8080"),
    ("x-ms-content-sha256", Base64.encode(Digest.sha256(request.body))),
  ]
  let values = names.compactMap { name in request.headers.first { $0.name.lowercased() == name }?.value }
  let text = "\(request.method)\n\(request.target)\n\(values.joined(separator: ";"))"
  let signature = Base64.encode(Digest.hmacSHA256(Array(text.utf8), key: azureKey))
  request.headers.append(
    ("Authorization", "HMAC-SHA256 SignedHeaders=\(names.joined(separator: ";"))&Signature=\(signature)"))
  require(isAzure(request), "what is signed by the document is verified")
  guard var other = changed(request, change, date: "x-ms-date", later: "Tue, 14 Nov 2023 22:13:21 GMT") else { return }
  require(!isAzure(other), "a request that has changed is refused: \(change)")
  // Nor if the hash of the changed body is sent along.
  if change == .body, let index = other.headers.firstIndex(where: { $0.name == "x-ms-content-sha256" }) {
    other.headers[index].value = Base64.encode(Digest.sha256(other.body))
    require(!isAzure(other), "the hash of the body is signed")
  }
}

private func isAzure(_ request: APIRequest) -> Bool {
  let resource = APICredentials.AzureResource(
    resource: "5a1e7c3e-0000-4000-8000-00000000abcd", accessKeys: [Base64.encode(azureKey)])
  return AzureCaller.authenticate(
    request, access: .credentials(APICredentials(azure: [resource])), at: start) != nil
}

// MARK: Seeds

func signatureSeeds() -> [[UInt8]] {
  let texts = [
    "POST\n/meetings\nContent-Type:application/json\nX-Two:a   b\nx-two:c\n\n{}",
    "GET\n/tags/arn%3Aaws%3Aivs%3Aus-east-1%3A000000000000%3Astage%2Fabc?tagKeys=a&tagKeys=b%20c\n\n",
    "GET\n/meetings?operation=batch-create&b=%2&a=%41&c&=d&%C3%BC=%ff\n\n",
    "PATCH\n/identities/8%3Aacs%3Aabc/:issueAccessToken?api-version=2023-10-01\nA:b;c\nB:\n\n{\"a\": 1}", "\n\n\n",
  ]
  return Change.allCases.flatMap { change in texts.map { [change.rawValue] + Array($0.utf8) } }
}
