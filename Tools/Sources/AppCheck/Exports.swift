// The problems and symbols of a check have places: a program that imports this module alone can read them.
@_exported public import struct CompilerFacts.CodeLocation
