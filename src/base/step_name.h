/* What a step is called, by the session that runs it and by the journal that keeps it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"

/* Texts of more than that are kept apart by the journal, under their own digest. */
enum { STEP_INLINE_MAX = 4096 };

struct step_texts {
	const char *parent, *runtime; /* the parent's digest, "" for a first step */
	struct digest_part code, record;
};

/* What is computed of a step's texts before it is kept: it takes as long as they are. */
struct step_name {
	char digest[DIGEST_BYTES];
	unsigned char sums[2][DIGEST_RAW_BYTES]; /* of code and of record, where long */
};

/* SHA-256 over "retort.step.1", parent, runtime, code and record, by digest_parts(). Any thread. */
void step_digest(char out[DIGEST_BYTES], const struct step_texts *texts);

/* The same, and the digests of long texts. Any thread. */
void step_name(struct step_name *out, const struct step_texts *texts);
