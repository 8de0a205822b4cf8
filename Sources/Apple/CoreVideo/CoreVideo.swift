@_exported public import KoineCoreVideo
