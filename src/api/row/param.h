/* Parameters and results of operations: the rows from which checks, help and documents are made.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum param_type {
	PARAM_TEXT,    /* a text without NUL */
	PARAM_PATH,    /* an absolute path of the host, without NUL */
	PARAM_DATA,    /* a text that may contain NUL */
	PARAM_CHOICE,  /* one of the words in `choices` */
	PARAM_FLAG,    /* true or false */
	PARAM_COUNT,   /* a whole number */
	PARAM_NUMBER,  /* any number; min and max are in thousandths */
	PARAM_TEXTS,   /* an array of texts */
	PARAM_MAP,     /* an object of texts by name */
	PARAM_OBJECT,  /* an object of `fields` */
	PARAM_OBJECTS, /* an array of such objects */
	PARAM_ANY,     /* any JSON */
};

struct param {
	const char *name;
	enum param_type type;
	bool is_required;
	uint64_t min, max; /* bounds of a number, or of the length of a text (bytes), array or map;
			      max 0: unlimited */
	const char *choices;	    /* words of PARAM_CHOICE: "utf-8|base64" */
	const char *fallback;	    /* the default as text, or NULL */
	const char *help;	    /* lower case, no final stop */
	const struct param *fields; /* rows of an object's members; NULL: any members */
	size_t n_fields;
	bool is_nullable; /* may be null (in results only) */
	const char *also; /* another name that is accepted, or NULL */
	/* Translates a synonym to a word of `choices`; NULL for other words. The result is static.
	 */
	const char *(*word)(const char *text);
};

/* Parameters named "runtime" are also accepted as "language", with usual names of languages. */
#define PARAM_OF_LANGUAGE .also = "language", .word = param_language
const char *param_language(const char *word);

/*
 * Check @params by the rows. NULL is an empty object; a member that is null is treated as missing.
 *
 * Errors: ERR_USAGE that names the parameter ("limits.pids: …"), with a hint; the first in the
 *         order of the object.
 */
int param_check(const struct param *rows, size_t n_rows, const json_t *params, struct err *err);

/*
 * Replace synonyms of names and words in @params, which param_check() has accepted.
 * Owns:    the caller releases the result; it is @params itself if there is nothing to replace.
 *          NULL: no memory, or @params is NULL.
 */
json_t *param_usual(const struct param *rows, size_t n_rows, json_t *params);

/* Return the type in words: "text", "whole number", … */
const char *param_type_name(enum param_type type);

/* Return a member of a checked object, or @fallback. Borrowed. */
const char *param_text(const json_t *params, const char *name, const char *fallback);
uint64_t param_count(const json_t *params, const char *name, uint64_t fallback);
bool param_flag(const json_t *params, const char *name);

/* Return the member @name; NULL if it is missing or null. */
const json_t *param_get(const json_t *params, const char *name);
