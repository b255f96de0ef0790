/* A row of the table of operations. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/row/param.h"

#include <stdbool.h>
#include <stddef.h>

struct operation_call;

/* Whose data a result may contain, which decides how far it can be trusted. Labels of plans start
 * from here. */
enum operation_label {
	OPERATION_ENGINE,  /* only retort's own: ids, times, counts, words of its tables */
	OPERATION_CALLER,  /* also of callers: names, code */
	OPERATION_PROGRAM, /* also of programs in boxes: output, values, files. Untrusted */
	OPERATION_LABEL_END_
};

struct operation {
	const char *name;    /* "session.create": a promise to clients */
	const char *summary; /* upper case, no final stop */
	const struct param *params, *result;
	size_t n_params, n_result;
	enum operation_label label;
	const char *limits; /* a sentence on limits that are not in the rows; or NULL */
	const char *errors; /* besides the errors of every call: "not_found|gone"; or NULL */
	/*
	 * A call and a part of its answer, as JSON with ' for ". Texts that end in "…" are starts;
	 * ids are placeholders. Documents show it, tests run it.
	 */
	const char *example, *answer;
	size_t answer_bytes;  /* the estimated size of a long answer (api/operation/outstanding.h);
				 0: not  delayed */
	bool has_events;      /* tells events while it runs */
	const char *last;     /* the event that repeats the answer, or NULL */
	bool is_for_operator; /* refused to principals: it reveals or changes the host */
	void (*start)(struct operation_call *call);
};

struct operation_family {
	const struct operation *rows;
	size_t n;
};
