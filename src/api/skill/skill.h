/* Skills that code in boxes proposes: tested in a box of their own, and stored if the test passes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate.h"
#include "base/err.h"

#include <jansson.h>

struct registry;
struct skills;

enum { SKILL_PROPOSALS_MAX = 4, SKILL_TEST_MS = 30000, SKILLS_FOUND_MAX = 20 };

/*
 * @spec:  a directory of the host: DIR, or DIR:rw if proposed skills may be stored there.
 * Owns:   skills_close(). *@out is NULL after an error.
 * Errors: those of skill_store_open().
 */
int skills_open(struct skills **out, const char *spec, struct err *err);

/* Return the absolute path of the directory. Borrowed. */
const char *skills_dir(const struct skills *s);

/*
 * Answer `retort.skill_save` of every session: {"name", "source", "test", "signature"?, "doc"?,
 * "runtime"?} →
 * {"name", "digest", …}. Refused for sessions that are not the operator's, that are tainted, or
 * that test a skill. @gate and @registry must outlive the skills.
 */
void skills_attach(struct skills *s, struct gate *gate, struct registry *registry);

/* Find skills that have words of @query, best first: [{"name", "runtime", "signature", "doc"}].
 * Owns: the caller. Returns: NULL without memory. */
json_t *skills_find(struct skills *s, const char *query);

/* Close the skills, after the registry. NULL: does nothing. */
void skills_close(struct skills *s);
