/* What an operation takes and gives: rows that checks, help and documents are made of.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum param_type {
	PARAM_TEXT,    /* without NUL */
	PARAM_PATH,    /* of the host: absolute, without NUL */
	PARAM_DATA,    /* text that may hold NUL */
	PARAM_CHOICE,  /* one of `choices` */
	PARAM_FLAG,    /* true or false */
	PARAM_COUNT,   /* a whole number */
	PARAM_NUMBER,  /* any number; min and max are thousandths */
	PARAM_TEXTS,   /* an array of texts */
	PARAM_MAP,     /* an object of texts by name */
	PARAM_OBJECT,  /* an object of `fields` */
	PARAM_OBJECTS, /* an array of such */
	PARAM_ANY,     /* any JSON */
};

struct param {
	const char *name;
	enum param_type type;
	bool is_required;
	uint64_t min, max; /* of numbers; bytes of texts; how many of arrays and maps. max 0: any */
	const char *choices;	    /* "utf-8|base64" */
	const char *fallback;	    /* the default as one would write it, or NULL */
	const char *help;	    /* lower case, no final stop */
	const struct param *fields; /* NULL: any members */
	size_t n_fields;
	bool is_nullable; /* in results only: null says that there is none */
	const char *also; /* another name that is understood */
	/* The usual word for what another means as well, or NULL; static. */
	const char *(*word)(const char *text);
};

/* Parameters named "runtime" take the names of languages that others use. */
#define PARAM_OF_LANGUAGE .also = "language", .word = param_language
const char *param_language(const char *word);

/*
 * Is @params an object that the rows allow? NULL stands for an empty one. A null stands for a
 * member that is not there.
 *
 * Errors: ERR_USAGE that names the parameter ("limits.pids: …"), with a hint; the first in the
 *         order of the object.
 */
int param_check(const struct param *rows, size_t n_rows, const json_t *params, struct err *err);

/*
 * What param_check() has passed, by the names and in the words that the rows have.
 * Owns: the caller releases what it gets; @params itself when there is nothing to change. NULL: no
 *       memory, or @params is.
 */
json_t *param_usual(const struct param *rows, size_t n_rows, json_t *params);

/* "text", "whole number", …: the type as people call it. */
const char *param_type_name(enum param_type type);

/* What a checked object holds, or @fallback. Borrowed. */
const char *param_text(const json_t *params, const char *name, const char *fallback);
uint64_t param_count(const json_t *params, const char *name, uint64_t fallback);
bool param_flag(const json_t *params, const char *name);

/* The member @name, or NULL when it is absent or null. */
const json_t *param_get(const json_t *params, const char *name);
