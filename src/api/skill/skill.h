/* Skills that code in boxes proposes. They are tested in a box of their own, and stored if the
 * test passes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate.h"
#include "base/err.h"

#include <jansson.h>

struct registry;
struct skills;

enum { SKILL_PROPOSALS_MAX = 4, SKILL_TEST_MS = 30000, SKILLS_FOUND_MAX = 20 };

/*
 * Open a directory of skills.
 * @spec:  DIR, a directory of the host; or DIR:rw if proposed skills may be stored there.
 * Owns:   the caller calls skills_close(). *@out is NULL after an error.
 * Errors: those of skill_store_open().
 */
int skills_open(struct skills **out, const char *spec, struct err *err);

/* Return the absolute path of the directory of skills. Borrowed. */
const char *skills_dir(const struct skills *s);

/* Answer the call `retort.skill_save` of code in every session: {"name", "source", "test",
 * "signature"?, "doc"?, "runtime"?} → {"name", "sha256", …}. The call is refused if the session
 * is not the operator's, is tainted or tests a skill, or if the step is a candidate. @gate and
 * @registry must outlive the skills. */
void skills_attach(struct skills *s, struct gate *gate, struct registry *registry);

/* Find skills that match words of @query, the best first: [{"name", "runtime", "signature",
 * "doc"}]. Owns: the caller decrefs the result. Returns: NULL if memory is exhausted. */
json_t *skills_find(struct skills *s, const char *query);

/* Close the skills, after the registry was closed. NULL: do nothing. */
void skills_close(struct skills *s);
