/* A row of the table of operations. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/row/param.h"

#include <stdbool.h>
#include <stddef.h>

struct operation_call;

/* Whose data a result may contain, which decides how far the result can be trusted. Plans derive
 * their labels from this. */
enum operation_label {
	OPERATION_ENGINE,  /* only retort's own data: ids, times, counts, words of its tables */
	OPERATION_CALLER,  /* also data of callers: names, code */
	OPERATION_PROGRAM, /* also data of programs in boxes: output, values, files; untrusted */
	OPERATION_LABEL_END_
};

struct operation {
	const char *name;    /* "session.create"; must not change, because clients use it */
	const char *summary; /* upper case, no final stop */
	const struct param *params, *result;
	size_t n_params, n_result;
	enum operation_label label;
	const char *limits; /* a sentence on limits that the rows do not contain, or NULL */
	const char *errors; /* codes of its own errors: "not_found|gone"; or NULL */
	/* An example of a call, and a part of its answer, as JSON with ' instead of ". A text that
	 * ends in "…" is only a beginning; ids are placeholders. Documents show the example, and
	 * tests run it. */
	const char *example, *answer;
	size_t answer_bytes;  /* estimated size of a long answer (outstanding.h), or 0 */
	bool has_events;      /* sends events while it runs */
	const char *last;     /* name of the event that repeats the answer, or NULL */
	bool is_for_operator; /* principals may not use it: it reveals or changes the host */
	void (*start)(struct operation_call *call);
};

struct operation_family {
	const struct operation *rows;
	size_t n;
};
