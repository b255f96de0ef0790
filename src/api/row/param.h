/* Parameters and results of operations, described by rows. Checks, help and documents are made
 * from the rows. SPDX-License-Identifier: Apache-2.0 */
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
	PARAM_NUMBER,  /* any number; `min` and `max` are in thousandths */
	PARAM_TEXTS,   /* an array of texts */
	PARAM_MAP,     /* an object whose members are all texts */
	PARAM_OBJECT,  /* an object with the members in `fields` */
	PARAM_OBJECTS, /* an array of objects with the members in `fields` */
	PARAM_ANY,     /* any JSON */
};

struct param {
	const char *name;
	enum param_type type;
	bool is_required;
	/* Bounds of a number, of the bytes of a text, or of the members of an array or map.
	 * max 0: unlimited. */
	uint64_t min, max;
	const char *choices;	    /* the words of PARAM_CHOICE: "utf-8|base64" */
	const char *fallback;	    /* the default as text, or NULL */
	const char *help;	    /* help text; begins in lower case, without a full stop */
	const struct param *fields; /* members of an object; NULL: any members */
	size_t n_fields;
	bool is_nullable; /* the value may be null; set only in rows that describe a result */
	const char *also; /* another accepted name of the parameter, or NULL */
	/* NULL if the values of the parameter have no synonyms. Otherwise a function that returns
	 * the usual word for @text: "python" for "python" and for its synonym "py". The function
	 * returns NULL if @text is neither a usual word nor a synonym. The result is static. */
	const char *(*word)(const char *text);
};

/* Members of the row of the parameter "runtime", which callers may also call "language". Its
 * value may be a synonym of a language, such as "py" for "python". */
#define PARAM_OF_LANGUAGE .also = "language", .word = param_language
const char *param_language(const char *word);

/*
 * Check @params by the rows. @params NULL: an empty object. A member that is null counts as
 * missing.
 *
 * Errors: ERR_USAGE, whose message begins with the name of the parameter ("limits.pids: …"), with a
 * hint. If several parameters are wrong, the first one in the order of the object is reported.
 */
int param_check(const struct param *rows, size_t n_rows, const json_t *params, struct err *err);

/*
 * Replace other names of parameters, and synonyms of their values, by the usual ones: {"language":
 * "py"} becomes {"runtime": "python"}. param_check() must have accepted @params.
 * Owns:    the caller decrefs the result, which may be @params itself.
 * Returns: NULL if memory is exhausted, or if @params is NULL.
 */
json_t *param_usual(const struct param *rows, size_t n_rows, json_t *params);

/* Return the name of the type for messages: "text", "whole number". */
const char *param_type_name(enum param_type type);

/* Return a member of an object that was checked, or @fallback if the member is missing.
 * Borrowed. */
const char *param_text(const json_t *params, const char *name, const char *fallback);
uint64_t param_count(const json_t *params, const char *name, uint64_t fallback);
bool param_flag(const json_t *params, const char *name);

/* Return a member of an object; NULL if the member is missing or null. */
const json_t *param_get(const json_t *params, const char *name);
