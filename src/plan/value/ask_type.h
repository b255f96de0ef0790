/* The types of answer that a plan can request from the built-in ask(), as in ask(question, data,
 * Email). SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/value/value.h"

/* A type of answer. Example: Email in a plan is {"type": "string", "format": "email"} in JSON
 * Schema. */
struct ask_type {
	const char *name, *format; /* "format" in JSON Schema, such as "email", or NULL */
	const char *json;	   /* "type" in JSON Schema, such as "string" */
	enum label_kind rank;
	uint32_t type; /* type of the value that ask() returns, such as T_STRING */
};

/* Find a type of answer by its name in a plan (bool, int, float, str, date, Email, Url), or by its
 * "format" in JSON Schema. Returns: NULL if the name or format is unknown. */
const struct ask_type *ask_type_named(const char *name);
const struct ask_type *ask_type_format(const char *format);
