/* What candidates say, and checks as users write them. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/answer/criterion.h"
#include "agent/answer/vote.h"

#include <stdlib.h>
#include <string.h>

/* A text, a NUL, a record; the text is a check as well. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	struct err err = {0};
	struct criterion check = {0};
	size_t n = fuzz_part(&data, &bytes, &part);
	char *text = fuzz_text(part, n), *said = vote_text(text), *again = NULL;
	MUST(said && (again = vote_text(said)));
	json_t *record = json_loadb((const char *)data, bytes, 0, NULL);
	char *value = record ? vote_record(record) : NULL;
	MUST(!record || value);
	const struct ballot ballots[] = {{.rank = VOTE_GOOD, .value = value},
		{.rank = VOTE_GOOD, .value = said}, {.rank = VOTE_GOOD, .value = again}};
	struct vote vote;
	MUST(vote_count(ballots, 3, &vote) && vote.winner < 3 && vote.n_votes >= 1);
	if (criterion_parse(&check, text, &err) == 0)
		MUST(check.text && (!check.schema || criterion_fit(&check, said, NULL, &err) <= 0));
	else
		MUST(err.msg[0]);
	criterion_done(&check);
	json_decref(record);
	free(value);
	free(again);
	free(said);
	free(text);
	return 0;
}
