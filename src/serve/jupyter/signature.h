/* Signatures of messages of Jupyter: HMAC-SHA256 with the key of the connection file, and a memory
 * of the signatures that were seen. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* SIGNED_PARTS: header, parent header, metadata and content. SIGNATURE_SEEN: a signature is
 * recognized again at least until that many others have come. */
enum { SIGNED_PARTS = 4, SIGNATURE_BYTES = 64, SIGNATURE_KEY_BYTES = 4096, SIGNATURE_SEEN = 32768 };

struct signed_part {
	const void *data;
	size_t bytes;
};

struct signer;

/*
 * Make what signs with @key. An empty key means that messages are not signed: then signatures are
 * empty, and every signature is accepted.
 * Owns: the caller ends *@out with signer_free(). Errors: ERR_LIMIT: a key over
 * SIGNATURE_KEY_BYTES; ERR_NO_MEMORY.
 */
int signer_new(struct signer **out, const char *key, struct err *err);
void signer_free(struct signer *signer);

/* Write the signature of the parts as hexadecimal; "" without a key. */
void signer_sign(const struct signer *signer, const struct signed_part parts[SIGNED_PARTS],
	char out[SIGNATURE_BYTES + 1]);

/* Check the signature @text of the parts, and remember it. Errors: ERR_AUTH: the signature is
 * wrong, or came before. */
int signer_check(struct signer *signer, const struct signed_part parts[SIGNED_PARTS],
	const struct signed_part *text, struct err *err);
