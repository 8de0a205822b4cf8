#ifndef CPOCKETSPHINX_SHIM_H
#define CPOCKETSPHINX_SHIM_H

#include <pocketsphinx.h>

/// `cmd_ln_init` has variable arguments, which Swift does not import. Errors go nowhere: the recogniser reports them by its results.
static inline ps_decoder_t *cps_decoder(const char *model, const char *grammar, const char *dictionary) {
  err_set_logfp(NULL);
  cmd_ln_t *settings = cmd_ln_init(NULL, ps_args(), TRUE, "-hmm", model, "-lm", grammar, "-dict", dictionary, NULL);
  if (settings == NULL) return NULL;
  ps_decoder_t *decoder = ps_init(settings);
  cmd_ln_free_r(settings);  // the decoder keeps its own reference
  return decoder;
}

#endif
