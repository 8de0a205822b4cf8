@_exported public import KoineCoreMedia
