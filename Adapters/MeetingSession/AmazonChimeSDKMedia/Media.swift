// The vendor ships its media engine as this module, which apps link beside AmazonChimeSDK and some import. Here the engine is
// part of AmazonChimeSDK: this module exists so that such apps build, and has no declarations.
