/* The digest that identifies a step, for the session that runs it and the journal that stores
 * it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"

/* The journal stores longer texts separately, under their own digests. */
enum { STEP_INLINE_MAX = 4096 };

struct step_texts {
	const char *parent, *runtime; /* parent: digest of the parent step; "" for a first step */
	struct digest_part code, record;
};

/* Digests of a step's texts, which are computed in advance because long texts take long. */
struct step_name {
	char digest[DIGEST_BYTES];
	unsigned char sums[2][DIGEST_RAW_BYTES]; /* of long code, of long record */
};

/* Compute the SHA-256 of "retort.step.1", parent, runtime, code and record, by digest_parts().
 * Any thread. */
void step_digest(char out[DIGEST_BYTES], const struct step_texts *texts);

/* Compute step_digest(), and the digests of long texts. Any thread. */
void step_name(struct step_name *out, const struct step_texts *texts);
