// A test imports `KoineTestingAPIs` and has the test rooms with it.
@_exported public import KoineTesting
