/* What the files of the front "piston" share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/front/inside.h"

void piston_refuse(struct front_call *c, unsigned status, const char *message);
/* Make `run` or `compile` of an answer from the record of a step. */
json_t *piston_phase(const json_t *record);

/* ---- languages whose programs are scored: packages "codeforces" and "cms_ioi" ---- */

/* Add a row for each to the list of runtimes or packages. @version: the member for its version. */
void piston_add_graders(json_t *list, const char *version);
/* Return whether a language is one of them in a version that @version allows. */
bool piston_is_grader(const char *name, const char *version);
/* Answer a request for one. Its fields have the right types. */
void piston_grade(struct front_call *c, const char *name);
