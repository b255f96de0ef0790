/* A recording as anybody may hand it over. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "store/journal.h"
#include "store/recording.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct recording rec;
	struct err err = {0};
	char parent[DIGEST_BYTES] = "", digest[DIGEST_BYTES];
	char *copy = malloc(bytes + 1); /* exact, so that reading past it is seen */
	MUST(copy != NULL);
	if (bytes > 0)
		memcpy(copy, data, bytes);
	int r = recording_parse(&rec, copy, bytes, &err);
	free(copy);
	if (r < 0) {
		MUST(err.code == ERR_DAMAGED || err.code == ERR_USAGE || err.code == ERR_LIMIT);
		MUST(!rec.steps && !rec.order && rec.n_steps == 0);
		return 0;
	}
	for (size_t i = 0; i < rec.n_steps; i++) {
		const struct journal_node *n = &rec.steps[i];
		journal_digest(digest, n);
		MUST(strcmp(digest, n->digest) == 0 && strcmp(n->parent, parent) == 0);
		MUST(n->code[n->code_bytes] == '\0' && n->record[n->record_bytes] == '\0');
		memcpy(parent, digest, sizeof parent);
	}
	recording_done(&rec);
	return 0;
}
