#pragma once
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/bio.h>
#include <openssl/rand.h>
#include <openssl/hmac.h>

// Only what Swift cannot call by itself: function-like macros, variadic functions, casts inside macros.

// Variadic: `EVP_EC_gen` is a macro over `EVP_PKEY_Q_keygen(...)`.
static inline EVP_PKEY *koine_generate_p256(void) { return EVP_EC_gen("P-256"); }

// Macros over `SSL_CTX_ctrl`.
static inline int koine_ssl_ctx_only_dtls12(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1
      && SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION) == 1;
}
static inline int koine_ssl_ctx_set_groups(SSL_CTX *context, const char *names) {
  return SSL_CTX_set1_groups_list(context, names) == 1;
}
static inline void koine_ssl_ctx_no_session_cache(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline void koine_ssl_ctx_release_buffers(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

// Macros over 64-bit shifts, which Swift does not import.
static inline void koine_ssl_ctx_set_options(SSL_CTX *context) {
  SSL_CTX_set_options(
      context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
}

// Macros over `BIO_set_flags`.
static inline void koine_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void koine_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// `static ossl_inline` with unsigned macros that Swift does not import.
static inline int koine_err_reason(unsigned long code) { return ERR_GET_REASON(code); }
static inline int koine_err_library(unsigned long code) { return ERR_GET_LIB(code); }
