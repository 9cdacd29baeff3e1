/* liqo-auth as a function from bytes to bytes: the C ABI of wasm/src/border.rs.
 *
 * A request and its answer are JSON in UTF-8, as the documentation of the crate
 * liqo-auth-wasm says. Calls of several threads may run at once. A session belongs to
 * the thread that has opened it. Each call needs 256 KiB of stack. A fault of the library and a lack of memory abort the process.
 */
#ifndef LIQO_AUTH_H
#define LIQO_AUTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for a request, filled with zeros. Give it back with liqo_auth_release. */
uint8_t *liqo_auth_allocate(size_t length);

/* Wipes the bytes and gives their memory back. They come from liqo_auth_allocate or
 * liqo_auth_call, with this length. NULL has no effect. */
void liqo_auth_release(uint8_t *bytes, size_t length);

/* Answers a request, and writes the length of the answer to answer_length, which must
 * not be NULL. The request still belongs to the caller. Give the answer back with
 * liqo_auth_release. */
uint8_t *liqo_auth_call(const uint8_t *request, size_t length, size_t *answer_length);

#ifdef __cplusplus
}
#endif

#endif
