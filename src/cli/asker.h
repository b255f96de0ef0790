/* Asks the person at the terminal whether a program of `retort run` may connect to a host.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/once.h"

struct asker;
struct view;

/* Owns: the caller frees the asker after once_run(). */
struct asker *asker_new(void);
void asker_free(struct asker *a);
/* Hold back what is written to @view while a question is shown. */
void asker_set_view(struct asker *a, struct view *view);
/* Return what once_run() needs; valid until asker_free(). */
const struct once_asker *asker_once(const struct asker *a);
