/* A row of the table of operations. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/row/param.h"

#include <stdbool.h>
#include <stddef.h>

struct operation_call;

/*
 * Who wrote what a result holds, which decides how far it can be believed. A plan's labels begin
 * here.
 */
enum operation_label {
	OPERATION_ENGINE,  /* retort alone: ids, times, counts, words of its tables */
	OPERATION_CALLER,  /* also callers: names, code */
	OPERATION_PROGRAM, /* also programs in boxes: output, values, files. Untrusted */
	OPERATION_LABEL_END_
};

struct operation {
	const char *name;    /* "session.create": a promise to clients */
	const char *summary; /* upper case, no final stop */
	const struct param *params, *result;
	size_t n_params, n_result;
	enum operation_label label;
	const char *limits; /* a sentence on what is bounded besides the rows; or NULL */
	const char *errors; /* besides those of every call: "not_found|gone", or NULL */
	/*
	 * A call and a part of its answer, as JSON with ' for ". Texts that end in "…" are starts;
	 * ids are placeholders. Documents show it, tests run it.
	 */
	const char *example, *answer;
	size_t answer_bytes;  /* what a long answer is reckoned at (api/operation/owing.h); 0: it
				 begins at  once */
	bool has_events;      /* tells events while it runs */
	const char *last;     /* the event that says what the answer says, or NULL */
	bool is_for_operator; /* refused to principals: it tells of the host, or changes it */
	void (*start)(struct operation_call *call);
};

struct operation_family {
	const struct operation *rows;
	size_t n;
};
