#pragma once
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
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

// The context is a struct that a macro fills in. `issuer` is the certificate itself where it signs itself.
static inline int koine_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  if (!extension) return 0;
  int status = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return status;
}

// `NAME_CONSTRAINTS` is made of stacks, which are macros. Whether an authority permits the names of a certificate. The check reads the
// certificate's decoded extensions, which a check of its purpose makes.
static inline int koine_permits_names(X509 *authority, X509 *certificate) {
  NAME_CONSTRAINTS *constraints = (NAME_CONSTRAINTS *)X509_get_ext_d2i(authority, NID_name_constraints, NULL, NULL);
  if (!constraints) return 0;
  X509_check_purpose(certificate, -1, 0);
  int status = NAME_CONSTRAINTS_check(certificate, constraints);
  NAME_CONSTRAINTS_free(constraints);
  return status == X509_V_OK;
}
