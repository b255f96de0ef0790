/* The directory of the host in which skills are stored. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* A skill is a file of code that defines NAME: NAME.py for Python, NAME.mjs for JavaScript.
 * NAME.json describes it. Skills that a person has added need no NAME.json. */
enum {
	SKILL_STORE_NAME_BYTES = 64,
	SKILL_STORE_CODE_BYTES = 64 << 10,
	SKILL_STORE_DOC_BYTES = 2048,
	SKILL_STORE_SKILLS_MAX = 1000,
};

struct skill_store {
	int dir_fd;
	char *path; /* absolute */
	bool is_writable;
	json_t *rows; /* list for skill_store_list(); NULL: not read yet */
	struct timespec changed;
};

/*
 * Open the store. @spec: DIR, or DIR:rw if skills may be added.
 * Owns:   the caller calls skill_store_close(@s), also after an error.
 * Errors: ERR_NOT_FOUND, ERR_ACCESS, ERR_USAGE, ERR_NO_MEMORY.
 */
int skill_store_open(struct skill_store *s, const char *spec, struct err *err);
void skill_store_close(struct skill_store *s);

/* Check the name of a skill. It must consist of lower-case letters, digits and _, and begin with
 * a letter. It must not be a keyword of Python, or a name that `retort.skills` uses. Errors:
 * ERR_USAGE. */
int skill_store_check_name(const char *name, struct err *err);

/* Return whether the name is in use: by a skill in any language, or by a file NAME.json without
 * code. @name must have been checked. */
bool skill_store_has(const struct skill_store *s, const char *name);

/*
 * Store a skill, completely or not at all. An existing skill is never replaced.
 * @runtime: language of the code, "python" or "javascript". @about: the content of NAME.json.
 * Errors: ERR_BUSY: the name is in use; ERR_QUOTA: the store is full; ERR_IO, ERR_NO_MEMORY.
 */
struct skill_store_row {
	const char *name, *runtime, *code;
	const json_t *about;
};
int skill_store_keep(struct skill_store *s, const struct skill_store_row *skill, struct err *err);

/* List the skills, sorted by name: [{"name": "skills.NAME", "runtime", "signature", "doc"}].
 * Texts are cleaned and cut. The list is borrowed, and valid until the next call. Returns: NULL
 * if memory is exhausted. */
const json_t *skill_store_list(struct skill_store *s);
