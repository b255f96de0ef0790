/* The types of answers that ask() knows, and the kind of each. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "label/label.h"
#include "plan/value/value.h"

/* A type of answer, with its name in a plan and the format in JSON Schema. */
struct ask_type {
	const char *name,
		*format;  /* `format` of JSON Schema; NULL: `json` alone defines the type */
	const char *json; /* `type` of JSON Schema */
	enum label_kind rank;
	uint32_t type; /* enum type of the answer */
};

/* Find a type by its name (bool, int, float, str, date, Email, Url) or its format. Returns: NULL if
 * the name or format is unknown. */
const struct ask_type *ask_type_named(const char *name);
const struct ask_type *ask_type_format(const char *format);
