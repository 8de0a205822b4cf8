// The tables are keyed by style: a program that imports this module alone can name one.
@_exported public import enum KoineBase.Style
