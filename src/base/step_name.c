/* SPDX-License-Identifier: Apache-2.0 */
#include "base/step_name.h"

#include "base/attr.h"

#include <string.h>

void step_digest(char out[DIGEST_BYTES], const struct step_texts *texts)
{
	static const char what[] = "retort.step.1";
	const struct digest_part parts[] = {{what, sizeof what - 1},
		{texts->parent, strlen(texts->parent)}, {texts->runtime, strlen(texts->runtime)},
		texts->code, texts->record};
	digest_parts(out, parts, ARRAY_LEN(parts));
}

void step_name(struct step_name *out, const struct step_texts *texts)
{
	const struct digest_part *const kept[] = {&texts->code, &texts->record};
	step_digest(out->digest, texts);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (kept[i]->bytes > STEP_INLINE_MAX)
			digest_raw(out->sums[i], kept[i]->data, kept[i]->bytes);
}
