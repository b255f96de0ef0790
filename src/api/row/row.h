/* A row of the table of operations: one operation. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/row/param.h"

#include <stdbool.h>
#include <stddef.h>

struct operation_call;

/* Who may have written the data in a result. This label decides how far the result can be
 * trusted; plans derive the labels of their values from it. */
enum operation_label {
	/* Retort itself wrote all data in the result, such as ids, times and counts. */
	OPERATION_ENGINE,
	/* Callers may have written some data in the result, such as names and code. Retort itself
	 * wrote the rest. */
	OPERATION_CALLER,
	/* Programs in boxes may have written some data in the result, such as output, values and
	 * files. So the result is untrusted. */
	OPERATION_PROGRAM,
	OPERATION_LABEL_END_
};

struct operation {
	const char *name;    /* such as "session.create"; never changes, because clients use it */
	const char *summary; /* a sentence that begins with a capital, without a full stop */
	const struct param *params, *result;
	size_t n_params, n_result;
	enum operation_label label;
	const char *limits; /* a sentence about limits that `params` cannot express, or NULL */
	const char *errors; /* codes of the operation's own errors, "not_found|gone"; or NULL */
	/* An example of a call, and a part of its answer: JSON with ' instead of ". A text that
	 * ends in "…" is cut off, and ids are invented. Documents show the example, and tests
	 * run it. */
	const char *example, *answer;
	size_t answer_bytes; /* estimated size of a long answer (outstanding.h); 0: not long */
	bool has_events;     /* the operation sends events while it runs */
	const char *last;    /* name of the event that repeats the answer, or NULL */
	/* Only the operator may use the operation, and principals may not, because the operation
	 * reveals or changes something of the host. */
	bool is_for_operator;
	void (*start)(struct operation_call *call);
};

struct operation_family {
	const struct operation *rows;
	size_t n;
};
