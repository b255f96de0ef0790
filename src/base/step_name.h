/* The digest that identifies a step. The session that runs the step computes it, and the journal
 * stores it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"

/* The journal stores a text over this many bytes in a blob of its own, under the text's digest. */
enum { STEP_INLINE_MAX = 4096 };

struct step_texts {
	/* `parent` is the digest of the parent step, or "" for a first step. `runtime` is the
	 * language. */
	const char *parent, *runtime;
	struct digest_part code, record;
};

/* The digests of a step and of its texts. They are computed in another thread, before the
 * journal needs them, because hashing a long text takes long. */
struct step_name {
	char digest[DIGEST_BYTES];
	/* The digests of `code` and `record`. A digest is unset if its text is at most
	 * STEP_INLINE_MAX bytes long. */
	unsigned char sums[2][DIGEST_RAW_BYTES];
};

/* Compute the SHA-256 of "retort.step.1", parent, runtime, code and record, as digest_parts()
 * does. May be called in any thread. */
void step_digest(char out[DIGEST_BYTES], const struct step_texts *texts);

/* Fill @out with step_digest() of @texts, and with the digests of texts over STEP_INLINE_MAX
 * bytes. May be called in any thread. */
void step_name(struct step_name *out, const struct step_texts *texts);
