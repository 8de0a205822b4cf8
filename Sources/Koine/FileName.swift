extension String {
  /// The string as one component of a path. Letters, digits, `-` and `_` stay; other characters become `_`. The result has at
  /// most 48 Unicode scalars, so that it fits file systems, and cannot lead out of a folder. For names chosen by remote users,
  /// of rooms or of participants. Two names may give the same result.
  package var asFileName: String {
    let scalars = unicodeScalars.prefix(48).map { scalar -> Unicode.Scalar in
      let stays = scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_"
      return stays ? scalar : "_"
    }
    return scalars.isEmpty ? "_" : String(String.UnicodeScalarView(scalars))
  }
}
