// The drivers are made from a style.
@_exported public import enum KoineBase.Style
