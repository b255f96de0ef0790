/* The types of answer that a plan can request from the built-in ask(). SPDX-License-Identifier:
 * Apache-2.0 */
#include "plan/value/ask_type.h"

#include <string.h>

static const struct ask_type types[] = {
	{"bool", NULL, "boolean", KIND_BOOL, T_BOOL},
	{"int", NULL, "integer", KIND_NUMBER, T_INT},
	{"float", NULL, "number", KIND_NUMBER, T_FLOAT},
	{"str", NULL, "string", KIND_TEXT, T_STRING},
	{"date", "date", "string", KIND_DATE, T_STRING},
	{"Email", "email", "string", KIND_NAME, T_STRING},
	{"Url", "uri", "string", KIND_NAME, T_STRING},
};

const struct ask_type *ask_type_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

const struct ask_type *ask_type_format(const char *format)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].format && strcmp(types[i].format, format) == 0)
			return &types[i];
	return NULL;
}
