/* The directory of the host that skills are kept in. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/*
 * A skill is a file of code that defines NAME: NAME.py, or NAME.mjs of JavaScript; beside it
 * NAME.json says what is known of it. Files without the latter are skills, too, of whoever put them
 * there.
 */
enum {
	SHELF_NAME_BYTES = 64,
	SHELF_CODE_BYTES = 64 << 10,
	SHELF_DOC_BYTES = 2048,
	SHELF_SKILLS_MAX = 1000,
};

struct shelf {
	int dir_fd;
	char *path; /* absolute */
	bool is_writable;
	json_t *rows; /* as shelf_list() has them, or NULL: not read yet */
	struct timespec changed;
};

/*
 * @spec: DIR, or DIR:rw when skills may be added.
 * Owns:   shelf_close(@s), also after an error.
 * Errors: ERR_NOT_FOUND, ERR_ACCESS, ERR_USAGE, ERR_NO_MEMORY.
 */
int shelf_open(struct shelf *s, const char *spec, struct err *err);
void shelf_close(struct shelf *s);

/* Lower case letters, digits and _, a letter first, no word of Python, nothing that `retort.skills`
 * has of its own. Errors: ERR_USAGE. */
int shelf_check_name(const char *name, struct err *err);

/* Is there anything of that name, which has been checked, in any language? */
bool shelf_has(const struct shelf *s, const char *name);

/*
 * Keep a skill: all of it appears at once, or nothing. What is there is never replaced.
 * @runtime: of the code, "python" or "javascript". @about: becomes NAME.json.
 * Errors: ERR_BUSY: there is one of that name; ERR_QUOTA: as many as can be; ERR_IO.
 */
struct shelf_skill {
	const char *name, *runtime, *code;
	const json_t *about;
};
int shelf_keep(struct shelf *s, const struct shelf_skill *skill, struct err *err);

/* [{"name": "skills.NAME", "runtime", "signature", "doc"}], sorted; texts are cleaned and cut.
 * Borrowed, until the next call. Returns: NULL without memory. */
const json_t *shelf_list(struct shelf *s);
