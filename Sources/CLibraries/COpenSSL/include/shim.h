#pragma once
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/bio.h>
#include <openssl/rand.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

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

// Macros made of casts and other macros.
static inline int koine_public_key_selection(void) { return EVP_PKEY_PUBLIC_KEY; }
static inline int koine_key_pair_selection(void) { return EVP_PKEY_KEYPAIR; }

// Macro over `CRYPTO_free`, which takes the place of the call.
static inline void koine_openssl_free(void *memory) { OPENSSL_free(memory); }

// The builder keeps the address of a parameter's name for good, and a Swift string has none that lasts.
static inline int koine_push_group_name(OSSL_PARAM_BLD *builder, const char *name) {
  return OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, name, 0);
}
static inline int koine_push_public_key(OSSL_PARAM_BLD *builder, const void *point, size_t size) {
  return OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, size);
}
static inline int koine_push_private_key(OSSL_PARAM_BLD *builder, const BIGNUM *scalar) {
  return OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, scalar);
}
