#include <openssl/crypto.h>

// By default OpenSSL takes its tables away when the program exits, while media still flow on threads that use them: an app
// that calls `exit` in a call would crash on its way out. Only the first word to OpenSSL can forbid it.
__attribute__((constructor)) static void begin(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }
