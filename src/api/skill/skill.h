/* Skills that code in boxes proposes: tested in a box of their own, and kept when the test passes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate.h"
#include "base/err.h"

#include <jansson.h>

struct registry;
struct skills;

enum { SKILL_PROPOSALS_MAX = 4, SKILL_TEST_MS = 30000, SKILLS_FOUND_MAX = 20 };

/*
 * @spec:  a directory of the host: DIR, or DIR:rw when what is proposed may be kept there.
 * Owns:   skills_close(). *@out is NULL after an error.
 * Errors: those of skill_store_open().
 */
int skills_open(struct skills **out, const char *spec, struct err *err);

/* Absolute. Borrowed. */
const char *skills_dir(const struct skills *s);

/*
 * Answer `retort.skill_save` of every session: {"name", "source", "test", "signature"?, "doc"?,
 * "runtime"?} →
 * {"name", "digest", …}. Refused: of sessions that are not of who runs the engine, or have read
 * what others wrote, and while a skill is tested there. Both outlive the skills.
 */
void skills_attach(struct skills *s, struct gate *gate, struct registry *registry);

/* [{"name", "runtime", "signature", "doc"}], those that have words of @query, the best first.
 * Owns: the caller. Returns: NULL without memory. */
json_t *skills_find(struct skills *s, const char *query);

/* When the registry has closed. NULL is nothing. */
void skills_close(struct skills *s);
