/* The directory of the host in which skills are stored. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/*
 * A skill is a file of code that defines NAME: NAME.py, or NAME.mjs of JavaScript; NAME.json
 * describes it. A file of code without NAME.json is a skill too, which a person has added.
 */
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
	json_t *rows; /* result of skill_store_list(), or NULL: not read yet */
	struct timespec changed;
};

/*
 * Open the store. @spec: DIR, or DIR:rw if skills may be added.
 * Owns:   skill_store_close(@s), also after an error.
 * Errors: ERR_NOT_FOUND, ERR_ACCESS, ERR_USAGE, ERR_NO_MEMORY.
 */
int skill_store_open(struct skill_store *s, const char *spec, struct err *err);
void skill_store_close(struct skill_store *s);

/* Check a name: lower case letters, digits and _, a letter first; neither a word of Python nor a
 * name that `retort.skills` uses. Errors: ERR_USAGE. */
int skill_store_check_name(const char *name, struct err *err);

/* Does a skill with this name, which has been checked, exist in any language? */
bool skill_store_has(const struct skill_store *s, const char *name);

/*
 * Store a skill, completely or not at all. An existing skill is never replaced.
 * @runtime: of the code, "python" or "javascript". @about: becomes NAME.json.
 * Errors: ERR_BUSY: the name exists already; ERR_QUOTA: the store is full; ERR_IO.
 */
struct skill_store_row {
	const char *name, *runtime, *code;
	const json_t *about;
};
int skill_store_keep(struct skill_store *s, const struct skill_store_row *skill, struct err *err);

/* List the skills: [{"name": "skills.NAME", "runtime", "signature", "doc"}], sorted; texts are
 * cleaned and cut. Borrowed, until the next call. Returns: NULL without memory. */
const json_t *skill_store_list(struct skill_store *s);
