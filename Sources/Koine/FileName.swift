extension String {
  /// As one part of a path: letters, digits, `-` and `_` stay. Names that somebody else has chosen, of rooms or of people,
  /// must neither lead out of a folder nor be longer than a file system takes; two names may become one.
  package var asFileName: String {
    let scalars = unicodeScalars.prefix(48).map { scalar -> Unicode.Scalar in
      let stays = scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_"
      return stays ? scalar : "_"
    }
    return scalars.isEmpty ? "_" : String(String.UnicodeScalarView(scalars))
  }
}
