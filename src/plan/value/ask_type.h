/* The types of answers that ask() knows, and the kind of each. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "label/label.h"
#include "plan/value/value.h"

/* A type by its name in a plan, or by the name of its format. */
struct ask_type {
	const char *name, *format; /* format: of JSON Schema; NULL: the type is enough */
	const char *json;	   /* type of JSON Schema */
	enum label_kind rank;
	uint32_t type; /* enum type of the answer */
};

/* bool, int, float, str, date, Email, Url. Returns: NULL: unknown name or format. */
const struct ask_type *ask_type_named(const char *name);
const struct ask_type *ask_type_format(const char *format);
